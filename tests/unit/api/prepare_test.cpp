// Problems become plans: the number of compiles, and errors.
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "api/runtime_state.h"
#include "support/small_stack.h"
#include "unit/api/support.h"

namespace quern::test {
namespace {

using Prepare = ApiTest;

GatherArgs some_args() {
  GatherArgs args;
  args.source = reinterpret_cast<const void*>(0x10000);
  args.index = reinterpret_cast<const void*>(0x20000);
  args.out = reinterpret_cast<void*>(0x40000);
  args.count = 100;
  return args;
}

TEST_F(Prepare, TheSecondTimeIsOneLookUp) {
  Runtime runtime(options());
  const auto first = runtime.prepare(Gather{});
  EXPECT_EQ(compiles(), 2);
  EXPECT_EQ(first.images().size(), 2u);
  const int loads = null_driver().loads;
  const auto second = runtime.prepare(Gather{});
  EXPECT_EQ(second.state(), first.state());
  EXPECT_EQ(compiles(), 2);
  EXPECT_EQ(null_driver().loads, loads);
  const Statistics statistics = runtime.statistics();
  EXPECT_EQ(statistics.compiles.count, 2u);
  EXPECT_EQ(statistics.hits.plan, 1u);
  EXPECT_GT(statistics.compiles.seconds, 0);
}

TEST_F(Prepare, ProblemsThatDifferInShapeShareTheirImages) {
  Runtime runtime(options());
  Gather problem;
  for (const std::int64_t count : {1, 2, 3, 1000}) {
    problem.count = count;
    runtime.prepare(problem);
  }
  EXPECT_EQ(compiles(), 2);
  EXPECT_EQ(runtime.statistics().hits.memory, 6u);
}

TEST_F(Prepare, SixteenThreadsCompileEachImageOnce) {
  Runtime runtime(options());
  control().delay_ms = 20;
  std::atomic<bool> go{false};
  std::vector<std::future<AnyPlan>> plans;
  for (int i = 0; i < 16; ++i) {
    plans.push_back(std::async(std::launch::async, [&] {
      while (!go) std::this_thread::yield();
      return AnyPlan(runtime.prepare(Gather{}));
    }));
  }
  go = true;
  for (auto& plan : plans) EXPECT_EQ(plan.get().images().size(), 2u);
  EXPECT_EQ(compiles(), 2);
  EXPECT_EQ(runtime.statistics().compiles.count, 2u);
}

// Neither a known problem nor a new one whose images are in the store waits for the compile of another key.
TEST_F(Prepare, HitsNeverWaitForAnotherCompile) {
  Runtime runtime(options(scratch_ / "cache"));
  runtime.prepare(Gather{});
  Pointwise on_disk;
  Runtime(options(scratch_ / "cache")).prepare(on_disk);
  hold("Index = common::i16");
  auto slow = std::async(std::launch::async, [&] { runtime.prepare(Gather{.index = i16}); });
  ASSERT_TRUE(wait_for_held(2));
  const int before = compiles();
  auto hits = std::async(std::launch::async, [&] {
    runtime.prepare(Gather{});
    runtime.prepare(Gather{.count = 7});
    runtime.prepare(on_disk);
    return compiles();
  });
  const bool in_time = hits.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  release();
  slow.get();
  EXPECT_TRUE(in_time);
  EXPECT_EQ(hits.get(), before);
}

TEST_F(Prepare, DifferentKeysCompileSideBySide) {
  Runtime runtime(options());
  hold("quern::spec");
  auto one = std::async(std::launch::async, [&] { runtime.prepare(Gather{}); });
  auto other = std::async(std::launch::async, [&] { runtime.prepare(Pointwise{}); });
  const bool all = wait_for_held(4);
  release();
  one.get();
  other.get();
  EXPECT_TRUE(all) << "two images of two problems should have been compiling at once";
}

TEST_F(Prepare, APlanOutlivesItsRuntime) {
  std::optional<Runtime> runtime(options());
  std::optional<Plan<Gather>> plan(runtime->prepare(Gather{}));
  runtime.reset();
  EXPECT_EQ(null_driver().unloads, 0);
  plan->launch(nullptr, some_args());
  EXPECT_EQ(null_driver().launches, 1);
  EXPECT_EQ(plan->problem(), "gather");
  plan.reset();
  EXPECT_EQ(null_driver().unloads, 2);
}

TEST_F(Prepare, TwoRuntimesShareNothing) {
  Runtime one(options());
  Runtime other(options());
  one.prepare(Gather{});
  EXPECT_EQ(other.statistics().compiles.count, 0u);
  other.prepare(Gather{});
  EXPECT_EQ(one.statistics().compiles.count, 2u);
  EXPECT_EQ(other.statistics().compiles.count, 2u);
  EXPECT_EQ(compiles(), 4);
}

TEST_F(Prepare, ARuntimeCanBeMoved) {
  Runtime from(options());
  from.prepare(Gather{});
  Runtime to(std::move(from));
  to.prepare(Gather{});
  EXPECT_EQ(to.statistics().hits.plan, 1u);
}

TEST_F(Prepare, EachContextHasItsOwnPlan) {
  Runtime runtime(options());
  const auto first = runtime.prepare(Gather{});
  null_driver().current_context = 2;
  const auto second = runtime.prepare(Gather{});
  EXPECT_NE(second.state(), first.state());
  EXPECT_EQ(compiles(), 2) << "but not its own images";
  EXPECT_EQ(null_driver().loads, 4);
}

TEST_F(Prepare, AConfigChangesTheMostWantedImageOnly) {
  Runtime runtime(options());
  PrepareOptions changed;
  changed.config = "unroll=1,threads=64";
  const auto plan = runtime.prepare(Gather{}, changed);
  EXPECT_TRUE(has(plan.images()[0].config, "vector=16 unroll=1 threads=64")) << plan.images()[0].config;
  EXPECT_TRUE(has(plan.why(), "changed by unroll=1,threads=64")) << plan.why();
  const auto plain = runtime.prepare(Gather{});
  EXPECT_FALSE(has(plain.images()[0].config, "unroll=1")) << plain.images()[0].config;
  EXPECT_EQ(plain.images()[1].key, plan.images()[1].key);
  EXPECT_TRUE(has(plain.why(), "default for generic sm_90; image from compiled")) << plain.why();
  changed.config = "unroll=3";
  EXPECT_TRUE(has(refusal([&] { runtime.prepare(Gather{}, changed); }).sentence, "unroll=3"));
}

TEST_F(Prepare, AConfigMayGiveUpAlignment) {
  Runtime runtime(options());
  PrepareOptions changed;
  changed.config = "vector=4";
  EXPECT_EQ(runtime.prepare(Gather{}, changed).images()[0].alignment, 4u);
}

// An image for addresses of 16 bytes and one for any; gather's default needs 16.
TEST_F(Prepare, AlignedAddressesNeedOneImage) {
  Options aligned = options();
  aligned.alignment = 16;
  Runtime runtime(aligned);
  const auto plan = runtime.prepare(Gather{});
  EXPECT_EQ(compiles(), 1);
  ASSERT_EQ(plan.images().size(), 1U);
  EXPECT_EQ(plan.images()[0].alignment, 16U);
  EXPECT_EQ(runtime.prewarm(Gather::family(), plan.state()->problem.data(), "sm_90a").images.size(), 1U);
  null_driver().launches = 0;
  GatherArgs args = some_args();
  plan.launch(nullptr, args);
  args.index = reinterpret_cast<const void*>(0x20008);  // of which each number is read alone
  plan.launch(nullptr, args);
  args.out = reinterpret_cast<void*>(0x40008);
  EXPECT_EQ(refusal([&] { plan.launch(nullptr, args); }).sentence,
            "no image of this plan takes such addresses: out is aligned to 8 bytes, for 16; Options::alignment or "
            "QUERN_ALIGNMENT says that no image for others is needed");
  EXPECT_EQ(null_driver().launches, 2);
}

TEST_F(Prepare, LessAlignmentThanAnImageNeedsChangesNothing) {
  Options aligned = options();
  aligned.alignment = 8;
  const auto plan = Runtime(aligned).prepare(Gather{});
  EXPECT_EQ(plan.images().size(), 2U);
  GatherArgs args = some_args();
  args.source = reinterpret_cast<const void*>(0x10002);  // less than was said, which one of the images takes
  plan.launch(nullptr, args);
}

// The previous driver is destroyed: a look-up must not call it.
TEST_F(Prepare, AnotherDriverTakesThePlaceOfOneThatWasAsked) {
  Runtime runtime(options());
  runtime.state().driver();
  runtime.state().use(counting_driver());
  EXPECT_EQ(runtime.state().driver_if_open(), nullptr);
  runtime.prepare(Gather{});
  EXPECT_EQ(runtime.state().driver_if_open(), runtime.state().driver().get());
}

TEST_F(Prepare, TextDoesWhatAStructDoes) {
  Runtime runtime(options());
  const auto plan = runtime.prepare(Gather{.width = 512, .dtype = f32});
  EXPECT_EQ(runtime.prepare_text(" gather width=512 dtype=f32\n").state(), plan.state());
  EXPECT_EQ(runtime.prepare_text(plan.problem()).state(), plan.state());
  EXPECT_TRUE(has(refusal([&] { runtime.prepare_text("gathr width=512"); }).sentence, "did you mean gather?"));
  EXPECT_TRUE(
      has(refusal([&] { runtime.prepare_text(""); }).sentence,
          "Families are: chunk_sort, concat, embedding, gather, glu, hash_table, index_sort, interaction, moe_map, "
          "moe_permute, "
          "moe_unpermute, multi_row_pad, mx_scales, mxfp8, mxfp8_dequantize, pointwise, rope, row_pad, scatter"));
}

TEST_F(Prepare, ABadProblemIsRefusedBeforeAnythingIsDone) {
  Options given = options();
  given.compiler.nvrtc = scratch_ / "no-compiler";
  Runtime runtime(given);
  Gather problem;
  problem.out_stride = 1;
  const Error error = refusal([&] { runtime.prepare(problem); });
  EXPECT_EQ(error.code, Code::bad_input);
  EXPECT_EQ(error.problem, "gather out_stride=1");
  problem = {};
  problem.width = -5;
  EXPECT_TRUE(has(refusal([&] { runtime.prepare(problem); }).sentence, "width=-5"));
  problem = {};
  problem.mode = static_cast<GatherMode>(99);
  EXPECT_TRUE(has(refusal([&] { runtime.prepare(problem); }).sentence, "mode=value 99"));
}

TEST_F(Prepare, TryPrepareReturnsTheError) {
  Runtime runtime(options());
  EXPECT_TRUE(static_cast<bool>(runtime.try_prepare(Gather{})));
  const auto refused = runtime.try_prepare(Gather{.index = f32});
  ASSERT_FALSE(static_cast<bool>(refused));
  EXPECT_TRUE(has(refused.error().sentence, "index=f32")) << refused.error().sentence;
}

TEST_F(Prepare, TryLaunchReturnsWhetherAKernelWasLaunched) {
  Runtime runtime(options());
  const auto plan = runtime.prepare(Gather{});
  EXPECT_TRUE(*plan.try_launch(nullptr, some_args()));
  GatherArgs none = some_args();
  none.count = 0;
  EXPECT_FALSE(*plan.try_launch(nullptr, none));
  none.count = kOpen;
  EXPECT_FALSE(static_cast<bool>(plan.try_launch(nullptr, none)));
}

TEST_F(Prepare, ALaunchInAnotherContextOrThreadIsTheDriversAffair) {
  Runtime runtime(options());
  const auto plan = runtime.prepare(Gather{});
  const int before = driver_calls();
  std::thread([&] { plan.launch(nullptr, some_args()); }).join();
  EXPECT_EQ(driver_calls() - before, 1);
  EXPECT_EQ(null_driver().launches, 1);
}

TEST_F(Prepare, WithoutACurrentContextItSaysWhatToDo) {
  Runtime runtime(options());
  runtime.prepare(Gather{});
  null_driver().current_context = 0;
  for (const std::int64_t count : {kOpen, std::int64_t{5}}) {
    const Error error = refusal([&] { runtime.prepare(Gather{.count = count}); });
    EXPECT_EQ(error.code, Code::no_device);
    EXPECT_TRUE(has(error.sentence, "no context is current")) << error.sentence;
  }
}

TEST_F(Prepare, ADeviceThatIsNotTheContextsIsRefused) {
  Runtime runtime(options());
  PrepareOptions other;
  other.device = 1;
  for (const bool known : {false, true}) {
    if (known) runtime.prepare(Gather{});
    const Error error = refusal([&] { runtime.prepare(Gather{}, other); });
    EXPECT_EQ(error.code, Code::bad_input);
    EXPECT_TRUE(has(error.sentence, "device 1") && has(error.sentence, "device 0")) << error.sentence;
  }
}

TEST_F(Prepare, TheContextsDeviceMayBeNamed) {
  Runtime runtime(options());
  PrepareOptions own;
  own.device = 0;
  const auto plan = runtime.prepare(Gather{}, own);
  const int loads = null_driver().loads;
  EXPECT_EQ(runtime.prepare(Gather{}, own).state(), plan.state());
  EXPECT_EQ(runtime.prepare(Gather{}).state(), plan.state());
  EXPECT_EQ(null_driver().loads, loads) << "a known problem is not loaded again";
}

TEST_F(Prepare, BesideACaptureKernelsAreLoadedAndUnloadedInTheRelaxedMode) {
  Runtime runtime(options());
  null_driver().capturing = true;
  std::optional<AnyPlan> plan(runtime.prepare(Gather{}));
  EXPECT_EQ(null_driver().loads, 2);
  const GatherArgs args = some_args();
  plan->launch(nullptr, &args);
  EXPECT_EQ(null_driver().launches, 1);
  plan.reset();
  runtime = Runtime(options());
  EXPECT_EQ(null_driver().unloads, 2);
  EXPECT_EQ(NullDriver::capture_mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "the thread's own again";
}

TEST_F(Prepare, ADriverThatForbidsLoadingInACaptureIsQuotedByName) {
  DriverTable table = null_driver_table();
  table.LibraryLoadData = [](auto...) { return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; };
  Options given = options();
  given.driver = std::make_shared<Driver>(table);
  Runtime runtime(given);
  const Error error = refusal([&] { runtime.prepare(Gather{.dtype = f32}); });
  EXPECT_EQ(error.code, Code::bad_input);
  EXPECT_EQ(error.problem, "gather dtype=f32");
  EXPECT_TRUE(has(error.sentence, "captured")) << error.sentence;
}

TEST_F(Prepare, ARejectedImageIsBuiltOnceMore) {
  null_driver().reject_images = 1;
  Runtime runtime(options(scratch_ / "cache"));
  runtime.prepare(Gather{});
  EXPECT_EQ(compiles(), 3);
  EXPECT_EQ(log_.count(LogLevel::warning, "the driver rejected the image"), 1) << log_.all();
}

TEST_F(Prepare, ARejectedImageFromDiskIsNotReadAgain) {
  { Runtime(options(scratch_ / "cache")).prepare(Gather{}); }
  EXPECT_EQ(compiles(), 2);
  null_driver().reject_images = 1;
  Runtime(options(scratch_ / "cache")).prepare(Gather{});
  EXPECT_EQ(compiles(), 3);
  Runtime(options(scratch_ / "cache")).prepare(Gather{});
  EXPECT_EQ(compiles(), 3) << "the new image is on disk";
}

// For example, a fleet's pack has images of two compilers, and the newer one is too new for this driver.
TEST_F(Prepare, ARejectedImageHidesNoGoodOneWhereThereIsNoCompiler) {
  const Gather problem;
  for (const bool another : {false, true}) {
    Options given = options(scratch_ / "cache");
    given.compiler.nvrtc = copy_of_compiler(scratch_ / cat("lib", another), another);
    control_of(given.compiler.nvrtc).version = another ? 13010 : 13000;
    Runtime(given).prewarm(Gather::family(), &problem, "sm_90a");
  }
  Options given = options(scratch_ / "cache");
  given.compiler.nvrtc = scratch_ / "none";
  null_driver().reject_images = 1;
  Runtime(given).prepare(Gather{});
  EXPECT_EQ(log_.count(LogLevel::warning, "the driver rejected the image"), 1) << log_.all();
  null_driver().reject_images = 2;
  EXPECT_EQ(refusal([&] { Runtime(given).prepare(Gather{}); }).code, Code::no_compiler);
}

TEST_F(Prepare, AnImageThatIsRejectedAgainIsAnError) {
  null_driver().reject_images = 1000;
  Runtime runtime(options());
  const Error error = refusal([&] { runtime.prepare(Gather{}); });
  EXPECT_EQ(error.code, Code::driver);
  EXPECT_TRUE(has(error.sentence, "cuLibraryLoadData")) << error.sentence;
  EXPECT_EQ(compiles(), 3);
  null_driver().reject_images = 0;
  runtime.prepare(Gather{});
}

TEST_F(Prepare, ACompileErrorCarriesFamilyProblemKeyAndLog) {
  control().refuse = 1;
  Runtime runtime(options(scratch_ / "cache"));
  const Error error = refusal([&] { runtime.prepare(Gather{.dtype = f32}); });
  EXPECT_EQ(error.code, Code::compile);
  EXPECT_EQ(error.family, "gather");
  EXPECT_EQ(error.problem, "gather dtype=f32");
  EXPECT_EQ(error.key.size(), 65u);
  EXPECT_TRUE(has(error.log, "gather/gather.cu(12)")) << error.log;
  EXPECT_TRUE(error.lasting);
  EXPECT_FALSE(error.remembered);
}

// Otherwise a loop over problems, or every rank of a job, would wait for the same error again.
TEST_F(Prepare, ACompileThatFailedIsNotTriedAgainForAWhile) {
  control().refuse = 1;
  Runtime runtime(options(scratch_ / "cache"));
  const Error first = refusal([&] { runtime.prepare(Gather{.dtype = f32}); });
  const int tried = compiles();
  const Error again = refusal([&] { runtime.prepare(Gather{.dtype = f32}); });
  Runtime other(options(scratch_ / "cache"));
  const Error elsewhere = refusal([&] { other.prepare(Gather{.dtype = f32}); });
  EXPECT_EQ(compiles(), tried);
  for (const Error& error : {again, elsewhere}) {
    EXPECT_TRUE(error.remembered);
    EXPECT_EQ(error.log, first.log);
    EXPECT_EQ(error.sentence, first.sentence);
    EXPECT_EQ(error.problem, first.problem);
    EXPECT_TRUE(has(error.what(), "is not retried yet")) << error.what();
  }
  EXPECT_GE(other.statistics().compiles.remembered_failures, 1u);
  EXPECT_EQ(other.statistics().compiles.count, 0u);
  control().refuse = 0;
  runtime.flush();  // the other image's compile failed too
  other.state().store.clear();
  other.prepare(Gather{.dtype = f32});
}

TEST_F(Prepare, ACompileThatMemoryOrTheDiskRefusedIsTriedAgain) {
  for (const int way : {1, 2, 3, 4}) {
    control().out_of_memory = way;
    const std::string dir = scratch_ / cat("cache", way);
    Runtime runtime(options(dir));
    const Error error = refusal([&] { runtime.prepare(Gather{.dtype = f32}); });
    EXPECT_FALSE(error.lasting) << way;
    runtime.flush();
    control().out_of_memory = 0;
    Runtime(options(dir)).prepare(Gather{.dtype = f32});
    runtime.prepare(Gather{.dtype = f32});
  }
}

TEST_F(Prepare, CompilesAreLoggedAtTheirStartAndEndAndHitsNot) {
  Runtime runtime(options());
  runtime.prepare(Gather{});
  EXPECT_EQ(log_.count(LogLevel::info, "compiling gather (vector, sm_90a)"), 1) << log_.all();
  EXPECT_EQ(log_.count(LogLevel::info, "compiled gather (ragged, sm_90a) in "), 1) << log_.all();
  const int lines = log_.count(LogLevel::info);
  runtime.prepare(Gather{});
  runtime.prepare(Gather{.count = 3});
  EXPECT_EQ(log_.count(LogLevel::info), lines) << log_.all();
  EXPECT_EQ(log_.count(LogLevel::warning), 0) << log_.all();
}

TEST_F(Prepare, ADeviceNewerThanTheCompilerGetsPtxWithOneWarningAnImage) {
  fake_nvrtc().set_architectures({80, 90, 100});
  null_driver().arch = 120;
  Runtime runtime(options());
  const auto plan = runtime.prepare(Gather{});
  EXPECT_EQ(plan.ptx().rfind("ptx compute_100 ", 0), 0u) << plan.ptx();
  EXPECT_EQ(log_.count(LogLevel::warning, "does not know sm_120a"), 2) << log_.all();
}

TEST_F(Prepare, ADeviceOlderThanTheKernelsIsRefusedByName) {
  null_driver().arch = 75;
  Runtime runtime(options());
  const Error error = refusal([&] { runtime.prepare(Gather{}); });
  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_TRUE(has(error.sentence, "null device has the compute capability 7.5; quern's kernels need 8.0"))
      << error.sentence;
  EXPECT_EQ(compiles(), 0);
}

TEST_F(Prepare, ADeviceOlderThanTheCompilerIsRefusedWithWhatItKnows) {
  fake_nvrtc().set_architectures({90, 100});
  null_driver().arch = 80;
  Runtime runtime(options());
  const Error error = refusal([&] { runtime.prepare(Gather{}); });
  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_TRUE(has(error.sentence, "sm_80") && has(error.sentence, "sm_90, sm_100")) << error.sentence;
  EXPECT_EQ(compiles(), 0);
}

// Fiber runtimes have such small stacks; prepare must work there with a cold cache too.
TEST_F(Prepare, AColdCompileWorksOnASmallStack) {
  Runtime runtime(options(scratch_ / "cache"));
  run_on_small_stack([&] { EXPECT_NO_THROW(runtime.prepare(Gather{})); });
  EXPECT_EQ(compiles(), 2);
}

TEST_F(Prepare, SourceAndPtxOfEachImageAreKept) {
  Runtime runtime(options());
  const auto plan = runtime.prepare(Gather{});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(has(plan.source(i), "namespace quern::spec"));
    EXPECT_TRUE(has(plan.ptx(i), "ptx sm_90a"));
    EXPECT_EQ(plan.resources(i).registers, 32);
  }
  EXPECT_NE(plan.source(0), plan.source(1));
}

}  // namespace
}  // namespace quern::test
