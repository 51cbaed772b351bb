// The grid covers every slot exactly once, and the slots cover every row.
#include "common/geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>

#include "base/text.h"
#include "driver/device.h"
#include "gather/params.h"
#include "plan/config.h"
#include "pointwise/params.h"
#include "support/has.h"
#include "unit/plan/support.h"

namespace quern {
namespace {

using test::address;
using test::BarePlan;
using test::has;
using test::params_of;
using test::problem;
using test::step_of;
using test::variants_of;

constexpr std::uint64_t kGridLimit = 0x7fffffff;

struct Covered {
  Launch launch;
  Config config;
  common::Slots slots;
  std::uint64_t count;  // of slots; of gather's form by row, of rows
};

std::uint64_t count_of(const common::Slots& slots) {
  return std::uint64_t{slots.last_part} * slots.of_part + slots.of_last;
}

// The grid has exactly the number of parts, and of blocks of a part, that are needed.
void expect_exact(const Covered& c, int unroll, const std::string& what) {
  const std::uint64_t tile = std::uint64_t{c.launch.block[0]} * static_cast<std::uint64_t>(unroll);
  const std::uint64_t blocks = c.launch.grid[0], parts = c.launch.grid[1];
  const std::uint64_t of_part = parts == 1 ? c.count : c.slots.of_part;
  EXPECT_GE(blocks * tile, of_part) << what;
  EXPECT_LT(blocks * tile, of_part + tile) << what;
  EXPECT_LE(blocks, kGridLimit) << what;
  EXPECT_GE(parts * of_part, c.count) << what;
  EXPECT_LE((parts - 1) * of_part, c.count) << what;
  if (c.slots.threads != 0 && parts != 1) {
    EXPECT_EQ(c.slots.last_part, parts - 1) << what;
    EXPECT_EQ(c.slots.of_last, c.count - (parts - 1) * of_part) << what;
    EXPECT_EQ(c.slots.of_part, std::uint64_t{c.slots.rows_of_part} * std::max(1U, c.slots.per_row)) << what;
  }
  EXPECT_EQ(c.launch.grid[2] * c.launch.block[1] * c.launch.block[2], 1u) << what;
  EXPECT_EQ(c.launch.block[0] % 32, 0u) << what;
  EXPECT_LE(c.launch.block[0], static_cast<std::uint32_t>(common::kMaxThreads)) << what;
  EXPECT_LT(c.slots.per_row, 1u << 30) << what;
}

int index_of(const Family& family, std::string_view name) {
  for (int i = 0; i < family.steps[0].parameters.count; ++i) {
    if (name == family.steps[0].parameters[i].name) return i;
  }
  return -1;
}
int value_of(const AnyProblem& p, const Config& config, std::string_view name) {
  return config[index_of(p.family(), name)];
}

// The launch of the variant for addresses aligned to 256 bytes, or to the element only.
template <class Params, class Args>
Covered cover(const AnyProblem& p, Args args, std::uintptr_t off, const Target& target = {90, "a"}) {
  args.out = address(0x40000 + off);
  const BarePlan plan(p, target);
  PreparedLaunch prepared;
  prepare_launch(plan, &args, prepared);
  const Params params = params_of<Params>(prepared.launch);
  if constexpr (std::is_same_v<Params, pointwise::Params>) {
    // The block of a slot that is not whole comes after the others.
    if (params.tail_block != ~0u) {
      EXPECT_EQ(params.tail_block, --prepared.launch.grid[0]);
    }
  }
  const Config& config = prepared.variant->variant.config;
  if constexpr (std::is_same_v<Params, gather::Params>) {
    if (value_of(p, config, "row_threads") != 0) return {prepared.launch, config, params.slots, params.out_rows};
  }
  return {prepared.launch, config, params.slots, count_of(params.slots)};
}

GatherArgs gather_inputs() {
  GatherArgs args;
  args.source = address(0x10000);
  args.index = address(0x20000);
  return args;
}
PointwiseArgs pointwise_inputs() {
  PointwiseArgs args;
  args.x = address(0x10000);
  args.y = address(0x20000);
  args.bias = address(0x30000);
  return args;
}

// The largest number of 16-byte windows that a row can touch, by trying every start.
std::int64_t windows(std::int64_t row_bytes, std::int64_t element) {
  std::int64_t most = 0;
  for (std::int64_t lead = 0; lead < 16; lead += element) most = std::max(most, (lead + row_bytes + 15) / 16);
  return most;
}

TEST(GatherGeometry, SlotsCoverEachRow) {
  for (const char* dtype : {"u8", "bf16", "f32", "f64"}) {
    for (const int width : {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 64, 100, 1000, 4097}) {
      for (const int count : {1, 2, 129, 2049}) {
        const std::string text = cat("gather rows=9 count=", count, " width=", width, " dtype=", dtype);
        const AnyProblem p = problem(text);
        const std::int64_t size = bytes(test::as<Gather>(p).dtype);
        for (const std::uintptr_t off : {std::uintptr_t{0}, static_cast<std::uintptr_t>(size)}) {
          Covered c = cover<gather::Params>(p, gather_inputs(), off);
          const bool ragged = value_of(p, c.config, "form") == 1;
          const int lanes = value_of(p, c.config, "row_threads");
          if (lanes != 0) {  // slots are rows
            EXPECT_EQ(c.count, static_cast<std::uint64_t>(count)) << text;
            c.count *= static_cast<std::uint64_t>(lanes);
          }
          expect_exact(c, lanes != 0 ? 1 : value_of(p, c.config, "unroll"), text);
          const std::int64_t per_row =
              ragged ? windows(width * size, size) : width * size / value_of(p, c.config, "vector");
          if (ragged && c.slots.per_row == 0) {  // windows of out as a whole
            const auto lead = static_cast<std::int64_t>(off % 16);
            EXPECT_EQ(c.count, static_cast<std::uint64_t>((lead + count * width * size + 15) / 16)) << text;
            continue;
          }
          EXPECT_EQ(c.slots.per_row, per_row) << text;
          EXPECT_EQ(c.count, static_cast<std::uint64_t>(count * (lanes != 0 ? lanes : per_row))) << text;
        }
      }
    }
  }
}

TEST(GatherGeometry, PackedWindowsAreInPartsOfWholeRowsAsLongAsEachOther) {
  for (const int count : {1000000, 4194288, 4194289, 4194320, 9000001, 100000000}) {
    const std::string text = cat("gather rows=9 count=", count, " width=25 dtype=u8");
    const Covered c = cover<gather::Params>(problem(text), gather_inputs(), 3);
    ASSERT_EQ(c.slots.per_row, 0u) << text;
    const std::uint64_t parts = c.launch.grid[1], rows = c.slots.rows_of_part;
    EXPECT_EQ(parts, static_cast<std::uint64_t>(count + 16 + (1 << 22) - 1) >> 22) << text;
    EXPECT_EQ(rows % 16, 0u) << text;
    EXPECT_LE(rows, 1u << 22) << text;
    EXPECT_LT(parts * rows, static_cast<std::uint64_t>(count) + 16 + 16 * parts) << text;
    EXPECT_EQ(c.slots.of_part, rows / 16 * 25) << text;
    EXPECT_EQ(c.count, static_cast<std::uint64_t>((3 + std::int64_t{count} * 25 + 15) / 16)) << text;
    EXPECT_EQ(c.slots.of_last, c.count - (parts - 1) * c.slots.of_part) << text;
    EXPECT_GT(2 * std::uint64_t{c.slots.of_last} + 100, c.slots.of_part) << text << ": no idle blocks";
  }
}

TEST(GatherGeometry, StridesAreBytes) {
  const AnyProblem p = problem("gather rows=9 count=3 width=6 dtype=f32 source_stride=7 out_stride=10");
  GatherArgs args = gather_inputs();
  args.out = address(0x40000);
  PreparedLaunch prepared;
  const BarePlan plan(p);
  prepare_launch(plan, &args, prepared);
  const auto params = params_of<gather::Params>(prepared.launch);
  EXPECT_EQ(params.rows, 9);
  EXPECT_EQ(params.row_bytes, 24);
  EXPECT_EQ(params.source_stride, 28);
  EXPECT_EQ(params.out_stride, 40);
  EXPECT_EQ(params.source, address(0x10000));
  EXPECT_EQ(params.index, address(0x20000));
  EXPECT_EQ(params.out, address(0x40000));
}

TEST(GatherGeometry, MoreThanTwoToTheThirtyTwoSlotsAreCovered) {
  for (const char* text :
       {"gather rows=1 count=8589934593 width=16 dtype=u8", "gather rows=1 count=8589934593 width=64 dtype=u8",
        "gather rows=1 count=700000 width=65536 dtype=f32", "gather rows=1 count=9 width=17179868161 dtype=u8"}) {
    SCOPED_TRACE(text);
    const AnyProblem p = problem(text);
    const Covered c = cover<gather::Params>(p, gather_inputs(), 0);
    EXPECT_GT(c.count, std::uint64_t{1} << 32);
    expect_exact(c, value_of(p, c.config, "row_threads") != 0 ? 1 : value_of(p, c.config, "unroll"), text);
  }
}

// The launch of a config for a problem that is aligned to 256 bytes.
template <class Params, class Args>
std::pair<Launch, Params> launch_with(const AnyProblem& p, Args args, const std::string& changes,
                                      const DeviceModel& model) {
  args.out = address(0x40000);
  const Config config = parse_config(step_of(p), changes, variants_of(p).front().config, p.data(), {model.arch, "a"});
  Launch launch;
  step_of(p).launch(p.data(), &args, model, config, launch);
  return {launch, params_of<Params>(launch)};
}

constexpr DeviceModel kTenMultiprocessors{"made up", 90, 10, 2048, 0, 0};

TEST(PersistentGeometry, TheLimitIsOfAllParts) {
  for (const auto& [parts, blocks] : {std::pair{1U, 40U}, {3U, 13U}, {100U, 1U}}) {
    Launch launch;
    launch.grid[0] = 5000;
    launch.grid[1] = parts;
    common::limit_grid(4, kTenMultiprocessors, launch);
    EXPECT_EQ(launch.grid[0], blocks);
  }
}

TEST(PersistentGeometry, TheGridIsLimitedAndNeverWidened) {
  const auto blocks = [](const char* text, auto args, const std::string& changes) {
    return launch_with<gather::Params>(problem(text), args, changes, kTenMultiprocessors).first.grid[0];
  };
  const char* const gather = "gather count=100000 width=4096";
  const char* const pointwise = "pointwise rows=100000 width=4096";
  for (const int limit : {1, 2, 4, 8}) {
    const std::string changes = cat("persistent=1,threads=128,blocks_per_sm=", limit);
    EXPECT_EQ(blocks(gather, gather_inputs(), changes), 10u * static_cast<unsigned>(limit));
    EXPECT_EQ(blocks(pointwise, pointwise_inputs(), changes), 10u * static_cast<unsigned>(limit));
    EXPECT_EQ(blocks("gather count=1 width=16", gather_inputs(), changes), 1u);
  }
  EXPECT_EQ(blocks(gather, gather_inputs(), "persistent=1"), blocks(gather, gather_inputs(), ""));
  EXPECT_EQ(blocks(pointwise, pointwise_inputs(), "persistent=1"), blocks(pointwise, pointwise_inputs(), ""));
}

// Elements that a slot of this launch covers, from the spec.
std::int64_t slot_elements(const AnyProblem& p, const Config& config) {
  Spec spec;
  step_of(p).specialize(p.data(), {90, "a"}, config, spec);
  for (const Constant& constant : spec.constants()) {
    if (constant.name == "elements") return std::stoll(constant.value);
  }
  return 0;
}

// Whole groups of cycles, at most one more than the rows need.
void expect_cycles(const Covered& c, std::int64_t rows, std::int64_t width, std::int64_t a_thread,
                   std::int64_t elements, const std::string& text) {
  EXPECT_EQ(c.slots.per_row * elements % width, 0) << text << ": a cycle is whole rows";
  const std::int64_t cycle = c.slots.per_row * elements / width;
  EXPECT_LE(cycle, elements) << text;
  const auto covered = static_cast<std::int64_t>(c.count) * a_thread;
  EXPECT_GE(covered, rows * width) << text;
  EXPECT_LT(covered - rows * width, cycle * width * a_thread / elements) << text;
}

TEST(PointwiseGeometry, SlotsCoverEachElement) {
  for (const std::string rest :
       {"dtype=f32", "dtype=bf16", "dtype=bf16 bias_spread=none", "dtype=f32 out_dtype=bf16",
        "dtype=f32 op=add_mul_act y_dtype=bf16 y_stride=5000", "dtype=bf16 bias_spread=full"}) {
    for (const int width : {1, 2, 3, 5, 7, 8, 16, 17, 33, 100, 1000, 4097}) {
      for (const int rows : {1, 2, 129}) {
        const std::string text = cat("pointwise rows=", rows, " width=", width, " ", rest);
        const AnyProblem p = problem(text);
        for (const std::uintptr_t off : {0, 4}) {
          const Covered c = cover<pointwise::Params>(p, pointwise_inputs(), off);
          const bool cycles = value_of(p, c.config, "form") == 1 && !has(rest, "bias_spread=none");
          const int unroll = value_of(p, c.config, "unroll");
          expect_exact(c, cycles ? 1 : unroll, text);
          const std::int64_t elements = slot_elements(p, c.config);
          if (cycles) {
            expect_cycles(c, rows, width, elements * unroll, elements, text);
            continue;
          }
          const std::int64_t slots = static_cast<std::int64_t>(c.count);
          const bool ragged = value_of(p, c.config, "form") == 2;
          const bool one_row = value_of(p, c.config, "form") == 1 || (ragged && has(rest, "bias_spread=none"));
          const std::int64_t head = ragged ? elements - 1 : 0;
          const std::int64_t row = one_row ? std::int64_t{rows} * width : width;
          const bool flat = value_of(p, c.config, "form") == 1;  // a slot that is not whole has a block of its own
          const std::int64_t per_row = flat ? row / elements : (row + head + elements - 1) / elements;
          EXPECT_EQ(slots, one_row ? per_row : rows * per_row) << text;
        }
      }
    }
  }
}

TEST(PointwiseGeometry, MoreThanTwoToTheThirtyTwoSlotsAreCovered) {
  for (const char* text : {"pointwise rows=8589934593 width=8", "pointwise rows=8589934593 width=71",
                           "pointwise rows=8589934593 width=8 bias_spread=none"}) {
    SCOPED_TRACE(text);
    const AnyProblem p = problem(text);
    const Covered c = cover<pointwise::Params>(p, pointwise_inputs(), 0);
    EXPECT_GT(c.count, std::uint64_t{1} << 32);
    expect_exact(c, has(text, "71") ? 1 : value_of(p, c.config, "unroll"), text);
  }
}

// With a head and a tail, one row of all elements would have 2^30 + 1 slots.
TEST(PointwiseGeometry, ARowThatARaggedHeadMakesTooLongIsNotOne) {
  for (const char* text : {"pointwise rows=3 width=1431655765 dtype=f32 bias_spread=none",
                           "pointwise rows=7 width=1227133513 dtype=bf16 bias_spread=none"}) {
    const Covered c = cover<pointwise::Params>(problem(text), pointwise_inputs(), 4);
    EXPECT_LT(c.slots.per_row, 1U << 30) << text;
    EXPECT_GT(c.launch.grid[1], 1U) << text;
  }
}

TEST(PointwiseGeometry, CyclesHaveFewerThanTwoToTheThirtySlots) {
  const AnyProblem p = problem("pointwise rows=1 width=1500000000 dtype=f32 bias_spread=row");
  const Config first = variants_of(p).front().config;
  EXPECT_THROW(parse_config(step_of(p), "form=1,vector=4", first, p.data(), {90, "a"}), Error);
  EXPECT_NO_THROW(parse_config(step_of(p), "form=1,vector=8", first, p.data(), {90, "a"}));
}

TEST(PointwiseGeometry, APersistentKernelOfLessThanASlotHasABlock) {
  for (const char* persistent : {"persistent=0", "persistent=1"}) {
    const auto [launch, params] = launch_with<pointwise::Params>(
        problem("pointwise rows=1 width=3 dtype=f32 bias_spread=none"), pointwise_inputs(),
        std::string("form=1,vector=16,") + persistent, generic_model(90));
    EXPECT_FALSE(launch.empty);
    EXPECT_EQ(launch.grid[0], 1U);
    EXPECT_EQ(params.tail_block, 0U);
    EXPECT_EQ(count_of(params.slots), 0U);
  }
}

TEST(PointwiseGeometry, TheDefaultOfNoRowsIsLegal) {
  const AnyProblem p = problem("pointwise rows=0 width=2147483648 dtype=f32 bias_spread=row");
  EXPECT_EQ(violated(step_of(p), variants_of(p).front().config, p.data(), {90, "a"}), "");
}

TEST(Geometry, MorePartsThanAGridHasAreRefused) {
  common::Slots slots = common::make_slots(std::uint64_t{1} << 47, 1);
  Launch launch;
  common::launch_slots(slots, 1, 128, generic_model(90), launch);
  EXPECT_GT(launch.grid[1], 65535U);
}

TEST(Geometry, FewSlotsGetNarrowBlocksAndManyWideOnes) {
  const DeviceModel model = generic_model(90);
  const auto threads = [&](std::uint64_t slots) {
    Launch launch;
    common::launch_slots(slots, 1, 512, model, launch);
    return launch.block[0];
  };
  EXPECT_EQ(threads(1), 128u);
  EXPECT_EQ(threads(100'000'000), 512u);
  std::uint32_t before = 128;
  for (std::uint64_t slots = 1; slots <= 1024 * 1024; slots *= 2) {
    const std::uint32_t now = threads(slots);
    EXPECT_GE(now, before) << slots;
    before = now;
  }
}

TEST(Geometry, ABlockIsHalvedOnlyWhileMultiprocessorsWouldIdle) {
  const DeviceModel model{"made up", 90, 10, 2048, 0, 0};
  const auto width = [&](std::uint64_t slots, int threads = 512) {
    Launch launch;
    common::launch_slots(slots, 2, threads, model, launch);
    return launch.block[0];
  };
  EXPECT_EQ(width(20 * 1024), 512u);
  EXPECT_EQ(width(19 * 1024), 256u);
  EXPECT_EQ(width(19 * 512), 128u);
  EXPECT_EQ(width(1), 128u) << "a warp for each scheduler";
  EXPECT_EQ(width(1, 64), 64u) << "as the config says";
}

TEST(Geometry, CommonAlignmentIsThePowerOfTwoThatDividesAll) {
  EXPECT_EQ(common::common_alignment({16, 32, 64}, 16), 16);
  EXPECT_EQ(common::common_alignment({16, 24}, 32), 8);
  EXPECT_EQ(common::common_alignment({6, 4}, 16), 2);
  EXPECT_EQ(common::common_alignment({7}, 16), 1);
  EXPECT_EQ(common::common_alignment({0, 48}, 32), 16);
}

}  // namespace
}  // namespace quern
