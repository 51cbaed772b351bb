// moe_permute and moe_unpermute: which config is the default of a shape.
#include <gtest/gtest.h>

#include <string>

#include "moe/movement_step.h"
#include "plan/config.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;

std::string config(const std::string& text) {
  const AnyProblem p = test::problem(text);
  return config_text(test::step_of(p), p.data(), test::variants_of(p)[0].config);
}

// A problem, and a part of its default config.
struct Case {
  const char* problem;
  const char* part;
  void check() const { EXPECT_TRUE(has(config(problem), part)) << problem << ": " << config(problem); }
};

// 4 vectors of each token's thread for many tokens; fewer where threads would be too few; whole rows.
TEST(MoeMovementDefault, FollowsTheShape) {
  const std::string bytes = "moe_permute dtype=e4m3 scaling=block128";
  EXPECT_TRUE(has(config("moe_permute tokens=4096 hidden=7168 topk=8"), "vector=16 unroll=2 lanes=4"))
      << "lines of 128 bytes";
  EXPECT_TRUE(has(config("moe_permute hidden=7168 topk=8"), "unroll=2 lanes=4"));
  EXPECT_TRUE(has(config(bytes + " tokens=4096 hidden=14336"), "vector=16 unroll=4 lanes=32"));
  EXPECT_TRUE(has(config(bytes + " hidden=14336"), "unroll=4"));
  EXPECT_TRUE(has(config(bytes + " tokens=16 hidden=14336"), "unroll=1"));
  EXPECT_TRUE(has(config(bytes + " tokens=4096 hidden=2560"), "unroll=2")) << "160 vectors";
  EXPECT_TRUE(has(config(bytes + " tokens=4096 hidden=128"), "lanes=8"));
  EXPECT_TRUE(has(config("moe_permute tokens=4096 hidden=63"), "ragged=1"));
  EXPECT_TRUE(has(config("moe_permute tokens=4096 hidden=31"), "vector=2")) << "shorter than a few windows";
  EXPECT_TRUE(has(config("moe_permute tokens=4096 hidden=1284"), "vector=8"));
  EXPECT_TRUE(has(config("moe_unpermute hidden=1283 topk=8"), "batch=4")) << "each in two accesses";
  EXPECT_TRUE(has(config("moe_unpermute tokens=4096 hidden=7168 topk=8"), "unroll=1 batch=8"));
  EXPECT_TRUE(has(config("moe_unpermute tokens=4096 hidden=7168 topk=2"), "unroll=2 batch=2"));
  EXPECT_TRUE(has(config("moe_unpermute tokens=4096 hidden=7168 topk=11 experts=2"), "unroll=2 batch=2"))
      << "a token has no more rows than there are experts";
  EXPECT_TRUE(has(config("moe_unpermute tokens=212 hidden=128 topk=8 experts=2 probs=f32"), "unroll=1 batch=8"))
      << "few tokens read the rows of all routes at once";
  EXPECT_TRUE(
      has(config("moe_permute tokens=4724 hidden=320 topk=8 pass=backward"), "vector=16 unroll=1 batch=8 lanes=8"))
      << "40 vectors: parts of 32 would leave 24 lanes without one";
  EXPECT_TRUE(
      has(config("moe_permute tokens=4724 hidden=320 topk=11 experts=9 pass=backward"), "vector=8 unroll=1 batch=16"))
      << "all routes in one turn";
  EXPECT_TRUE(
      has(config("moe_unpermute tokens=74 hidden=192 experts=235 topk=15 probs=f32"), "vector=4 unroll=1 batch=16"));
  EXPECT_TRUE(has(config("moe_unpermute tokens=2000 hidden=5376 experts=43 topk=10"), "vector=8 unroll=1 batch=16"));
  EXPECT_TRUE(has(config("moe_unpermute tokens=9000 hidden=2048 experts=128 topk=12"), "vector=16 unroll=1 batch=2"))
      << "more rows than L2 has room for";
  EXPECT_TRUE(has(config("moe_unpermute tokens=1500 hidden=7168 experts=64 topk=16"), "vector=16 unroll=1 batch=8"));
  EXPECT_TRUE(has(config("moe_unpermute tokens=1379 hidden=15488 experts=2 topk=6 probs=f32"), "batch=2"))
      << "few tokens, but long rows";
  const std::string padded = "moe_permute topk=1 align=128 ";
  EXPECT_TRUE(has(config(padded + "tokens=12 hidden=1088 experts=37"), "unroll=4 lanes=4 threads=128"));
  EXPECT_TRUE(has(config(padded + "tokens=22 hidden=192 experts=444"), "unroll=1 lanes=8 threads=128"));
  EXPECT_TRUE(
      has(config("moe_permute tokens=3 hidden=11904 experts=17 topk=7 align=16"), "unroll=4 lanes=8 threads=64"))
      << "seven rows of a token";
}

