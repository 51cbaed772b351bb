#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "compiler/compiler.h"
#include "unit/api/fake_nvrtc.h"
#include "unit/cache/support.h"

namespace quern {
namespace {

using cache::overwrite;
using cache::Scratch;

class FindNvrtc : public ::testing::Test {
 protected:
  // Creates a file, which no test opens, and its parent folders.
  std::string plant(const std::string& name) {
    const std::string path = scratch_ / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    overwrite(path, name);
    return path;
  }
  // The candidates below the scratch folder, in order; the machine's own are left out.
  std::vector<NvrtcCandidate> found() const {
    std::vector<NvrtcCandidate> mine;
    for (const NvrtcCandidate& candidate : find_nvrtc("", environment_)) {
      if (candidate.path.rfind(scratch_.path(), 0) == 0) mine.push_back(candidate);
    }
    return mine;
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (const NvrtcCandidate& candidate : found()) {
      if (candidate.found) paths.push_back(candidate.path);
    }
    return paths;
  }

  const Scratch scratch_;
  Environment environment_;
};

TEST_F(FindNvrtc, LooksInTheDocumentedOrder) {
  environment_[Variable::virtual_env] = scratch_ / "venv";
  environment_[Variable::conda_prefix] = scratch_ / "conda";
  environment_[Variable::home] = scratch_ / "home";
  environment_[Variable::ld_library_path] = scratch_ / "loader1" + ":" + scratch_ / "loader2";
  environment_[Variable::cuda_home] = scratch_ / "cuda_home";
  environment_[Variable::cuda_path] = scratch_ / "cuda_path";
  std::vector<std::string> expected;
  for (const char* name :
       {"venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
        "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        "conda/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
        "home/.local/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13", "conda/lib/libnvrtc.so.13",
        "conda/lib/libnvrtc.so.12", "loader1/libnvrtc.so.12", "loader2/libnvrtc.so.13",
        "cuda_home/lib64/libnvrtc.so.13", "cuda_path/targets/x86_64-linux/lib/libnvrtc.so.12"})
    expected.push_back(plant(name));
  EXPECT_EQ(paths(), expected);
}

TEST_F(FindNvrtc, TakesExactNamesOnly) {
  environment_[Variable::ld_library_path] = scratch_ / "lib";
  for (const char* decoy : {"lib/libnvrtc.alt.so.13", "lib/libnvrtc-builtins.so.13.0", "lib/libnvrtc.so.130",
                            "lib/libnvrtc.alt.so.12", "lib/libnvrtc.so.11", "lib/libnvrtc.so"})
    plant(decoy);
  EXPECT_EQ(paths(), std::vector<std::string>());
  const std::string right = plant("lib/libnvrtc.so.12");
  EXPECT_EQ(paths(), std::vector<std::string>({right}));
}

TEST_F(FindNvrtc, EachCandidateHasAVerdictAndTheStepThatNamedIt) {
  environment_[Variable::cuda_home] = scratch_ / "toolkit";
  plant("toolkit/lib64/libnvrtc.so.12");
  const std::vector<NvrtcCandidate> candidates = found();
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates[0].path, scratch_ / "toolkit/lib64/libnvrtc.so.13");
  EXPECT_EQ(candidates[0].verdict, "no such file");
  EXPECT_EQ(candidates[1].verdict, "found");
  for (const NvrtcCandidate& candidate : candidates) {
    EXPECT_EQ(candidate.why, "CUDA_HOME");
    EXPECT_EQ(candidate.found, candidate.verdict == "found");
  }
}

TEST_F(FindNvrtc, AFolderWithTheNameIsNoLibrary) {
  environment_[Variable::cuda_home] = scratch_ / "toolkit";
  std::filesystem::create_directories(scratch_ / "toolkit/lib64/libnvrtc.so.13");
  EXPECT_EQ(paths(), std::vector<std::string>());
}

TEST_F(FindNvrtc, AnExplicitPathIsTheOnlyPlace) {
  environment_[Variable::cuda_home] = scratch_ / "toolkit";
  plant("toolkit/lib64/libnvrtc.so.13");
  const std::vector<NvrtcCandidate> candidates = find_nvrtc(scratch_ / "mine.so", environment_);
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].path, scratch_ / "mine.so");
  EXPECT_FALSE(candidates[0].found);
  plant("mine.so");
  EXPECT_TRUE(find_nvrtc(scratch_ / "mine.so", environment_).at(0).found);
}

TEST_F(FindNvrtc, NoPlaceIsListedTwice) {
  environment_[Variable::ld_library_path] = scratch_ / "lib" + ":" + scratch_ / "lib";
  environment_[Variable::cuda_path] = environment_[Variable::cuda_home] = scratch_ / "toolkit";
  plant("lib/libnvrtc.so.13");
  plant("toolkit/lib/libnvrtc.so.13");
  std::vector<std::string> all;
  for (const NvrtcCandidate& candidate : find_nvrtc("", environment_)) all.push_back(candidate.path);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

// The compiler in use is the first of the whole list, however far the search went.
TEST_F(FindNvrtc, TheSearchThatEndsEarlyFindsTheFirstOfAll) {
  environment_[Variable::virtual_env] = scratch_ / "venv";
  environment_[Variable::cuda_path] = scratch_ / "toolkit";
  plant("toolkit/lib/libnvrtc.so.13");
  plant("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  const auto is_found = [](const NvrtcCandidate& candidate) { return candidate.found; };
  const auto whole = find_nvrtc("", environment_);
  const auto early = find_nvrtc("", environment_, is_found);
  ASSERT_LT(early.size(), whole.size());
  EXPECT_EQ(std::find_if(early.begin(), early.end(), is_found)->path,
            std::find_if(whole.begin(), whole.end(), is_found)->path);
}

TEST_F(FindNvrtc, TheNewestPythonComesFirst) {
  environment_[Variable::virtual_env] = scratch_ / "venv";
  const std::string older = plant("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  const std::string newer = plant("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  EXPECT_EQ(paths(), std::vector<std::string>({newer, older}));
}

}  // namespace
}  // namespace quern
