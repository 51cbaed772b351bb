// Plans of several steps, variants by operand and by problem, and operands that are lists: their plans, and the
// variants and errors of their launches.
#include <gtest/gtest.h>

#include <set>

#include "api/configs.h"
#include "driver/device.h"
#include "plan/plan_state.h"
#include "support/joined/joined.h"
#include "support/two_stage/two_stage.h"
#include "tuner/space/family_space.h"
#include "unit/api/support.h"
#include "unit/plan/support.h"
#include "unit/records/support.h"

namespace quern::test {
namespace {

constexpr std::int64_t kMany = 100'000;

class Steps : public ApiTest {
 protected:
  static TwoStageArgs args(std::uintptr_t x = 0x10000, std::uintptr_t chunks = 0x20000) {
    TwoStageArgs args;
    args.x = address(x);
    args.chunks = address(chunks);
    args.total = address(0x30000);
    return args;
  }
  static std::string picked(const AnyPlan& plan, const void* args, std::size_t step = 0) {
    PreparedLaunch prepared;
    prepare_launch(*plan.state(), args, prepared, step);
    return prepared.variant->variant.name;
  }
  static std::string refused(const AnyPlan& plan, const void* args) {
    const Result<bool> result = plan.try_launch(nullptr, args);
    return result ? "launched" : result.error().sentence;
  }
};

TEST_F(Steps, APlanHasTheImagesOfEachStepThatTheProblemNeeds) {
  Runtime runtime(options());
  const auto plan = runtime.prepare(TwoStage{kMany, 2});
  std::vector<std::string> names;
  std::set<std::string> keys;
  for (const ImageInfo& image : plan.images()) {
    names.push_back(cat(image.step, " ", image.variant, " ", image.config));
    keys.insert(image.key);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "chunks few chunks.vector=4 chunks.threads=32", "chunks vector chunks.vector=16 chunks.threads=128",
                "chunks any chunks.vector=4 chunks.threads=32", "total any total.vector=4 total.threads=32"}));
  EXPECT_EQ(keys.size(), 3u) << "few and any are one image, and the same constants of another step another";
  EXPECT_EQ(runtime.prepare(TwoStage{kMany, 1}).images().size(), 3u);
  EXPECT_TRUE(has(plan.why(), "\ntotal, any (addresses aligned to 4): total.vector=4")) << plan.why();
  const TwoStage problem{kMany, 2};
  EXPECT_EQ(runtime.prewarm(TwoStage::family(), &problem, "sm_90a", "NVIDIA H200").images.size(), 3u);
}

TEST_F(Steps, ALaunchEnqueuesEach) {
  Runtime runtime(options());
  null_driver().launches = 0;
  runtime.prepare(TwoStage{kMany, 2}).launch(nullptr, args());
  EXPECT_EQ(null_driver().launches, 2);
  runtime.prepare(TwoStage{kMany, 1}).launch(nullptr, args());
  EXPECT_EQ(null_driver().launches, 3);
  runtime.prepare(TwoStage{0, 1}).launch(nullptr, args());
  EXPECT_EQ(null_driver().launches, 3) << "nothing to do";
}

// The second step of this problem needs more blocks than a grid can have.
TEST_F(Steps, WhatIsRefusedInALaterStepHasEnqueuedNothing) {
  static Family mine = TwoStage::family();
  static Step steps[] = {mine.steps[0], mine.steps[1]};
  steps[1].launch = [](const void*, const void*, const DeviceModel&, const Config&, Launch& launch) {
    launch.grid[1] = 1 << 20;
  };
  mine.name = "mine";
  mine.steps = steps;
  Runtime runtime(options());
  const TwoStage problem{kMany, 2};
  const AnyPlan plan = runtime.prepare_any(mine, &problem);
  null_driver().launches = 0;
  const TwoStageArgs given = args();
  EXPECT_TRUE(has(refused(plan, &given), "more blocks than one launch can have"));
  EXPECT_EQ(null_driver().launches, 0);
}

