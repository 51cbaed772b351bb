// Regression tests: each failed before the fix of its bug.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>
#include <optional>
#include <thread>
#include "compiler/nvrtc.h"
#include "plan/config.h"
#include "plan/problem.h"
#include "testbench/operands.h"
#include "unit/api/support.h"
#include "unit/plan/support.h"
namespace quern::test {
using Bug = ApiTest;

TEST_F(Bug, AFunctionLocalStaticPlanMakesNoDriverCallAtExit) {
  options();  // builds the fake compiler before the fork, so that the child does not remove it
  const pid_t child = fork();
  if (child == 0) {
    static int before;
    std::atexit([] { _exit(driver_calls() == before ? 0 : 42); });
    static Options o = options();
    static Runtime runtime(o);
    static const auto plan = runtime.prepare(Gather{});
    before = driver_calls();
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Bug, AnUnsetVirtualEnvIsNotTheWorkingDirectory) {
  std::filesystem::create_directories(scratch_ / "lib/python3.12/site-packages/nvidia/cu13/lib");
  cache::overwrite(scratch_ / "lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13", "planted");
  const auto was = std::filesystem::current_path();
  std::filesystem::current_path(scratch_.path());
  for (const auto& c : find_nvrtc("", {})) EXPECT_TRUE(c.path[0] == '/' || !c.found) << c.path << " " << c.why;
  std::filesystem::current_path(was);
}

TEST_F(Bug, AnNvrtcPathWithoutASuffixIsAnError) {
  cache::overwrite(scratch_ / "nvrtc", "text");
  Options o = options();
  o.compiler.nvrtc = scratch_ / "nvrtc";
  Runtime runtime(o);
  const Gather p;
  EXPECT_THROW(runtime.prewarm(Gather::family(), &p, "sm_90a"), Error);
}

TEST_F(Bug, TheBuiltinsCountWhateverNameTheLibraryIsGivenBy) {
  cache::overwrite(scratch_ / "libnvrtc.so.13", "x");
  cache::overwrite(scratch_ / "libnvrtc-builtins.so.13.0", "y");
  std::filesystem::create_symlink("libnvrtc.so.13", scratch_ / "libnvrtc.so");
  EXPECT_EQ(nvrtc_identity(scratch_ / "libnvrtc.so").text(), nvrtc_identity(scratch_ / "libnvrtc.so.13").text());
}

TEST_F(Bug, MinusOneIsNoWayToWriteOpen) { EXPECT_THROW(problem("gather count=-1"), Error); }

TEST_F(Bug, AFieldTwiceIsRefused) { EXPECT_THROW(problem("gather count=1 count=2"), Error); }

TEST_F(Bug, EveryVariantIsLegal) {
  for (const char* text : {"gather width=4096 dtype=c128", "gather width=17179869183 dtype=u8",
                           "gather width=17179869184 dtype=u8", "gather width=8589934588 dtype=bf16",
                           "pointwise width=17179869184", "pointwise width=70368744177664", "pointwise width=4096"}) {
    const AnyProblem p = problem(text);
    try {
      check_problem(p.family(), p.data());
    } catch (const Error& e) {
      std::printf("%s refused: %s\n", text, e.what());
      continue;
    }
    for (const Target& t : {Target{90, "a"}, Target{100, "a"}})
      for (const Variant& v : variants_of(p, t))
        EXPECT_EQ(violated(step_of(p), v.config, p.data(), t), "") << text << " " << v.name << " " << t.text();
  }
}

TEST_F(Bug, ARejectedImagesErrorSaysWhichProblem) {
  null_driver().reject_images = 1000;
  Runtime runtime(options());
  const Error e = refusal([&] { runtime.prepare(Gather{.dtype = f32}); });
  EXPECT_EQ(e.problem, "gather dtype=f32");
  EXPECT_NE(e.key, "");
}

TEST_F(Bug, ADriversRefusalOfALaunchSaysWhichProblem) {
  DriverTable t = null_driver_table();
  t.LaunchKernelEx = [](const CUlaunchConfig*, CUfunction, void**, void**) { return CUDA_ERROR_INVALID_VALUE; };
  Options o = options();
  o.driver = std::make_shared<Driver>(t);
  Runtime runtime(o);
  const auto plan = runtime.prepare(Pointwise{.width = 8});
  PointwiseArgs a;
  a.x = a.bias = address(0x1000);
  a.out = address(0x1000);
  a.rows = 1;
  const auto r = plan.try_launch(nullptr, a);
  EXPECT_EQ(r.error().problem, "pointwise width=8");
}

TEST_F(Bug, ADeviceModelOfAnotherArchitectureIsRefused) {
  Runtime runtime(options());
  const Gather p;
  EXPECT_THROW(runtime.prewarm(Gather::family(), &p, "sm_80", "NVIDIA H200"), Error);
}

TEST_F(Bug, FieldsOfAbsentOperandsDoNotMakeOtherImages) {
  Runtime runtime(options());
  const auto a = runtime.prepare_text("pointwise");
  EXPECT_EQ(runtime.prepare_text("pointwise y_dtype=f32").images()[0].key, a.images()[0].key);
  const auto b = runtime.prepare_text("pointwise bias_spread=none");
  EXPECT_EQ(runtime.prepare_text("pointwise bias_spread=none bias_dtype=f32").images()[0].key, b.images()[0].key);
}

TEST_F(Bug, AWarmWithoutArchitecturesIsAnError) {
  fake_nvrtc().set_architectures({});
  Options o = options();
  o.compiler.warm = true;
  { Runtime r(o); }
}

TEST_F(Bug, AnEmptyPlanIsRefused) {
  const Plan<Gather> plan;
  const auto refused = plan.try_launch(nullptr, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find("empty"), std::string::npos);
  EXPECT_THROW(plan.launch(nullptr, {}), Error);
}

TEST_F(Bug, ClosestIsCloseForShortWords) { EXPECT_EQ(closest("zz", {"op", "y"}), ""); }

TEST_F(Bug, ConfigTrailingComma) {
  EXPECT_THROW(parse_config(Gather::family().steps[0], "threads=128,", variants_of(problem("gather"))[0].config,
                            Gather::family().default_problem, {90, "a"}),
               Error);
}

TEST_F(Bug, HostOperandsTooLarge) {
  const AnyProblem p = problem("gather rows=9 count=1099511627776 width=4096");
  EXPECT_THROW(HostOperands(p.family(), p.data()), Error);
}
}  // namespace quern::test
