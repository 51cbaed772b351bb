// chunk_sort: refusals, shapes, launches and test data.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/text.h"
#include "moe/movement.h"
#include "moe/movement_step.h"
#include "moe/params.cuh"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::refusal;
using test::span;
using Numbers = std::vector<std::int32_t>;
using Floats = std::vector<float>;

TEST(ChunkSortProblem, RefusesWhatItsTableCannotHold) {
  EXPECT_EQ(refusal("chunk_sort chunks=4096 rows=2147483647"), "");
  EXPECT_TRUE(has(refusal("chunk_sort chunks=0"), "chunks must be from 1 to 4096"));
  EXPECT_TRUE(has(refusal("chunk_sort chunks=4097"), "chunks must be from 1 to 4096"));
  EXPECT_TRUE(has(refusal("chunk_sort rows=2147483648"), "rows must be fewer than 2^31"));
  EXPECT_TRUE(has(refusal("chunk_sort rows=2147483647 hidden=4294967296"), "2^46"));
  EXPECT_TRUE(has(refusal("chunk_sort scaling=mx"), "scales of quantized rows"));
  EXPECT_EQ(refusal("chunk_sort scaling=mx dtype=e4m3 pass=backward"), "");
  EXPECT_TRUE(has(test::parse_error("chunk_sort dtype=f64"), "dtype"));
  EXPECT_TRUE(has(test::parse_error("chunk_sort index=i16"), "index"));
  EXPECT_TRUE(has(test::parse_error("chunk_sort probs=i32"), "probs"));
}

TEST(ChunkSortOperands, AreOfRowsAndOfChunks) {
  const std::string text = "chunk_sort rows=10 hidden=300 chunks=7 dtype=e4m3 scaling=block128 probs=f16 index=i64";
  for (const char* rows : {"source", "out"}) EXPECT_EQ(span(text, rows), 10 * 300);
  for (const char* chunks : {"sizes", "order"}) EXPECT_EQ(span(text, chunks), 7 * 8);
  for (const char* probs : {"probs", "out_probs"}) EXPECT_EQ(span(text, probs), 10 * 2);
  for (const char* scales : {"scales", "out_scales"}) EXPECT_EQ(span(text, scales), 10 * 3 * 4);
  for (const char* absent : {"probs", "out_probs", "scales", "out_scales"})
    EXPECT_EQ(span("chunk_sort rows=10", absent), 0);
}

// By hand: chunks of 2, 0, 3 and 1 rows in the order 3, 0, 2, 1, and two rows after the last.
TEST(ChunkSortReference, MovesChunksAndBack) {
  const Numbers sizes = {2, 0, 3, 1}, order = {3, 0, 2, 1};
  const Floats rows = {0, 1, 2, 3, 4, 5, 6, 7}, sorted = {5, 0, 1, 2, 3, 4, 6, 7};
  for (const auto& [pass, from, to] : {std::tuple("forward", rows, sorted), std::tuple("backward", sorted, rows)}) {
    const AnyProblem p = test::problem(cat("chunk_sort rows=8 hidden=1 chunks=4 dtype=f32 pass=", pass));
    Floats out(8);
    ChunkSortArgs args;
    args.source = from.data(), args.sizes = sizes.data(), args.order = order.data(), args.out = out.data();
    p.family().reference(p.data(), &args);
    EXPECT_EQ(out, to) << pass;
  }
}

