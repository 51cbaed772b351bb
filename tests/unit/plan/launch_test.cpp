// Errors of the launch path, and the variant that it picks.
#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"
#include "support/cases.h"
#include "support/has.h"
#include "unit/driver/support.h"
#include "unit/plan/support.h"

namespace quern {
namespace {

using test::address;
using test::BarePlan;
using test::has;
using test::problem;

GatherArgs gather_args() {
  GatherArgs args;
  args.source = address(0x10000);
  args.index = address(0x20000);
  args.scale = address(0x30000);
  args.out = address(0x40000);
  args.report = address(0x50000);
  args.rows = 100;
  args.count = 10;
  return args;
}

PointwiseArgs pointwise_args() {
  PointwiseArgs args;
  args.x = address(0x10000);
  args.y = address(0x20000);
  args.bias = address(0x30000);
  args.out = address(0x40000);
  args.rows = 10;
  return args;
}

template <class Args>
std::string refusal(const std::string& text, const Args& args) {
  const AnyProblem p = problem(text);
  const BarePlan plan(p);
  PreparedLaunch prepared;
  try {
    prepare_launch(plan, &args, prepared);
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    EXPECT_EQ(error.stage, Stage::launch);
    EXPECT_EQ(error.family, p.family().name);
    EXPECT_EQ(error.problem.rfind(p.family().name, 0), 0u) << error.problem;
    return error.sentence;
  }
  return "accepted";
}

TEST(LaunchExtents, AnOpenExtentComesFromTheLaunch) {
  EXPECT_EQ(refusal("gather", gather_args()), "accepted");
  GatherArgs args = gather_args();
  args.count = kOpen;
  EXPECT_EQ(refusal("gather", args), "count is open in the problem, so the launch must give it");
  EXPECT_EQ(refusal("gather count=10", args), "accepted");
}

TEST(LaunchExtents, AClosedExtentMayBeGivenAgainButNotContradicted) {
  GatherArgs args = gather_args();
  EXPECT_EQ(refusal("gather count=10 rows=100", args), "accepted");
  EXPECT_EQ(refusal("gather count=11", args), "count=10 contradicts the problem, which says 11");
  args.count = 0;
  EXPECT_EQ(refusal("gather count=11", args), "count=0 contradicts the problem, which says 11");
}

TEST(LaunchExtents, OnlyTheModesThatCheckNeedRows) {
  GatherArgs args = gather_args();
  args.rows = kOpen;
  EXPECT_EQ(refusal("gather", args), "accepted");
  EXPECT_EQ(refusal("gather mode=minus_one_is_zero", args), "accepted");
  for (const char* mode : {"zero", "clamp", "wrap_negative", "trap", "report"})
    EXPECT_TRUE(has(refusal(std::string("gather mode=") + mode, args), "rows is open")) << mode;
}

TEST(LaunchExtents, OneThatIsOutOfRangeIsRefusedWithTheRange) {
  for (const std::int64_t bad : {std::int64_t{-2}, std::numeric_limits<std::int64_t>::min(), kMaxExtent + 1}) {
    GatherArgs args = gather_args();
    args.count = bad;
    EXPECT_EQ(refusal("gather", args),
              "count=" + std::to_string(bad) + " is out of range; it takes 0 to 70368744177664, or open");
    PointwiseArgs pointwise = pointwise_args();
    pointwise.rows = bad;
    EXPECT_TRUE(has(refusal("pointwise", pointwise), "rows=" + std::to_string(bad)));
  }
}

TEST(LaunchOperands, ANullPointerIsRefusedByNameAndSize) {
  const auto without = [](In GatherArgs::*operand) {
    GatherArgs args = gather_args();
    args.*operand = nullptr;
    return refusal("gather rows=100 width=64 dtype=bf16 scale=f32", args);
  };
  EXPECT_EQ(without(&GatherArgs::source), "source is null; it takes 12800 bytes");
  EXPECT_EQ(without(&GatherArgs::index), "index is null; it takes 80 bytes");
  EXPECT_EQ(without(&GatherArgs::scale), "scale is null; it takes 40 bytes");
  GatherArgs args = gather_args();
  args.out = nullptr;
  EXPECT_EQ(refusal("gather width=64 out_stride=65 dtype=f32", args), "out is null; it takes 2596 bytes");
  args = gather_args();
  args.report = nullptr;
  EXPECT_EQ(refusal("gather mode=report", args), "report is null; it takes 8 bytes");
}

// Its size is not known then, but it is read.
TEST(LaunchOperands, ANullSourceIsRefusedWhereItsRowsAreOpen) {
  GatherArgs args = gather_args();
  args.rows = kOpen;
  args.source = nullptr;
  EXPECT_EQ(refusal("gather", args), "source is null");
  args.count = 0;
  EXPECT_EQ(refusal("gather", args), "accepted");
}

TEST(LaunchOperands, RulesBetweenFieldsHoldForTheLaunchsExtentsToo) {
  GatherArgs args = gather_args();
  args.rows = 0;
  EXPECT_TRUE(has(refusal("gather mode=clamp", args), "rows=0"));
}

// Each conformance case with extents opened and closed again at random: spans that prepare takes as fixed are the same
// at every launch.
TEST(LaunchOperands, AFixedSpanIsThatOfEveryLaunch) {
  std::uint64_t draw = 0;
  int open_plans = 0, fixed = 0, asked_again = 0;
  for (const auto& cases : {test::gather_cases(), test::pointwise_cases(), test::pointwise_program_cases(),
                            test::pointwise_reduction_cases(), test::pointwise_scaled_cases(), test::mxfp8_cases()}) {
    for (const test::Case& each : cases) {
      AnyProblem open = problem(each.problem);
      for (const Field& field : open.family().fields) {
        if (field.may_be_open && random_at(1, ++draw) % 2 == 0) set_integer(field, open.data(), kOpen);
      }
      const BarePlan plan(open);
      open_plans += plan.closed ? 0 : 1;
      AnyProblem closed = open;
      for (const Field* field : open_extents(open.family(), open.data()))
        set_integer(*field, closed.data(), static_cast<std::int64_t>(random_at(2, ++draw) % 100));
      for (const PlanState::BoundOperand& bound : plan.operands) {
        (bound.fixed ? fixed : asked_again) += 1;
        if (!bound.fixed) continue;
        EXPECT_EQ(bound.span, bound.operand->layout(closed.data(), bound.entry).span_bytes())
            << bound.operand->name << " of " << open.text();
      }
    }
  }
  EXPECT_GT(open_plans, 100);
  EXPECT_GT(fixed, 100);
  EXPECT_GT(asked_again, 100);
}

TEST(LaunchOperands, WhatTheProblemDoesNotHaveMayBeNull) {
  GatherArgs args = gather_args();
  args.scale = nullptr;
  args.report = nullptr;
  EXPECT_EQ(refusal("gather", args), "accepted");
  PointwiseArgs pointwise = pointwise_args();
  pointwise.y = nullptr;
  pointwise.bias = nullptr;
  EXPECT_EQ(refusal("pointwise bias_spread=none", pointwise), "accepted");
  EXPECT_TRUE(has(refusal("pointwise", pointwise), "bias is null"));
  EXPECT_TRUE(has(refusal("pointwise bias_spread=none op=add_mul_act", pointwise), "y is null"));
}

TEST(LaunchOperands, ABufferThatIsTooSmallIsRefusedWhereTheSizeIsGiven) {
  GatherArgs args = gather_args();
  args.out.bytes = 10 * 64 * 2;
  EXPECT_EQ(refusal("gather width=64 dtype=bf16", args), "accepted");
  args.out.bytes -= 1;
  EXPECT_EQ(refusal("gather width=64 dtype=bf16", args), "out has 1279 bytes; [outer, count, width] takes 1280");
  args.out.bytes = -3;
  EXPECT_TRUE(has(refusal("gather width=64 dtype=bf16", args), "out has -3 bytes"));
  args.out.bytes = 9 * 65 * 2 + 64 * 2;  // the last row has no gap after it
  EXPECT_EQ(refusal("gather width=64 dtype=bf16 out_stride=65", args), "accepted");
  args.out.bytes -= 1;
  EXPECT_TRUE(has(refusal("gather width=64 dtype=bf16 out_stride=65", args), "takes 1298"));
}

TEST(LaunchOperands, BroadcastsTakeWhatTheirSpreadSays) {
  const auto needed = [](const char* spread) {
    PointwiseArgs args = pointwise_args();
    args.bias.bytes = 0;
    return refusal(std::string("pointwise width=64 dtype=f32 bias_spread=") + spread, args);
  };
  EXPECT_TRUE(has(needed("full"), "takes 2560"));
  EXPECT_TRUE(has(needed("row"), "takes 256"));
  EXPECT_TRUE(has(needed("column"), "takes 40"));
  EXPECT_TRUE(has(needed("scalar"), "takes 4"));
  EXPECT_EQ(needed("none"), "accepted");
}

TEST(LaunchOperands, APointerOffItsElementTypeIsRefusedByName) {
  for (const int off : {1, 2, 3}) {
    GatherArgs args = gather_args();
    args.source = address(0x10000 + off);
    EXPECT_EQ(refusal("gather dtype=f32", args), "source is not aligned to its element type f32, 4 bytes");
    EXPECT_EQ(refusal("gather dtype=u8", args), "accepted");
    args = gather_args();
    args.index = address(0x20000 + 4 * off);
    EXPECT_EQ(refusal("gather dtype=u8", args),
              off == 2 ? "accepted" : "index is not aligned to its element type i64, 8 bytes");
  }
}

TEST(LaunchOperands, SizesThatNoMemoryHasAreRefused) {
  GatherArgs args = gather_args();
  args.count = kMaxExtent;
  EXPECT_TRUE(has(refusal("gather width=1073741824 dtype=f64", args), "an operand may have 2^46 elements"));
  EXPECT_TRUE(has(refusal("gather width=2", args), "an operand may have 2^46 elements"));
  EXPECT_TRUE(has(refusal("gather width=1", args), "more blocks than one launch can have"));
  PointwiseArgs pointwise = pointwise_args();
  pointwise.rows = kMaxExtent;
  EXPECT_TRUE(has(refusal("pointwise width=2147483648", pointwise), "would be larger than any memory"));
  EXPECT_TRUE(has(refusal("pointwise width=70368744177664", pointwise), "a row may have 2^31 elements"));
  EXPECT_TRUE(has(refusal("pointwise x_stride=70368744177664", pointwise), "x would be larger than any memory"));
}

TEST(LaunchEmpty, ZeroSizesAreLegalAndLaunchNothing) {
  const char* const texts[] = {"gather count=0", "gather width=0", "gather width=0 out_stride=8",
                               "gather rows=0 count=0 mode=zero", "gather width=1000 dtype=u8 count=0"};
  for (const char* text : texts) {
    GatherArgs args;  // null pointers everywhere
    args.count = has(text, "count=0") ? 0 : 10;
    if (args.count != 0) args.index = address(0x20000);
    const BarePlan plan(problem(text));
    PreparedLaunch prepared;
    prepare_launch(plan, &args, prepared);
    EXPECT_TRUE(prepared.launch.empty) << text;
  }
  for (const char* text : {"pointwise rows=0", "pointwise width=0 rows=10", "pointwise rows=0 width=0"}) {
    PointwiseArgs args;
    args.bias = address(0x30000);
    const BarePlan plan(problem(text));
    PreparedLaunch prepared;
    prepare_launch(plan, &args, prepared);
    EXPECT_TRUE(prepared.launch.empty) << text;
  }
}

std::string picked(const PlanState& plan, const void* args) {
  PreparedLaunch prepared;
  prepare_launch(plan, args, prepared);
  return prepared.variant->variant.name;
}

TEST(LaunchVariant, IsPickedByTheLowestBitOfAnyBulkAddress) {
  const BarePlan plan(problem("gather width=4096 dtype=bf16"));
  for (int off = 0; off < 34; off += 2) {
    GatherArgs args = gather_args();
    args.source = address(0x10000 + off);
    EXPECT_EQ(picked(plan, &args), off % 16 == 0 ? "vector" : "ragged") << off;
    args = gather_args();
    args.out = address(0x40000 + off);
    EXPECT_EQ(picked(plan, &args), off % 16 == 0 ? "vector" : "ragged") << off;
    args = gather_args();
    args.index = address(0x20000 + 8 * off);
    EXPECT_EQ(picked(plan, &args), "vector") << "indices are read one by one";
  }
}

TEST(LaunchVariant, CountsEachOperandThatPointwiseHas) {
  const BarePlan plan(problem("pointwise width=4096 dtype=f32 op=add_mul_act"));
  const BarePlan without_y(problem("pointwise width=4096 dtype=f32"));
  PointwiseArgs args = pointwise_args();
  EXPECT_EQ(picked(plan, &args), "rows");
  args.y = address(0x20004);
  EXPECT_EQ(picked(plan, &args), "ragged");
  EXPECT_EQ(picked(without_y, &args), "rows");
  args = pointwise_args();
  args.x = address(0x10008);
  args.out = address(0x10008);
  EXPECT_EQ(picked(plan, &args), "ragged");
}

TEST(LaunchVariant, TheLastOneTakesAnyElementAlignedAddress) {
  for (const Family* family : builtin_families()) {
    for (const char* text : family->bench_cases) {
      const BarePlan plan(problem(text));
      const auto alignment = [&](std::size_t i) {
        return largest_alignment(*family, test::step_of(problem(text)), plan.problem.data(),
                                 plan.variants[i].variant.config);
      };
      EXPECT_LE(alignment(plan.variants.size() - 1), 16u) << text;
      for (std::size_t i = 1; i < plan.variants.size(); ++i) EXPECT_LT(alignment(i), alignment(i - 1)) << text;
    }
  }
}

class Enqueue : public ::testing::Test {
 protected:
  void SetUp() override { test::reset_null_driver(); }
  struct DrivenPlan : BarePlan {
    DrivenPlan(const std::string& words, const std::shared_ptr<Driver>& by) : BarePlan(test::problem(words)) {
      driver = by;
      for (PlanState::Loaded& loaded : variants)
        loaded.library = std::make_shared<const Library>(by, "image", "kernel");
    }
  };
  const std::shared_ptr<Driver> driver_ = std::make_shared<Driver>(null_driver_table());
};

TEST_F(Enqueue, GivesTheDriverTheGeometryAndTheStream) {
  const DrivenPlan state("gather width=4096 dtype=bf16 count=100000", driver_);
  GatherArgs args = gather_args();
  args.count = kOpen;
  auto* const stream = static_cast<Stream>(address(0x77));
  EXPECT_TRUE(enqueue(state, stream, &args));
  PreparedLaunch prepared;
  prepare_launch(state, &args, prepared);
  const CUlaunchConfig& last = null_driver().last_launch;
  EXPECT_EQ(null_driver().launches, 1);
  EXPECT_EQ(last.gridDimX, prepared.launch.grid[0]);
  EXPECT_EQ(last.blockDimX, prepared.launch.block[0]);
  EXPECT_EQ(last.gridDimY * last.gridDimZ * last.blockDimY * last.blockDimZ, 1u);
  EXPECT_EQ(last.sharedMemBytes, 0u);
  EXPECT_EQ(last.numAttrs, 0u);
  EXPECT_EQ(last.hStream, stream);
}

TEST(ForDriver, AClusterIsAnAttributeAndABlockAloneIsNone) {
  Launch launch;
  launch.cluster = 8;
  DriverLaunch out;
  for_driver(launch, nullptr, out);
  ASSERT_EQ(out.config.numAttrs, 1u);
  EXPECT_EQ(out.config.attrs, out.attributes);
  EXPECT_EQ(out.attributes[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(out.attributes[0].value.clusterDim.x, 8u);
  EXPECT_EQ(out.attributes[0].value.clusterDim.y * out.attributes[0].value.clusterDim.z, 1u);
  launch.cluster = 1;
  for_driver(launch, nullptr, out);
  EXPECT_EQ(out.config.numAttrs, 0u);
}

TEST_F(Enqueue, ABetterPlanIsLaunchedAsSoonAsItIsThere) {
  const auto first = std::make_shared<const DrivenPlan>("gather width=4096 dtype=bf16 count=100000", driver_);
  const AnyPlan plan(first);
  GatherArgs args = gather_args();
  args.count = kOpen;
  plan.launch(nullptr, &args);
  const unsigned before = null_driver().last_launch.blockDimX;
  auto better = std::make_shared<DrivenPlan>("gather width=4096 dtype=bf16 count=100000", driver_);
  const Table<Parameter>& parameters = better->family->steps[0].parameters;
  for (int i = 0; i < parameters.count; ++i) {
    if (parameters[i].name != std::string_view("threads")) continue;
    for (PlanState::Loaded& loaded : better->variants) loaded.variant.config[i] = 64;
  }
  better->why = "tuned";
  first->better.set(better);
  plan.launch(nullptr, &args);
  EXPECT_NE(null_driver().last_launch.blockDimX, before);
  EXPECT_EQ(plan.why(), "tuned");
  EXPECT_EQ(null_driver().launches, 2);
}

TEST_F(Enqueue, AnEmptyProblemReachesNoDriver) {
  const GatherArgs args;
  EXPECT_FALSE(enqueue(DrivenPlan("gather count=0", driver_), nullptr, &args));
  EXPECT_EQ(null_driver().launches, 0);
}

TEST_F(Enqueue, ADriversRefusalIsTheError) {
  DriverTable table = null_driver_table();
  table.LaunchKernelEx = [](const CUlaunchConfig*, CUfunction, void**, void**) { return CUDA_ERROR_INVALID_VALUE; };
  DrivenPlan state("gather", driver_);
  state.driver = std::make_shared<Driver>(table);
  const GatherArgs args = gather_args();
  try {
    enqueue(state, nullptr, &args);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::driver);
    EXPECT_EQ(error.stage, Stage::launch);
    EXPECT_EQ(error.driver_code, CUDA_ERROR_INVALID_VALUE);
    EXPECT_TRUE(has(error.sentence, "cuLaunchKernelEx")) << error.sentence;
  }
}

// ---- more blocks than a launch can have

std::uint32_t asked_grid[3];

void launch_asked_grid(const void*, const void*, const DeviceModel&, const Config&, Launch& launch) {
  std::copy(std::begin(asked_grid), std::end(asked_grid), std::begin(launch.grid));
}

// No shipped family has a two-dimensional grid, but an application's may.
std::string refusal_of_grid(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  static const Step step = [] {
    Step own = Gather::family().steps[0];
    own.launch = launch_asked_grid;
    return own;
  }();
  BarePlan plan(problem("gather"));
  plan.steps[0].step = &step;
  const std::uint32_t grid[] = {x, y, z};
  std::copy(std::begin(grid), std::end(grid), std::begin(asked_grid));
  const GatherArgs args = gather_args();
  PreparedLaunch prepared;
  try {
    prepare_launch(plan, &args, prepared);
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    return error.sentence;
  }
  return "accepted";
}

TEST(LaunchGeometry, AsManyBlocksAsTheDriverTakesInEachDimension) {
  EXPECT_EQ(refusal_of_grid(0x7fffffff, 1, 1), "accepted");
  EXPECT_EQ(refusal_of_grid(1, 65535, 65535), "accepted");
  EXPECT_TRUE(has(refusal_of_grid(0x80000000, 1, 1), "more blocks than one launch can have"));
  EXPECT_TRUE(has(refusal_of_grid(1, 65536, 1), "more blocks than one launch can have"));
  EXPECT_TRUE(has(refusal_of_grid(1, 1, 65536), "more blocks than one launch can have"));
  EXPECT_TRUE(has(refusal_of_grid(0, 1, 1), "a launch without a block"));
  EXPECT_TRUE(has(refusal_of_grid(1, 1, 0), "a launch without a block"));
}

TEST(DriverLaunch, HasOneAttributeForEachThingThatIsAsked) {
  Launch launch;
  DriverLaunch out;
  for_driver(launch, nullptr, out);
  EXPECT_EQ(out.config.numAttrs, 0U);
  launch.cooperative = launch.programmatic = true;
  for_driver(launch, nullptr, out);
  ASSERT_EQ(out.config.numAttrs, 2U);
  EXPECT_EQ(out.attributes[0].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(out.attributes[0].value.cooperative, 1);
  EXPECT_EQ(out.attributes[1].id, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(out.attributes[1].value.programmaticStreamSerializationAllowed, 1);
  launch.cluster = 4;
  for_driver(launch, nullptr, out);
  EXPECT_EQ(out.config.numAttrs, 3U);
}

}  // namespace
}  // namespace quern