// Groups that move rows as they are: a line for many bytes; one vector a thread for many rows of little; four for few
// and long ones; with padding as much as clears it at once.
TEST(MoeMovementDefault, GroupsFollowWhatIsWritten) {
  constexpr Case kCases[] = {
      {"moe_permute tokens=16384 experts=4 hidden=7168 topk=1 align=16", "unroll=2 lanes=4 threads=128"},
      {"moe_permute tokens=1676 experts=18 hidden=576 topk=4 align=16", "unroll=2 lanes=4 threads=128"},
      {"moe_permute tokens=885 experts=9 hidden=320 topk=14 align=16", "unroll=1 lanes=4 threads=128"},
      {"moe_permute tokens=574 experts=13 hidden=2688 topk=9 align=16", "unroll=1 lanes=4 threads=128"},
      {"moe_permute tokens=4096 experts=13 hidden=2688 topk=9 align=16", "unroll=2 lanes=4 threads=128"},
      {"moe_permute tokens=135 experts=18 hidden=128 topk=3", "unroll=1 lanes=4 threads=64"},
      {"moe_permute tokens=57 experts=23 hidden=2048 topk=7 align=16", "unroll=1 lanes=4 threads=128"},
      {"moe_permute tokens=57 experts=23 hidden=2048 topk=4 align=16", "unroll=2 lanes=4 threads=128"},
      {"moe_permute tokens=570 experts=23 hidden=2048 topk=7 align=16", "unroll=2 lanes=4 threads=128"},
      {"moe_permute tokens=4096 experts=8 hidden=1280 topk=2 align=16", "unroll=4 lanes=8 threads=128"},
      {"moe_permute tokens=4096 experts=8 hidden=1280 topk=3 align=16", "unroll=2 lanes=4 threads=128"},
      {"moe_permute tokens=16384 experts=8 hidden=1280 topk=2 align=16", "unroll=2 lanes=4 threads=128"},
      {"moe_unpermute pass=backward tokens=744 experts=91 hidden=704 topk=4 align=128", "unroll=4 lanes=4 threads=128"},
      {"moe_unpermute pass=backward tokens=532 experts=21 hidden=12864 topk=2 align=128",
       "unroll=2 lanes=4 threads=128"},
      {"moe_permute tokens=44 experts=107 hidden=14720 topk=3 align=128", "unroll=4 lanes=8 threads=256"},
      {"moe_permute tokens=357 experts=27 hidden=576 topk=1 align=128", "unroll=4 lanes=4 threads=128"},
      {"moe_permute tokens=700 experts=37 hidden=1088 topk=1 align=128", "unroll=4 lanes=4 threads=128"},
      {"moe_permute tokens=25 experts=22 hidden=320 topk=13 align=128", "unroll=1 lanes=8 threads=128"},
      {"moe_permute tokens=48 experts=185 hidden=128 topk=8 align=16", "unroll=1 lanes=8 threads=128"},
      {"moe_permute tokens=8 experts=184 hidden=64 topk=16 align=128", "unroll=2 lanes=4 threads=128"},
      {"moe_permute tokens=12 experts=400 hidden=16384 topk=1 align=128", "unroll=4 lanes=8 threads=64"},
      {"moe_permute tokens=12 experts=400 hidden=16384 topk=3 align=128", "unroll=4 lanes=8 threads=64"},
  };
  for (const Case& c : kCases) c.check();
}

