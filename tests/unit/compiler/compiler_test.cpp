#include "compiler/nvrtc_compiler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compiler_log.h"
#include "unit/api/fake_nvrtc.h"
#include "unit/cache/support.h"

namespace quern {
namespace {

using cache::overwrite;
using cache::Scratch;
using cache::silent;
using OptionList = std::vector<std::string>;

TEST(CompilerOptions, TheCanonicalListIsFixed) {
  EXPECT_EQ(NvrtcCompiler::options({90, "a"}, false),
            OptionList({"--gpu-architecture=sm_90a", "--std=c++17", "--fmad=false", "--ptxas-options=-v"}));
  EXPECT_EQ(NvrtcCompiler::options({80, ""}, true),
            OptionList({"--gpu-architecture=sm_80", "--std=c++17", "--fmad=false", "--ptxas-options=-v",
                        "--generate-line-info"}));
}

TEST(CompilerOptions, AnOldNvrtcIsNotGivenWhatItDoesNotKnow) {
  const auto has_no_cache = [](int version) {
    const OptionList options = NvrtcCompiler::options({90, "a"}, false, version);
    return std::count(options.begin(), options.end(), "--no-cache") == 1;
  };
  EXPECT_FALSE(has_no_cache(12008));
  EXPECT_TRUE(has_no_cache(12009));
  EXPECT_TRUE(has_no_cache(13000));
}

TEST(ParseResources, ReadsTheAssemblersReport) {
  const Resources r = parse_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'quern_gather' for 'sm_90a'\n"
      "ptxas info    : Function properties for quern_gather\n"
      "    48 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 33 registers, used 1 barriers, 48 bytes cumulative stack size, 2048 bytes smem\n"
      "ptxas info    : Compile time = 5.123 ms\n");
  EXPECT_EQ(r.registers, 33);
  EXPECT_EQ(r.shared_bytes, 2048);
  EXPECT_EQ(r.stack_bytes, 48);
  EXPECT_EQ(r.spill_store_bytes, 12);
  EXPECT_EQ(r.spill_load_bytes, 16);
}

TEST(ParseResources, WhatIsNotThereIsZero) {
  for (const char* log : {"", " registers", "32", "Used many registers", "ptxas info : Used 40 registers\n"}) {
    const Resources r = parse_resources(log);
    EXPECT_EQ(r.shared_bytes + r.stack_bytes + r.spill_store_bytes + r.spill_load_bytes, 0) << log;
    EXPECT_EQ(r.registers, std::string(log).find("40") == std::string::npos ? 0 : 40) << log;
  }
}

const Unit kUnit = {{"gather/gather.cu", "#include \"a.cuh\"\n"}, {{"a.cuh", "int a;\n"}}};

class FakeCompiler : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::fake_nvrtc().path.empty()) GTEST_SKIP() << test::fake_nvrtc().why_not;
    test::fake_nvrtc().reset();
  }
  test::FakeControl& control() { return *test::fake_nvrtc().control; }
  const Log log_ = silent();
  NvrtcCompiler compiler_{test::fake_nvrtc().path, {}, log_};
};

TEST_F(FakeCompiler, IsIdentifiedWithoutBeingOpened) {
  EXPECT_EQ(compiler_.identity(), "nvrtc faceb00c builtins none");
  ASSERT_EQ(compiler_.candidates().size(), 1u);
  EXPECT_TRUE(compiler_.candidates()[0].found);
  EXPECT_EQ(control().compiles, 0);
}

TEST_F(FakeCompiler, GivesCubinPtxLogAndResources) {
  control().delay_ms = 3;
  const Image image = compiler_.compile(kUnit, "quern_gather", {90, "a"}, false);
  control().delay_ms = 0;
  EXPECT_EQ(image.kernel, "quern_gather");
  EXPECT_EQ(image.cubin.rfind("cubin sm_90a ", 0), 0u) << image.cubin;
  EXPECT_EQ(image.ptx.rfind("ptx sm_90a ", 0), 0u) << image.ptx;
  EXPECT_EQ(image.ptx.find('\0'), std::string::npos);
  EXPECT_EQ(image.resources.registers, 32);
  EXPECT_GE(image.compile_ms, 3);
  EXPECT_STREQ(control().last_program, "gather/gather.cu");
}