// The changes of a config without a dot are the main step's.
TEST_F(Steps, TheMainStepOfSeveralNeedsNoName) {
  static Family mine = TwoStage::family();
  static Step steps[] = {mine.steps[0], mine.steps[1]};
  steps[0].name = "";
  mine.name = "mine";
  mine.steps = steps;
  Runtime runtime(options());
  const TwoStage problem{kMany, 2};
  PrepareOptions changed;
  changed.config = "vector=4,total.threads=128";
  const AnyPlan plan = runtime.prepare_any(mine, &problem, changed);
  EXPECT_EQ(plan.images().front().config, "vector=4 threads=32");
  EXPECT_EQ(plan.images().back().config, "total.vector=4 total.threads=128");
  changed.config = "other.vector=4";
  EXPECT_THROW(runtime.prepare_any(mine, &problem, changed), Error);
  steps[1].name = "";
  static Family twice = mine;
  twice.name = "twice";
  EXPECT_THROW(runtime.prepare_any(twice, &problem), Error) << "two steps of one name";
}

TEST_F(Steps, AVariantIsPickedByEachOperandsAddressAndByTheProblem) {
  Runtime runtime(options());
  const auto closed = runtime.prepare(TwoStage{kMany, 2});
  TwoStageArgs given = args();
  EXPECT_EQ(picked(closed, &given), "vector");
  given = args(0x10000, 0x20004);
  EXPECT_EQ(picked(closed, &given), "vector") << "chunks is not read in vectors";
  given = args(0x10004);
  EXPECT_EQ(picked(closed, &given), "any");
  const auto open = runtime.prepare(TwoStage{});
  given = args();
  given.count = 1001;
  EXPECT_EQ(picked(open, &given), "vector");
  given.count = 1000;
  EXPECT_EQ(picked(open, &given), "few") << "the same plan, fewer numbers";
  EXPECT_EQ(picked(open, &given, 1), "any");
}

// Which variant fits is known where no extent is open.
TEST_F(Steps, AlignedAddressesLeaveWhatTheProblemDecides) {
  Options aligned = options();
  aligned.alignment = 256;
  Runtime runtime(aligned);
  const auto names = [&](const TwoStage& problem) {
    std::string all;
    for (const ImageInfo& image : runtime.prepare(problem).images()) all += cat(image.step, ".", image.variant, " ");
    return all;
  };
  EXPECT_EQ(names(TwoStage{}), "chunks.few chunks.vector total.any ");
  EXPECT_EQ(names(TwoStage{kMany, 2}), "chunks.few chunks.vector total.any ");
  EXPECT_EQ(names(TwoStage{10, 2}), "chunks.few total.any ");
}

TEST_F(Steps, AnAlignmentThatNoMaskHoldsAndALastVariantThatMayNotFitAreRefused) {
  static Family mine = TwoStage::family();
  static Step step = mine.steps[0];
  mine.name = "mine";
  mine.steps = {};
  mine.steps.rows = &step;
  mine.steps.count = 1;
  Runtime runtime(options());
  const TwoStage problem{kMany, 1};
  static std::uint32_t demanded = 0;
  step.alignment = [](const void*, int, const Config&) { return demanded; };
  for (const std::uint32_t alignment : {0U, 48U, 512U}) {
    demanded = alignment;
    const std::string sentence = refusal([&] { runtime.prepare_any(mine, &problem); }).sentence;
    EXPECT_TRUE(has(sentence, cat("demands an alignment of ", alignment, " of x; it may be a power of two up to 256")))
        << sentence;
  }
  demanded = 256;
  const AnyPlan plan = runtime.prepare_any(mine, &problem);
  TwoStageArgs given = args(0x10080);
  EXPECT_TRUE(
      has(refused(plan, &given), "no image of this plan takes such addresses: x is aligned to 128 bytes, for 256"));
  given = args(0x10100);
  EXPECT_EQ(picked(plan, &given), "vector");
  step.variants = [](const void*, const Target&, const DeviceModel&, Variant(&out)[kMaxVariants]) {
    out[0] = {"never", {}, [](const void*) { return false; }};
    return 1;
  };
  EXPECT_TRUE(has(refusal([&] { runtime.prewarm(mine, &problem, "sm_90a"); }).sentence,
                  "the last variant of mine must fit every problem"));
}

