// Deliberate bugs in templates, each with the check that finds it. The families are copies whose sources are changed.
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "base/text.h"
#include "quern/families.h"
#include "support/device.h"
#include "support/host_run.h"
#include "support/test_kernel.h"

namespace quern::embedded {
Table<SourceFile> common_sources();  // generated with the library
}

namespace quern::test {
namespace {

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "the template no longer has: " << from;
  if (at == std::string::npos) return text;
  return text.substr(0, at) + to + text.substr(at + from.size());
}

// A family with `from` replaced by `to` in its file `path`, or in a shared one, which then is its own.
class Mutant {
 public:
  Mutant(const Family& family, const std::string& path, const std::string& from, const std::string& to)
      : family_(family) {
    for (const SourceFile& file : family.sources) add(file, path, from, to);
    for (const SourceFile& file : embedded::common_sources()) {
      if (path == file.path) add(file, path, from, to);
    }
    family_.sources.rows = files_.data();
    family_.sources.count = static_cast<int>(files_.size());
  }
  const Family& family() const { return family_; }

 private:
  void add(const SourceFile& file, const std::string& path, const std::string& from, const std::string& to) {
    texts_.push_back(path == file.path ? replaced(file.text, from, to) : file.text);
    files_.push_back({file.path, texts_.back().c_str()});
  }

  Family family_;
  std::deque<std::string> texts_;
  std::vector<SourceFile> files_;
};

class HostMutations : public HostTest {
 protected:
  // The result of the conformance check for a case of the changed family.
  std::string verdict(const Family& family, const std::string& fields, int offset = 0, const std::string& config = "") {
    Runtime own(options());
    AnyProblem problem(family);
    for (const std::string_view word : split(fields, ' ')) {
      const std::size_t equals = word.find('=');
      problem.set(word.substr(0, equals), word.substr(equals + 1));
    }
    std::string said;
    try {
      CheckOptions check;
      check.guards = false;
      Case c;
      c.offset = offset;
      c.config = config;
      said = check_problem_case(own, driver(), problem, c, check).failure;
    } catch (const Error& error) {
      said = error.what();
    }
    renew_context();
    return said;
  }
};

// The unchanged family passes, so that a failure is the bug's.
TEST_F(HostMutations, AnUnchangedCopyPasses) {
  const Mutant copy(Gather::family(), "gather/gather.cu", "params", "params");
  EXPECT_EQ(verdict(copy.family(), "rows=40 count=50 width=77", 1), "");
  EXPECT_EQ(verdict(Pointwise::family(), "rows=40 width=264"), "");
}

TEST_F(HostMutations, ALostTailIsAWrongResult) {
  const Mutant mutant(Gather::family(), "rows/windows.cuh",
                      "if ((left & 1) != 0) move_elements<Rows>(p, window<Rows>(p, tile[i]));",
                      "if ((left & 1) != 0 && i == 7) move_elements<Rows>(p, window<Rows>(p, tile[i]));");
  const std::string said = verdict(mutant.family(), "rows=40 count=50 width=77", 1, "form=1,vector=16,row_threads=0");
  EXPECT_NE(said.find("out["), std::string::npos) << said;
}

TEST_F(HostMutations, AnOffByOneStoreIsNamedWithItsArgumentAndLine) {
  const Mutant mutant(Gather::family(), "rows/vectors.cuh", "store<kBytes, kStore>(to + at,",
                      "store<kBytes, kStore>(to + at + kBytes,");
  const std::string said = verdict(mutant.family(), "rows=40 count=50 width=16", 0, "row_threads=0");
  EXPECT_NE(said.find("past the end of \"out\""), std::string::npos) << said;
  EXPECT_NE(said.find("rows/vectors.cuh:"), std::string::npos) << said;
}

// The result is right; the access log is not.
TEST_F(HostMutations, AnUnvectorizedStoreIsSeenInTheAccesses) {
  const Mutant mutant(Pointwise::family(), "pointwise/forward.cuh",
                      "store_if<sizeof(T) * kElements, kStore>(wanted, out, pack<T, kElements>(numbers[N - 1]));",
                      "for (int i = 0; wanted && i < kElements; ++i)\n"
                      "      store<sizeof(T), kStore>(out + i,\n"
                      "        bit_cast<Vector<sizeof(T)>>(from_compute<T>(numbers[N - 1][i])));");
  const auto worst_store = [&](const Family& family) {
    const LoggedAccesses log(driver());
    EXPECT_EQ(verdict(family, "rows=40 width=264"), "");
    std::pair<double, std::string> worst;
    for (const AccessSite& site : log.sites()) {
      const double ratio = static_cast<double>(site.sectors) / static_cast<double>(site.ideal_sectors);
      if (site.kind == "store") worst = std::max(worst, {ratio, site.place});
    }
    return worst;
  };
  EXPECT_LE(worst_store(Pointwise::family()).first, 1.2);
  const auto [ratio, place] = worst_store(mutant.family());
  EXPECT_GE(ratio, 4.0) << "2-byte stores 16 bytes apart: 16 sectors where 2 would do";
  EXPECT_EQ(place.rfind("pointwise/forward.cuh:", 0), 0u) << place;
}

// A persistent kernel that forgets a tile.
TEST_F(HostMutations, ALostTileIsAWrongResult) {
  const Mutant mutant(Gather::family(), "rows/vectors.cuh", "move_vectors<Rows>(p, tile);",
                      "if (tile.first() != 3 * 128) move_vectors<Rows>(p, tile);");
  const std::string config = "persistent=1,threads=64,blocks_per_sm=1,unroll=2";
  const std::string said = verdict(mutant.family(), "rows=40 count=300 width=512", 0, config);
  EXPECT_NE(said.find("out["), std::string::npos) << said;
  EXPECT_EQ(verdict(Gather::family(), "rows=40 count=300 width=512", 0, config), "");
}

// Without its first barrier a block's sum is read before all warps have written theirs.
TEST_F(HostMutations, AMissingBarrierIsARace) {
  Compiler& compiler = runtime().state().compiler;
  const std::string body = "out[threadIdx.x] = int(block_sum<8>(1.0f, partial));";
  const std::string before = "QUERN_SHARED(float, partial, 8);";
  const TestKernel good(compiler, options().driver, body, before);
  EXPECT_EQ(good.run({1, 256}, 256).back(), 256);
  std::string reduce;
  for (const SourceFile& file : embedded::common_sources()) {
    if (std::string_view(file.path) == "common/reduce.cuh") reduce = file.text;
  }
  const TestKernel bad(compiler, options().driver, body, before,
                       {{"common/reduce.cuh", replaced(reduce, "  __syncthreads();\n", "")}});
  EXPECT_EQ(bad.outcome({1, 256}, 256), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(report().find("races with"), std::string::npos) << report();
  EXPECT_NE(report().find("common/reduce.cuh:"), std::string::npos) << report();
  renew_context();
}

}  // namespace
}  // namespace quern::test