// Test data: sizes that the rows hold, and a permutation; in benchmarks all rows are of chunks.
TEST(ChunkSortData, IsOfChunksThatFit) {
  moe::Movement m{};
  m.form = moe::Form::reorder;
  m.tokens = 100;
  m.topk = 1;
  m.rules = {1, 1, false, 0, false};
  m.index = i32;
  m.chunks = 13;
  bool left_rows = false, empty = false;
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    Numbers sizes(13), order(13), all(13);
    ASSERT_TRUE(moe::generate_movement(m, "sizes", seed * kSeedsOfProblem, sizes.data()));
    ASSERT_TRUE(moe::generate_movement(m, "order", seed * kSeedsOfProblem + 1, order.data()));
    const int rows = std::accumulate(sizes.begin(), sizes.end(), 0);
    EXPECT_LE(rows, 100);
    if (seed % 4 == 1) {
      EXPECT_EQ(rows, 100);
    }
    left_rows |= rows < 100;
    EXPECT_GE(*std::min_element(sizes.begin(), sizes.end()), 0);
    empty |= *std::min_element(sizes.begin(), sizes.end()) == 0;
    std::sort(order.begin(), order.end());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all);
  }
  EXPECT_TRUE(left_rows);
  EXPECT_TRUE(empty);
}

Launch default_launch(const AnyProblem& p) {
  const std::vector<std::byte> args(p.family().args_bytes);
  DeviceModel model = generic_model(90);
  model.multiprocessors = 132;
  Launch launch;
  test::step_of(p).launch(p.data(), args.data(), model, test::variants_of(p)[0].config, launch);
  return launch;
}

// Blocks have room for all parts, and none is without.
TEST(ChunkSortLaunch, HasBlocksOfConsecutivePartsAndATable) {
  const auto group_parts = [](const std::string& text) {
    const AnyProblem p = test::problem("chunk_sort " + text);
    const Launch launch = default_launch(p);
    const auto params = test::params_of<moe::Params>(launch);
    const std::uint64_t of_block = std::uint64_t{launch.block[0]} / 4 * params.group_parts;  // groups of four lanes
    EXPECT_EQ(launch.grid[0], (params.all_parts + of_block - 1) / of_block) << text;
    return params.group_parts;
  };
  EXPECT_EQ(group_parts("rows=1000000 hidden=7168 chunks=64"), 4U);
  EXPECT_EQ(group_parts("rows=1000000 hidden=7168 chunks=65"), 8U) << "a longer table";
  EXPECT_EQ(group_parts("rows=1000000 hidden=7168 chunks=4096"), 8U);
  EXPECT_EQ(group_parts("rows=2112 hidden=4096 chunks=32"), 4U) << "8 blocks a multiprocessor";
  EXPECT_EQ(group_parts("rows=2111 hidden=4096 chunks=32"), 3U);
  EXPECT_EQ(group_parts("rows=1 hidden=7168 chunks=32"), 1U);
}

// While the table of many is made, more of a row is on its way.
TEST(ChunkSortDefaults, HaveFourVectorsALaneWhereATableOfManyChunksIsHidden) {
  const auto unroll = [](const std::string& text) {
    return test::variants_of(test::problem("chunk_sort " + text))[0].config[moe::kUnroll];
  };
  EXPECT_EQ(unroll("rows=1206 hidden=2112 chunks=473"), 4);
  EXPECT_EQ(unroll("rows=1206 hidden=2112 chunks=64"), 2);
  EXPECT_EQ(unroll("rows=1206 hidden=2112 chunks=473 pass=backward"), 2);
  EXPECT_EQ(unroll("rows=32768 hidden=7168 chunks=2048"), 2) << "which takes longer than the table";
}

TEST(ChunkSortLaunch, HasRoomForItsTable) {
  const AnyProblem p = test::problem("chunk_sort rows=1000000 hidden=7168 chunks=64");
  EXPECT_EQ(default_launch(p).shared_bytes, 8 * (64 + 1 + 32));
  const AnyProblem few = test::problem("chunk_sort rows=8 hidden=7168 chunks=2048");
  EXPECT_EQ(default_launch(few).block[0], 512) << "4 chunks of the table a thread";
  const AnyProblem most = test::problem("chunk_sort rows=8 hidden=7168 chunks=4096");
  EXPECT_EQ(default_launch(most).block[0], 512) << "no kernel may have more threads";
  const AnyProblem none = test::problem("chunk_sort rows=0");
  EXPECT_TRUE(default_launch(none).empty);
}

}  // namespace
}  // namespace quern
