// The Runtime with a real compiler: images, errors, and a cache that a machine without one uses.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "api/runtime_state.h"
#include "base/files.h"
#include "compile/support.h"
#include "plan/unit.h"
#include "support/small_stack.h"
#include "testbench/null_driver.h"
#include "unit/cache/support.h"

namespace quern::test {
namespace {

using RuntimeCompile = CompileTest;
using cache::Scratch;

TEST_F(RuntimeCompile, CubinsAreElfFilesAndThePtxIsText) {
  const Scratch scratch;
  Options options;
  options.cache.mode = CacheMode::off;
  options.compiler.dump_dir = scratch.path();
  Runtime runtime(options);
  const Gather problem;
  for (const std::string& arch : kArchitectures) runtime.prewarm(Gather::family(), &problem, arch);
  int cubins = 0;
  for (const std::string& file : cache::files_below(scratch.path())) {
    const std::string bytes = *read_file(file);
    if (file.ends_with(".cubin")) {
      EXPECT_EQ(bytes.substr(0, 4), "\177ELF") << file;
      EXPECT_NE(bytes.find("quern_gather"), std::string::npos);
      ++cubins;
    }
    if (file.ends_with(".ptx")) {
      EXPECT_EQ(bytes.find('\0'), std::string::npos) << file;
    }
  }
  EXPECT_EQ(cubins, 8);
}

// Real logs: errors of the source, which are remembered, and other errors, which are not.
TEST_F(RuntimeCompile, OnlyAnErrorOfTheSourceLasts) {
  Runtime runtime(Options{});
  const auto error_of = [&](const Unit& unit) {
    try {
      runtime.state().compiler.nvrtc().compile(unit, "made", {90, "a"}, false);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "it was compiled";
    return Error(Code::bad_input, Stage::tool, "");
  };
  EXPECT_TRUE(error_of({{"made/made.cu", "int i = none;\n"}, {}, {}}).lasting);
  EXPECT_TRUE(
      error_of({{"made/made.cu", "#include \"made/made.h\"\n"}, {{"made/made.h", "int i = none;\n"}}, {}}).lasting);
  const Error without = error_of({{"made/made.cu", "#include \"none.h\"\n"}, {}, {}});
  EXPECT_NE(without.log.find("catastrophic error"), std::string::npos) << without.log;
  EXPECT_FALSE(without.lasting);
}

TEST_F(RuntimeCompile, APrewarmedCacheServesADeviceWithoutACompiler) {
  const Scratch scratch;
  Options options;
  options.cache.directory = scratch / "cache";
  options.cache.mode = CacheMode::read_write;
  const Gather problem{.width = 640};
  const Prewarmed warm = Runtime(options).prewarm(Gather::family(), &problem, "sm_90a");
  options.compiler.nvrtc = scratch / "missing/libnvrtc.so.13";
  options.driver = std::make_shared<Driver>(null_driver_table());
  Runtime live(options);
  const auto plan = live.prepare(problem);
  EXPECT_EQ(live.statistics().compiles.count, 0u);
  EXPECT_EQ(live.statistics().hits.disk, warm.images.size());
  for (std::size_t i = 0; i < warm.images.size(); ++i) {
    EXPECT_EQ(plan.ptx(static_cast<int>(i)), warm.ptx[i]);
    EXPECT_EQ(plan.source(static_cast<int>(i)), warm.sources[i]);
    EXPECT_EQ(plan.resources(static_cast<int>(i)).registers, warm.images[i].resources.registers);
  }
}

TEST_F(RuntimeCompile, LineInfoNamesTheTemplatesFiles) {
  Options options;
  options.cache.mode = CacheMode::off;
  options.compiler.lineinfo = true;
  const Gather problem;
  const Prewarmed lines = Runtime(options).prewarm(Gather::family(), &problem, "sm_90a");
  EXPECT_NE(lines.ptx.at(0).find(".loc"), std::string::npos);
  EXPECT_NE(lines.ptx.at(0).find("gather/gather.cu"), std::string::npos);
}

TEST_F(RuntimeCompile, AnErrorNamesTheFileAndTheLine) {
  Compiler& compiler = shared_runtime().state().compiler;
  Unit unit{{"made/made.cu", "#include \"made/part.cuh\"\nextern \"C\" __global__ void quern_made() { part(); }\n"},
            {{"made/part.cuh", "// one\n__device__ void part() { int x = nothing; }\n"}}};
  try {
    compiler.compile(unit, "quern_made", {90, "a"}, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::compile);
    EXPECT_NE(error.sentence.find("made/made.cu"), std::string::npos) << error.sentence;
    EXPECT_NE(error.log.find("made/part.cuh(2): error"), std::string::npos) << error.log;
  }
}

TEST_F(RuntimeCompile, AMissingHeaderIsNotLookedForElsewhere) {
  const Unit unit{{"made/made.cu", "#include <cuda_fp16.h>\n"}, {}};
  EXPECT_THROW(shared_runtime().state().compiler.compile(unit, "quern_made", {90, "a"}, false), Error);
}

TEST_F(RuntimeCompile, TheSameProblemGivesTheSameBytes) {
  const auto make = [] {
    Options options;
    options.cache.mode = CacheMode::off;
    const Gather problem;
    return Runtime(options).prewarm(Gather::family(), &problem, "sm_90a");
  };
  const Prewarmed first = make();
  const Prewarmed second = make();
  EXPECT_EQ(first.ptx, second.ptx);
  EXPECT_EQ(first.sources, second.sources);
}

// The child needs NVRTC's own locks too; with only the library's it deadlocked in four of five runs.
TEST_F(RuntimeCompile, AChildCompilesThatWasForkedWhileNvrtcCompiled) {
  Options options;
  options.cache.mode = CacheMode::off;
  options.compiler.warm = true;
  const auto compile = [](Runtime& runtime, std::int64_t width) {
    const Gather problem{.width = width};
    return runtime.prewarm(Gather::family(), &problem, "sm_90a").images.empty() ? 1 : 0;
  };
  Runtime runtime(options);
  std::atomic<bool> done{false};
  std::thread compiling([&] {
    for (std::int64_t width = 8; !done; ++width) compile(runtime, width);
  });
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(17 * i));
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(compile(runtime, 5));
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "child " << i;
  }
  done = true;
  compiling.join();
}

TEST_F(RuntimeCompile, AColdCompileWorksOnASmallStack) {
  run_on_small_stack([] {
    const Gather problem{.width = 6};
    EXPECT_NO_THROW(shared_runtime().prewarm(Gather::family(), &problem, "sm_90a"));
  });
}

// A narrowing that g++ only warns of made each image of mxfp8 fail.
TEST(HostCompile, EveryFamilyCompilesWithClangToo) {
  Options options;
  options.cache.mode = CacheMode::off;
  options.compiler.cxx = "clang++";
  Runtime runtime(options);
  for (const Family* family : runtime.families()) {
    const AnyProblem problem = runtime.parse(*family->bench_cases.begin());
    EXPECT_NO_THROW(runtime.prewarm(*family, problem.data(), "host")) << family->name;
  }
}

TEST_F(RuntimeCompile, WarmingOpensTheCompiler) { shared_runtime().state().compiler.nvrtc().warm(); }

}  // namespace
}  // namespace quern::test
