// The images that are compiled without a device are those that the device needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <filesystem>

#include "api/images.h"
#include "api/runtime_state.h"
#include "compiler/build_id.h"
#include "driver/device.h"
#include "plan/variants.h"
#include "unit/api/support.h"

namespace quern::test {
namespace {

using Prewarm = ApiTest;

// A Runtime on the same cache without a compiler.
Options without_compiler(Options options, const std::string& path) {
  options.compiler.nvrtc = path;
  return options;
}

TEST_F(Prewarm, NeedsNoDriver) {
  Options given = options();
  given.driver = nullptr;
  given.libcuda = scratch_ / "no-driver";
  Runtime runtime(given);
  const Gather problem;
  const int before = driver_calls();
  const Prewarmed result = runtime.prewarm(Gather::family(), &problem, "sm_90a");
  EXPECT_EQ(driver_calls(), before);
  EXPECT_EQ(result.problem, "gather");
  EXPECT_EQ(result.arch, "sm_90a");
  ASSERT_EQ(result.images.size(), 2u);
  EXPECT_EQ(result.sources.size(), 2u);
  EXPECT_EQ(result.ptx.size(), 2u);
  EXPECT_EQ(result.images[0].origin, ImageOrigin::compiled);
  EXPECT_EQ(runtime.prewarm(Gather::family(), &problem, "sm_90a").images[0].origin, ImageOrigin::memory);
}

TEST_F(Prewarm, ServesARuntimeThatHasNoCompiler) {
  const Gather problem;
  Runtime(options(scratch_ / "cache")).prewarm(Gather::family(), &problem, "sm_90a");
  EXPECT_EQ(compiles(), 2);
  Runtime live(without_compiler(options(scratch_ / "cache"), scratch_ / "missing/libnvrtc.so.13"));
  const auto plan = live.prepare(problem);
  EXPECT_EQ(live.statistics().hits.disk, 2u);
  EXPECT_EQ(live.statistics().compiles.count, 0u);
  for (const ImageInfo& image : plan.images()) EXPECT_EQ(image.origin, ImageOrigin::disk);
  const Error error = refusal([&] { live.prepare(Gather{.dtype = f32}); });
  EXPECT_EQ(error.code, Code::no_compiler);
  EXPECT_EQ(error.problem, "gather dtype=f32");
  EXPECT_TRUE(has(error.sentence, scratch_ / "missing/libnvrtc.so.13")) << error.sentence;
}

TEST_F(Prewarm, WhatWasMadeOnDemandDoesNotServeAnotherCompilerUntilItIsPrewarmed) {
  { Runtime(options(scratch_ / "cache")).prepare(Gather{}); }
  const auto other = [&] {
    return Runtime(without_compiler(options(scratch_ / "cache"), scratch_ / "missing")).try_prepare(Gather{});
  };
  EXPECT_FALSE(static_cast<bool>(other()));
  const Gather problem;
  Runtime(options(scratch_ / "cache")).prewarm(Gather::family(), &problem, "sm_90a");
  EXPECT_EQ(compiles(), 2) << "marked, not made again";
  EXPECT_TRUE(static_cast<bool>(other()));
}

// Where PyTorch has brought its own NVRTC: nothing is compiled, and quern's own is not even loaded.
TEST_F(Prewarm, ServesARuntimeThatHasAnotherBuildOfTheCompiler) {
  const Gather problem;
  Runtime here(options(scratch_ / "cache"));
  here.prewarm(Gather::family(), &problem, "sm_90a");
  const std::string other = copy_of_compiler(scratch_ / "wheel", true);
  Runtime live(without_compiler(options(scratch_ / "cache"), other));
  EXPECT_NE(live.state().compiler.identity({90, "a"}), here.state().compiler.identity({90, "a"}));
  live.prepare(problem);
  EXPECT_EQ(live.statistics().hits.disk, 2u);
  EXPECT_EQ(live.statistics().compiles.count, 0u);
  EXPECT_EQ(live.statistics().misses.all, 0u);
  EXPECT_FALSE(has(read_file("/proc/self/maps").value(), other)) << "loaded";
}

// The images of a problem, without compiling them.
std::vector<cache::Key> keys_asked(Runtime& runtime) {
  const Gather problem;
  const Target target{90, "a"};
  std::vector<cache::Key> keys;
  for (const Variant& variant :
       variants_of(Gather::family(), Gather::family().steps[0], &problem, target, generic_model(90), ""))
    keys.push_back(
        key_of_image(runtime.state(), {&Gather::family(), &Gather::family().steps[0], &problem, target, variant}));
  return keys;
}

// For example after an upgrade of the compiler: otherwise the old images would be shipped forever.
TEST_F(Prewarm, CompilesWithTheCompilerThereIsWhateverAnotherMade) {
  const Gather problem;
  Runtime runtime(options(scratch_ / "cache"));
  Runtime other(without_compiler(options(scratch_ / "cache"), copy_of_compiler(scratch_ / "old", true)));
  for (const cache::Key& key : keys_asked(other)) {
    cache::Entry entry = cache::prewarmed("of the old compiler");
    other.state().store.put(key, std::move(entry));
  }
  EXPECT_EQ(runtime.prewarm(Gather::family(), &problem, "sm_90a").images[0].origin, ImageOrigin::compiled);
  EXPECT_EQ(compiles(), 2);
  Runtime later(options(scratch_ / "cache"));
  EXPECT_EQ(later.prewarm(Gather::family(), &problem, "sm_90a").images[0].origin, ImageOrigin::disk);
}

// A cold prewarm would refuse it: newer compilers make a native image.
TEST_F(Prewarm, DoesNotMarkPtxForAnOlderArchitecture) {
  fake_nvrtc().set_architectures({80, 90});
  null_driver().arch = 120;
  { Runtime(options(scratch_ / "cache")).prepare(Gather{}); }
  const Gather problem;
  Runtime runtime(options(scratch_ / "cache"));
  EXPECT_EQ(refusal([&] { runtime.prewarm(Gather::family(), &problem, "sm_120a"); }).code, Code::unsupported);
}

// Keys do not depend on the location or on the machine that built the image.
TEST_F(Prewarm, TheKeysDependOnNoPlaceTimeOrLocale) {
  Runtime here(options(scratch_ / "cache"));
  const auto first = keys_asked(here);
  const auto was = std::filesystem::current_path();
  std::filesystem::current_path(scratch_.path());
  ::setenv("TZ", "Pacific/Auckland", 1);
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  Runtime there(without_compiler(options(scratch_ / "elsewhere"), copy_of_compiler(scratch_ / "moved", false)));
  EXPECT_EQ(keys_asked(there), first);
  std::setlocale(LC_ALL, "C");
  ::unsetenv("TZ");
  std::filesystem::current_path(was);
  for (const cache::Key& key : first) {
    EXPECT_FALSE(has(key.what + key.who, scratch_.path())) << key.what << key.who;
    EXPECT_FALSE(has(key.what + key.who, was.string())) << key.what << key.who;
  }
}

TEST_F(Prewarm, ExactMatchingTakesNoOtherCompilersImage) {
  const Gather problem;
  Runtime(options(scratch_ / "cache")).prewarm(Gather::family(), &problem, "sm_90a");
  Options exact = without_compiler(options(scratch_ / "cache"), scratch_ / "missing");
  exact.cache.match = CacheMatch::exact;
  EXPECT_EQ(refusal([&] { Runtime(exact).prepare(problem); }).code, Code::no_compiler);
}

// For every bench case of every family on every architecture, every device model included.
TEST_F(Prewarm, TheKeysAreThoseOfTheLiveDevice) {
  for (const int arch : {80, 89, 90, 100, 103, 120}) {
    null_driver().arch = arch;
    Runtime runtime(options());
    for (const Family* family : runtime.families()) {
      for (const char* text : family->bench_cases) {
        const AnyProblem problem = runtime.parse(text);
        const Prewarmed warm = runtime.prewarm(*family, problem.data(), target_of(arch).text());
        const int before = compiles();
        const AnyPlan plan = runtime.prepare_any(*family, problem.data());
        EXPECT_EQ(compiles(), before) << text;
        const std::vector<std::string> made = keys(warm.images);
        const std::vector<std::string> asked = keys(plan.images());
        EXPECT_TRUE(std::includes(made.begin(), made.end(), asked.begin(), asked.end())) << text << " sm_" << arch;
      }
    }
  }
}

TEST_F(Prewarm, AConfigIsPrewarmedAsItIsPrepared) {
  const AnyProblem problem = Runtime(options()).parse("gather width=512");
  Runtime runtime(options());
  const auto warm = runtime.prewarm(problem.family(), problem.data(), "sm_90a", {}, "unroll=1");
  const int before = compiles();
  PrepareOptions changed;
  changed.config = "unroll=1";
  EXPECT_EQ(keys(runtime.prepare_any(problem.family(), problem.data(), changed).images()), keys(warm.images));
  EXPECT_EQ(compiles(), before);
}

TEST_F(Prewarm, LineInfoIsAnotherImage) {
  Options with = options(scratch_ / "cache");
  with.compiler.lineinfo = true;
  const Gather problem;
  const auto plain = Runtime(options(scratch_ / "cache")).prewarm(Gather::family(), &problem, "sm_90a");
  const auto lines = Runtime(with).prewarm(Gather::family(), &problem, "sm_90a");
  EXPECT_NE(keys(plain.images), keys(lines.images));
  EXPECT_EQ(compiles(), 4);
}

TEST_F(Prewarm, AnArchitectureThatQuernDoesNotKnowIsRefusedWithTheList) {
  Runtime runtime(options());
  const Gather problem;
  const Error error = refusal([&] { runtime.prewarm(Gather::family(), &problem, "sm_42"); });
  EXPECT_EQ(error.code, Code::bad_input);
  EXPECT_TRUE(has(error.sentence, "\"sm_42\"") && has(error.sentence, "sm_90a")) << error.sentence;
  EXPECT_EQ(compiles(), 0);
}

TEST_F(Prewarm, AnArchitectureThatTheCompilerDoesNotKnowIsRefusedWithTheList) {
  fake_nvrtc().set_architectures({80, 90});
  Runtime runtime(options(scratch_ / "cache"));
  const Gather problem;
  const Error error = refusal([&] { runtime.prewarm(Gather::family(), &problem, "sm_120a"); });
  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_TRUE(has(error.sentence, "sm_120a") && has(error.sentence, "sm_80, sm_90")) << error.sentence;
  EXPECT_EQ(compiles(), 0);
  EXPECT_TRUE(cache::files_below(scratch_ / "cache").empty()) << "nothing is written half";
}

TEST_F(Prewarm, WithoutACompilerEachPlaceIsListed) {
  Runtime runtime(without_compiler(options(), scratch_ / "libnvrtc.so.13"));
  const Gather problem;
  const Error error = refusal([&] { runtime.prewarm(Gather::family(), &problem, "sm_90a"); });
  EXPECT_EQ(error.code, Code::no_compiler);
  EXPECT_TRUE(has(error.sentence, scratch_ / "libnvrtc.so.13" + " (given by option")) << error.sentence;
}

TEST_F(Prewarm, ABadProblemIsRefusedBeforeACompilerIsLookedFor) {
  Runtime runtime(without_compiler(options(), scratch_ / "missing"));
  const Gather problem{.width = 8, .out_stride = 3};
  EXPECT_EQ(refusal([&] { runtime.prewarm(Gather::family(), &problem, "sm_90a"); }).code, Code::bad_input);
}

}  // namespace
}  // namespace quern::test