// Of few bytes from several rows accesses of 4 bytes; of a token without rows for all of its routes no empty turns.
TEST(MoeMovementDefault, SumsOfLittleHaveNarrowAccesses) {
  constexpr Case kCases[] = {
      {"moe_unpermute tokens=7 experts=226 hidden=576 topk=8 probs=f32", "vector=4 unroll=1 batch=8"},
      {"moe_unpermute tokens=78 experts=98 hidden=128 topk=11", "vector=4 unroll=1 batch=16"},
      {"moe_unpermute tokens=74 experts=235 hidden=192 topk=15", "vector=4 unroll=1 batch=16 lanes=32"},
      {"moe_unpermute tokens=45 experts=78 hidden=1984 topk=15", "vector=4 unroll=2 batch=16 lanes=8"},
      {"moe_permute pass=backward tokens=45 experts=150 hidden=5376 topk=16", "vector=4 unroll=2 batch=16 lanes=8"},
      {"moe_permute pass=backward tokens=100 experts=64 hidden=4096 topk=8", "vector=16 unroll=1 batch=8"},
      {"moe_permute pass=backward tokens=60 experts=150 hidden=5376 topk=16", "vector=8 unroll=1 batch=16"},
      {"moe_unpermute tokens=151 experts=67 hidden=64 topk=4", "vector=8 unroll=1 batch=4"},
      {"moe_unpermute tokens=40 experts=182 hidden=3136 topk=14", "vector=4 unroll=2 batch=16"},
      {"moe_permute pass=backward tokens=158 experts=2 hidden=7552 topk=10", "vector=16 unroll=2 batch=2"},
      {"moe_permute pass=backward tokens=212 experts=2 hidden=128 topk=8", "vector=4 unroll=1 batch=8"},
  };
  for (const Case& c : kCases) c.check();
}

// Sums of up to 8 MiB look all rows up first. Evict-first are both accesses of short rows, of gradients only of little.
TEST(MoeMovementDefault, FollowsTheBytesOfASum) {
  constexpr Case kCases[] = {
      {"moe_unpermute tokens=45 experts=150 hidden=5376 topk=16", "lookups_first=1"},
      {"moe_unpermute tokens=4724 experts=9 hidden=320 topk=11", "lookups_first=0"},
      {"moe_unpermute hidden=320 topk=11", "lookups_first=0"},
      {"moe_unpermute tokens=2324 experts=3 hidden=64 topk=1", "load_once=1 store_stream=1"},
      {"moe_permute pass=backward tokens=60000 experts=64 hidden=64 topk=8", "load_once=1 store_stream=1"},
      {"moe_unpermute tokens=20000 experts=16 hidden=3000 topk=4", "load_once=0 store_stream=1"},
      {"moe_unpermute pass=backward probs=f32 tokens=4206 experts=3 hidden=64 topk=6", "load_once=1 store_stream=1"},
      {"moe_unpermute pass=backward probs=f32 tokens=40000 experts=8 hidden=192 topk=2", "load_once=0 store_stream=0"},
      {"moe_unpermute pass=backward probs=f32 tokens=512 experts=8 hidden=4096 topk=2", "load_once=0 store_stream=0"},
  };
  for (const Case& c : kCases) c.check();
  EXPECT_FALSE(has(config("moe_unpermute tokens=45 experts=150 hidden=5376 topk=4"), "lookups_first"));
}

