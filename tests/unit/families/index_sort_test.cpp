// index_sort: refusals, operands, launches and the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "index_sort/params.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::refusal;
using test::span;
using Numbers = std::vector<std::int32_t>;

TEST(IndexSortProblem, RefusesWhatDoesNotFit32Bits) {
  EXPECT_EQ(refusal("index_sort rows=2147483647 count=2147483647"), "");
  EXPECT_EQ(refusal("index_sort"), "") << "open extents";
  EXPECT_TRUE(has(refusal("index_sort rows=2147483648"), "sorted has i32"));
  EXPECT_TRUE(has(refusal("index_sort count=2147483648"), "order has i32"));
  EXPECT_TRUE(has(test::parse_error("index_sort index=i16"), "index"));
}

TEST(IndexSortOperands, FollowFromTheCount) {
  const std::string text = "index_sort rows=9 count=10 index=i32";
  for (const char* list : {"index", "order", "sorted"}) EXPECT_EQ(span(text, list), 40);
  EXPECT_EQ(span(text, "workspace"), 4 * (4 * 256 * 256 + 40 + 3));
}

// Invalid indices are last, in their order.
TEST(IndexSortReference, IsAStableSort) {
  const AnyProblem p = test::problem("index_sort rows=5 count=8 index=i32");
  const Numbers index = {4, -1, 0, 4, 5, 2, 0, -7};
  Numbers order(8), sorted(8);
  IndexSortArgs args;
  args.index = index.data(), args.order = order.data(), args.sorted = sorted.data();
  p.family().reference(p.data(), &args);
  EXPECT_EQ(order, (Numbers{2, 6, 5, 0, 3, 1, 4, 7}));
  EXPECT_EQ(sorted, (Numbers{0, 0, 2, 4, 4, 5, 5, 5}));
}

struct Launched {
  Launch launch;
  index_sort::Params params;
};
// `bits`: 0: the default's.
Launched launched(const std::string& text, std::int32_t blocks = 0, std::int32_t bits = 0, void* workspace = nullptr) {
  const AnyProblem p = test::problem(text);
  IndexSortArgs args;
  args.workspace = workspace;
  DeviceModel model = generic_model(90);
  model.multiprocessors = workspace == nullptr ? 132 : 300;
  Config config = test::variants_of(p).front().config;
  config[0] = blocks;
  if (bits != 0) config[3] = bits;
  Launched all{};
  test::step_of(p).launch(p.data(), &args, model, config, all.launch);
  std::memcpy(&all.params, all.launch.params, sizeof(all.params));
  return all;
}

TEST(IndexSortLaunch, ShortListsHaveNarrowBlocks) {
  EXPECT_TRUE(launched("index_sort rows=5 count=0").launch.empty);
  const Launched one = launched("index_sort rows=5 count=256");
  EXPECT_EQ(one.launch.grid[0], 1);
  EXPECT_FALSE(one.launch.cooperative);
  const Launched few = launched("index_sort rows=5 count=4096");
  EXPECT_EQ(few.launch.grid[0], 16);
  EXPECT_EQ(few.launch.block[0], 256);
  EXPECT_TRUE(few.launch.cooperative);
  const Launched several = launched("index_sort rows=5 count=4097");
  EXPECT_EQ(several.launch.grid[0], 5);
  EXPECT_EQ(several.launch.block[0], 512);
  EXPECT_TRUE(several.launch.cooperative);
  EXPECT_EQ(launched("index_sort rows=5 count=100000000").launch.grid[0], 132);
  EXPECT_EQ(launched("index_sort rows=5 count=40", 8).launch.grid[0], 2) << "no block is empty";
}

TEST(IndexSortLaunch, AnOpenCountHasAnImageForFewAndOneForMany) {
  const auto variants = test::variants_of(test::problem("index_sort rows=5"));
  ASSERT_EQ(variants.size(), 2U);
  const AnyProblem few = test::problem("index_sort rows=5 count=4096"),
                   many = test::problem("index_sort rows=5 count=4097");
  EXPECT_TRUE(variants[0].fits(few.data()));
  EXPECT_FALSE(variants[0].fits(many.data()));
  EXPECT_EQ(variants[1].fits, nullptr);
}

// Behind the entries of each pass, for each size of digits and the most blocks.
TEST(IndexSortLaunch, TheBuffersBeginBehindTheTable) {
  for (const int bits : {4, 5, 6, 7, 8}) {
    alignas(256) static unsigned workspace[1] = {};
    const Launched all = launched("index_sort rows=2147483647 count=1048576", 0, bits, workspace);
    EXPECT_EQ(all.launch.grid[0], 256);
    EXPECT_EQ(all.params.table, workspace);
    const auto* const first = reinterpret_cast<const unsigned*>(all.params.spare[0].pairs);
    const auto* const second = reinterpret_cast<const unsigned*>(all.params.spare[1].pairs);
    EXPECT_LE(std::int64_t{all.params.passes} * 256 << bits, first - all.params.table) << bits;
    EXPECT_EQ(second - first, 2097152);
    EXPECT_EQ(all.params.ended - second, 2097152);
  }
}

// Keys are indices and `rows`.
TEST(IndexSortLaunch, PassesFollowFromTheRows) {
  for (const auto& [rows, passes] :
       {std::pair<std::int64_t, unsigned>{1, 1}, {255, 1}, {256, 2}, {65535, 2}, {65536, 3}, {2147483647, 4}})
    EXPECT_EQ(launched(cat("index_sort count=1 rows=", rows)).params.passes, passes) << rows;
}

}  // namespace
}  // namespace quern