TEST_F(Steps, AConfigNamesTheStep) {
  Runtime runtime(options());
  PrepareOptions changed;
  changed.config = "total.threads=128,chunks.vector=16";
  const auto plan = runtime.prepare(TwoStage{kMany, 2}, changed);
  EXPECT_EQ(plan.images()[0].config, "chunks.vector=16 chunks.threads=32");
  EXPECT_EQ(plan.images()[3].config, "total.vector=4 total.threads=128");
  const auto refusal_of = [&](const char* config) {
    changed.config = config;
    return refusal([&] { runtime.prepare(TwoStage{kMany, 2}, changed); }).sentence;
  };
  EXPECT_TRUE(has(refusal_of("threads=128"),
                  "\"threads=128\" is of no step of two_stage; write STEP.PARAMETER=VALUE "
                  "with one of chunks, total"));
  EXPECT_TRUE(has(refusal_of("sum.threads=128"), "is of no step"));
  EXPECT_TRUE(has(refusal_of("total.warps=1"), "there is no parameter \"warps\""));
}

TEST_F(Steps, ARecordIsOfOneStep) {
  Options looking = options();
  looking.tuning.mode = Tuning::lookup;
  const Device live = describe_device(*counting_driver(), 0);
  const std::string text = cat("two_stage count=", kMany);
  const auto configs_with = [&](const char* config) {
    cache::overwrite(scratch_ / "records.jsonl", record_line(record_for(text, config, live.name)) + "\n");
    Runtime runtime(looking);
    const auto plan = runtime.prepare(TwoStage{kMany, 2});
    return plan.images()[0].config + "; " + plan.images()[3].config;
  };
  EXPECT_EQ(configs_with("total.threads=128"), "chunks.vector=4 chunks.threads=32; total.vector=4 total.threads=128");
  EXPECT_EQ(configs_with("chunks.threads=128"), "chunks.vector=4 chunks.threads=128; total.vector=4 total.threads=32");
}

TEST_F(Steps, EachHasATuningSpaceOfItsOwn) {
  const TwoStage problem{kMany, 2};
  const FamilySpace total(AnyProblem(TwoStage::family(), &problem), {90, "a"}, TwoStage::family().steps[1]);
  EXPECT_EQ(total.size(), 4);
  EXPECT_EQ(total.text(0), "total.vector=4 total.threads=32");
  EXPECT_EQ(total.option(3), "total.vector=16,total.threads=128");
  EXPECT_EQ(total.find(total.text(2)), 2);
}

TEST_F(Steps, AGeneratedSourceIsPartOfTheKeyAndOfTheSource) {
  Runtime runtime(options());
  const auto prepared = [&](const char* formula) {
    Joined problem;
    problem.formula = formula;
    return runtime.prepare(problem);
  };
  const auto square = prepared("x * x");
  EXPECT_NE(square.images()[0].key, prepared("x").images()[0].key);
  EXPECT_TRUE(has(square.source(), "// ---- generated/formula.cuh\n")) << square.source();
  EXPECT_TRUE(has(square.source(), "return x * x;")) << square.source();
}

TEST_F(Steps, AListIsCheckedEntryByEntry) {
  Runtime runtime(options());
  Joined problem;
  problem.rows = 4;
  problem.widths = {2, 0, 3};
  const auto plan = runtime.prepare(problem);
  In entries[] = {address(0x1000), nullptr, address(0x2000)};
  JoinedArgs given;
  given.sources = {entries, 3};
  given.out = address(0x3000);
  EXPECT_EQ(refused(plan, &given), "launched") << "an empty entry needs no address";
  given.sources.count = 2;
  EXPECT_EQ(refused(plan, &given), "sources is a list of 3 for this problem; the launch gives 2");
  given.sources = {nullptr, 3};
  EXPECT_EQ(refused(plan, &given), "sources is a list of 3 for this problem; the launch gives none");
  given.sources = {entries, 3};
  entries[2] = nullptr;
  EXPECT_EQ(refused(plan, &given), "sources.2 is null; it takes 48 bytes");
  entries[2] = address(0x2002);
  EXPECT_TRUE(has(refused(plan, &given), "sources.2 is not aligned to its element type f32"));
  entries[2] = In(address(0x2000), 47);
  EXPECT_TRUE(has(refused(plan, &given), "sources.2 has 47 bytes; [rows, widths[N]] takes 48"));
}

}  // namespace
}  // namespace quern::test