// Quantized rows: with much padding groups are shaped for it.
TEST(MoeMovementDefault, QuantizedRowsHaveSmallGroupsForMuchPadding) {
  const std::string quantized = "moe_permute scaling=mx element=e4m3 ";
  const auto part = [&](const std::string& text) { return config(quantized + text); };
  EXPECT_TRUE(has(part("tokens=300 hidden=2048 experts=64 topk=4 align=128"), "unroll=4 lanes=4"));
  EXPECT_TRUE(has(part("tokens=29 hidden=448 experts=455 topk=2 align=16"), "unroll=1 lanes=32"));
  EXPECT_TRUE(has(part("tokens=3000 hidden=2048 experts=64 topk=4 align=128"), "lanes=32"));
  EXPECT_TRUE(
      has(config("moe_permute scaling=block128 element=e4m3 tokens=300 hidden=2048 experts=64 topk=4 align=128"),
          "unroll=4 lanes=4"));
}

// Of few chunks fewer lanes; of few rows two chunks a lane, of more or long ones four.
TEST(MoeMovementDefault, SegmentsFollowTheRow) {
  const auto other = [](const std::string& text, const std::string& part) {
    const std::string of_text = config("moe_unpermute probs=f32 pass=backward experts=50 " + text);
    return has(of_text, part) ? "" : of_text;
  };
  EXPECT_EQ(other("tokens=9 hidden=32 topk=1", "unroll=1 batch=1 lanes=4 warps=1"), "");
  EXPECT_EQ(other("tokens=600 hidden=64 topk=4", "unroll=1 batch=1 lanes=8 warps=1"), "") << "a team for each route";
  EXPECT_EQ(other("tokens=1147 hidden=256 topk=3", "unroll=1 batch=1 lanes=32 warps=1"), "") << "a warp";
  EXPECT_EQ(other("tokens=1147 hidden=256 topk=5", "unroll=4 batch=2 lanes=8 warps=1"), "");
  EXPECT_EQ(other("tokens=9000 hidden=128 topk=6", "unroll=2 batch=2 lanes=8 warps=1"), "");
  EXPECT_EQ(other("tokens=1876 hidden=192 topk=10", "unroll=4 batch=2 lanes=8 warps=1"), "");
  EXPECT_EQ(other("hidden=192 topk=10", "unroll=4 batch=2 lanes=8 warps=1"), "") << "any number of tokens";
  EXPECT_EQ(other("tokens=897 hidden=576 topk=5", "unroll=2 batch=1 lanes=32 warps=2"), "")
      << "two teams with three and two routes, not four and one";
  EXPECT_EQ(other("tokens=897 hidden=576 topk=8", "unroll=2 batch=2 lanes=32 warps=2"), "");
  EXPECT_EQ(other("tokens=257 hidden=512 topk=8", "unroll=2 batch=1 lanes=32 warps=1"), "");
  EXPECT_EQ(other("tokens=42 hidden=1536 topk=7", "unroll=2 batch=1 lanes=32 warps=4"), "") << "a team for each route";
  EXPECT_EQ(other("tokens=42 hidden=1536 topk=7 prob_layout=experts", "unroll=2 batch=2 lanes=32 warps=4"), "")
      << "one team alone";
  EXPECT_EQ(other("tokens=513 hidden=3776 topk=8", "unroll=2 batch=2 lanes=32 warps=8"), "");
  EXPECT_EQ(other("tokens=660 hidden=2880 topk=16", "unroll=4 batch=1 lanes=32 warps=4"), "") << "all at once";
  EXPECT_EQ(other("tokens=656 hidden=6656 topk=1", "unroll=4 batch=1 lanes=32 warps=8"), "")
      << "too long for eight warps";
  EXPECT_EQ(other("tokens=8192 hidden=1536 topk=8", "unroll=4 batch=1 lanes=32 warps=2"), "") << "many rows";
  EXPECT_EQ(other("tokens=16384 hidden=4096 topk=8", "unroll=4 batch=1 lanes=32 warps=4"), "");
  EXPECT_EQ(other("hidden=4096 topk=8", "unroll=4 batch=1 lanes=32 warps=4"), "");
}

}  // namespace
}  // namespace quern