TEST_F(FakeCompiler, ANewerDeviceGetsPtxForTheNewestArchitectureBelow) {
  test::fake_nvrtc().set_architectures({80, 90, 100});
  int fallback = 0;
  EXPECT_TRUE(compiler_.supports({90, "a"}));
  EXPECT_FALSE(compiler_.supports({103, "a"}, &fallback));
  EXPECT_EQ(fallback, 100);
  const Image image = compiler_.compile(kUnit, "quern_gather", {103, "a"}, false);
  EXPECT_EQ(image.cubin, "");
  EXPECT_EQ(image.ptx.rfind("ptx compute_100 ", 0), 0u) << image.ptx;
}

TEST_F(FakeCompiler, ARefusalCarriesTheLogWithTheTemplatesFile) {
  control().refuse = 1;
  try {
    compiler_.compile(kUnit, "quern_gather", {90, "a"}, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::compile);
    EXPECT_NE(error.sentence.find("NVRTC 13.0 refused gather/gather.cu"), std::string::npos) << error.sentence;
    EXPECT_NE(error.log.find("gather/gather.cu(12): error"), std::string::npos) << error.log;
  }
}

TEST_F(FakeCompiler, WarmCompilesSomethingSmall) {
  compiler_.warm();
  EXPECT_EQ(control().compiles, 1);
  EXPECT_STREQ(control().last_program, "warm.cu");
}

TEST_F(FakeCompiler, TheOptionsOfACompileFollowTheVersion) {
  control().version = 12008;
  compiler_.compile(kUnit, "quern_gather", {90, "a"}, true);
  const std::string options = control().last_options;
  EXPECT_EQ(options.find("--no-cache"), std::string::npos) << options;
  EXPECT_NE(options.find("--generate-line-info"), std::string::npos) << options;
}

std::string refusal(const std::string& path) {
  const Log log = silent();
  NvrtcCompiler compiler(path, {}, log);
  try {
    compiler.nvrtc();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::no_compiler);
    return error.sentence;
  }
  return "opened";
}

TEST(NoCompiler, APathThatIsNoFileIsNamedWithWhatToDo) {
  const Scratch scratch;
  const std::string sentence = refusal(scratch / "libnvrtc.so.13");
  EXPECT_NE(sentence.find(scratch / "libnvrtc.so.13"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("no such file"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("QUERN_NVRTC"), std::string::npos) << sentence;
}

TEST(NoCompiler, AFileThatIsNoLibraryIsNamed) {
  const Scratch scratch;
  overwrite(scratch / "libnvrtc.so.13", "text");
  const std::string sentence = refusal(scratch / "libnvrtc.so.13");
  EXPECT_NE(sentence.find(scratch / "libnvrtc.so.13"), std::string::npos) << sentence;
}

TEST(NoCompiler, ALibraryThatIsNoNvrtcIsNamedWithWhatItLacks) {
  const Scratch scratch;
  const std::string path = scratch / "libother.so.1";
  overwrite(scratch / "other.cpp", "extern \"C\" int other() { return 0; }\n");
  std::string words;
  if (!test::run_compiler("-shared -fPIC -o " + path + " " + scratch / "other.cpp", &words)) GTEST_SKIP() << words;
  const std::string sentence = refusal(path);
  EXPECT_NE(sentence.find(path + " lacks nvrtcVersion"), std::string::npos) << sentence;
}

TEST(NoCompiler, HasAnEmptyIdentity) {
  const Log log = silent();
  EXPECT_EQ(NvrtcCompiler("/missing/libnvrtc.so.13", {}, log).identity(), "");
}

}  // namespace
}  // namespace quern
