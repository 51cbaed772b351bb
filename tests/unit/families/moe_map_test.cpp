// moe_map's refusals and shapes, and the rows of a small routing, worked out by hand.
#include "moe_map/moe_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "common/geometry.h"
#include "moe/routing.h"
#include "moe_map/geometry.h"
#include "moe_map/params.h"
#include "moe_map/rules.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::span;
using Numbers = std::vector<std::int32_t>;

std::string moe_map_refusal(const std::string& fields) { return test::refusal("moe_map " + fields); }

TEST(MoeMapProblem, TakesEachMapInItsTypes) {
  for (const char* fields : {"index=i32", "index=i64", "map=mask", "map=mask index=u8", "map=mask index=i32",
                             "map=bits", "map=bits index=u8", "global=64", "experts=1024 topk=1024 map=mask",
                             "map=counts topk=1", "map=counts topk=1 index=i64 ranks=512"})
    EXPECT_EQ(moe_map_refusal(fields), "") << fields;
  for (const char* fields : {"index=u8", "map=mask index=i64", "map=bits index=i32", "map=counts topk=1 index=u8"})
    EXPECT_TRUE(has(moe_map_refusal(fields), "ids and counts have i32 or i64, mask has u8 or i32, bits has u8"))
        << fields;
}

TEST(MoeMapProblem, RefusesWhatNoRoutingCanBe) {
  EXPECT_TRUE(has(moe_map_refusal("experts=0"), "from 1 to 1024"));
  EXPECT_TRUE(has(moe_map_refusal("experts=1025"), "from 1 to 1024"));
  EXPECT_TRUE(has(moe_map_refusal("topk=0"), "give 1 or more"));
  EXPECT_TRUE(has(moe_map_refusal("map=mask topk=9"), "more than experts: a mask"));
  EXPECT_EQ(moe_map_refusal("topk=9"), "") << "ids may repeat";
  EXPECT_TRUE(has(moe_map_refusal("map=bits global=8"), "map=ids"));
  EXPECT_TRUE(has(moe_map_refusal("global=7"), "less than experts; it counts"));
  EXPECT_TRUE(has(moe_map_refusal("row_id_map=write"), "needs map=mask or bits"));
  EXPECT_TRUE(has(moe_map_refusal("map=counts topk=1 row_id_map=write"), "needs map=mask or bits"));
  EXPECT_TRUE(has(moe_map_refusal("map=counts topk=1 global=8"), "map=ids"));
  EXPECT_TRUE(has(moe_map_refusal("map=counts"), "give topk=1"));
  EXPECT_TRUE(has(moe_map_refusal("ranks=2"), "give map=counts"));
  EXPECT_TRUE(has(moe_map_refusal("map=counts topk=1 ranks=0"), "at most 4096"));
  EXPECT_TRUE(has(moe_map_refusal("map=counts topk=1 ranks=513"), "at most 4096"));
  EXPECT_TRUE(has(test::parse_error("moe_map align=0"), "align"));
  EXPECT_TRUE(has(test::parse_error("moe_map align=-16"), "align"));
}

TEST(MoeMapProblem, RefusesMoreRowsThanAnInt32Numbers) {
  EXPECT_TRUE(has(moe_map_refusal("capacity=2147483648"), "2^31"));
  EXPECT_TRUE(has(moe_map_refusal("tokens=1073741824 topk=2"), "2^31"));
  EXPECT_TRUE(has(moe_map_refusal("tokens=4 experts=8 align=1073741824"), "2^31"));
  EXPECT_TRUE(has(moe_map_refusal("tokens=70368744177664 topk=70368744177664"), "2^31"));
  EXPECT_EQ(moe_map_refusal("tokens=1073741823 topk=2"), "");
  EXPECT_TRUE(has(moe_map_refusal("tokens=0 topk=4294967296"), "topk and global")) << "the kernel takes 32 bits of it";
  EXPECT_TRUE(has(moe_map_refusal("global=4294967296"), "topk and global"));
}

TEST(MoeMapOperands, FollowFromTheMapAndTheCapacity) {
  const std::string ids = "moe_map tokens=100 experts=10 topk=3 ";
  EXPECT_EQ(span(ids, "map"), 100 * 3 * 4);
  EXPECT_EQ(span(ids + "map=mask", "map"), 100 * 10);
  EXPECT_EQ(span(ids + "map=bits", "map"), 100 * 2);
  EXPECT_EQ(span(ids, "token_experts"), 0);
  EXPECT_EQ(span(ids + "map=bits", "token_experts"), 100 * 3 * 4);
  EXPECT_EQ(span(ids, "row_tokens"), 300 * 4);
  EXPECT_EQ(span(ids, "pads"), 0);
  EXPECT_EQ(span(ids + "tail=list", "pads"), 300 * 4);
  EXPECT_EQ(span(ids + "align=16", "row_tokens"), (300 + 10 * 15) / 16 * 16 * 4);
  EXPECT_EQ(span(ids + "capacity=77", "row_tokens"), 77 * 4);
  EXPECT_EQ(span(ids + "offset=i64", "offsets"), 11 * 8);
  EXPECT_EQ(span(ids + "map=mask row_id_map=write", "row_id_map"), 100 * 21 * 4);
  EXPECT_EQ(span(ids + "global=40", "expert_map"), 40 * 4);
  EXPECT_EQ(span(ids, "sizes"), 0);
  const std::string counts = "moe_map tokens=100 experts=10 topk=1 map=counts ranks=3 ";
  EXPECT_EQ(span(counts, "map"), 3 * 10 * 4);
  EXPECT_EQ(span(counts + "index=i64", "map"), 3 * 10 * 8);
  EXPECT_EQ(span(counts + "offset=i64", "sizes"), 10 * 8);
  EXPECT_EQ(span(counts, "token_rows"), 100 * 4);
  EXPECT_EQ(span(counts, "token_experts"), 0);
  EXPECT_EQ(span(counts, "workspace"), 0);
}

// Regression: 1024 experts took 139 KB, more than GPUs of sm_86, sm_89 and sm_120 have.
TEST(MoeMapLaunch, SharedMemoryFitsEveryArchitecture) {
  for (const char* map : {"map=ids", "map=mask"}) {
    for (const int experts : {1, 8, 33, 128, 256, 500, 512, 513, 1000, 1024}) {
      const AnyProblem p = test::problem(cat("moe_map tokens=100 topk=1 experts=", experts, " ", map));
      for (const int threads : {128, 256, 512, 1024}) {
        if (threads < experts) continue;
        Config config = test::variants_of(p)[0].config;
        config[1] = threads;
        config[2] = 8;
        Launch launch;
        const MoeMapArgs args;
        test::step_of(p).launch(p.data(), &args, generic_model(89), config, launch);
        EXPECT_LE(launch.shared_bytes, common::resident_shared_bytes({89, ""})) << p.text() << " " << threads;
      }
    }
  }
}

TEST(MoeMapLaunch, SharedMemoryHoldsTheTableOfAllCounts) {
  for (const int experts : {1, 33, 1024}) {
    const int ranks = 4096 / experts;
    const AnyProblem p = test::problem(cat("moe_map tokens=100 topk=1 map=counts experts=", experts, " ranks=", ranks));
    Launch launch;
    const MoeMapArgs args;
    test::step_of(p).launch(p.data(), &args, generic_model(89), test::variants_of(p)[0].config, launch);
    EXPECT_GE(launch.shared_bytes, 4U * static_cast<std::uint32_t>(2 * experts * ranks + 1));
    EXPECT_LE(launch.shared_bytes, 48U << 10);
    EXPECT_FALSE(launch.cooperative) << "no block waits";
  }
}

// Each warp has some hundred tokens, and more where the blocks would be more than may be.
TEST(MoeMapLaunch, WarpsOfTheGridHaveAllTokensOfCounts) {
  for (const int tokens : {0, 1, 256, 257, 2048, 2049, 65536, 10000000}) {
    const AnyProblem p = test::problem(cat("moe_map topk=1 map=counts ranks=9 tokens=", tokens));
    Launch launch;
    const MoeMapArgs args;
    test::step_of(p).launch(p.data(), &args, generic_model(90), test::variants_of(p)[0].config, launch);
    const std::int64_t of_warp = test::params_of<moe_map::Params>(launch).warp_tokens;
    EXPECT_GE(std::int64_t{launch.grid[0]} * (launch.block[0] / 32) * of_warp, tokens);
    EXPECT_LE(launch.grid[0], 128U);
    EXPECT_GE(of_warp, 256);
    EXPECT_TRUE(of_warp == 256 || launch.grid[0] == 128) << tokens;
  }
}

// Each block waits for all others.
TEST(MoeMapLaunch, HasNoMoreBlocksThanMultiprocessors) {
  const AnyProblem p = test::problem("moe_map tokens=100000");
  const MoeMapArgs args;
  DeviceModel model = generic_model(90);
  Config config = test::variants_of(p)[0].config;
  config[2] = 4;
  for (const int multiprocessors : {1, 7, 132}) {
    model.multiprocessors = multiprocessors;
    Launch launch;
    test::step_of(p).launch(p.data(), &args, model, config, launch);
    EXPECT_EQ(launch.grid[0], static_cast<std::uint32_t>(std::min(multiprocessors, 98)));
    EXPECT_TRUE(launch.cooperative);
  }
}

// Each config of a closed problem that has enough threads.
template <class Body>
void for_configs(const AnyProblem& p, const Body& body) {
  Config config = test::variants_of(p)[0].config;
  for (const int blocks : {1, 8, 16, 32, 64, 128}) {
    for (const int threads : {128, 256, 512, 1024}) {
      for (const int routes : {1, 2, 4, 8}) {
        config[0] = blocks, config[1] = threads, config[2] = routes;
        if (const auto* map = static_cast<const MoeMap*>(p.data()); threads >= map->experts) body(config);
      }
    }
  }
}

TEST(MoeMapWorkspace, HoldsTheTableOfALaunchInEachConfig) {
  const MoeMapArgs args;
  for (const char* shape : {"tokens=0 experts=8 topk=2", "tokens=1 experts=1 topk=1", "tokens=200 experts=128 topk=100",
                            "tokens=1000 experts=33 topk=3", "tokens=500 experts=1024 topk=33",
                            "tokens=4096 experts=600 topk=8", "tokens=65536 experts=8 topk=1"}) {
    for (const char* map : {"map=ids", "map=mask", "map=bits"}) {
      if (has(shape, "experts=1 ") && !has(map, "ids")) continue;
      const AnyProblem p = test::problem(cat("moe_map ", shape, " ", map));
      const std::int64_t words = span(p.text(), "workspace") / 4;
      for_configs(p, [&](const Config& config) {
        Launch launch;
        test::step_of(p).launch(p.data(), &args, generic_model(90), config, launch);
        const auto& params = test::params_of<moe_map::Params>(launch);
        const std::int64_t stride = common::divide_up(params.experts, 32) * 32;
        EXPECT_LE(std::int64_t{launch.grid[0]} * (stride + 1) + 1, words) << p.text() << " " << config[0];
        EXPECT_GE(std::int64_t{launch.grid[0]} * params.block_tokens, params.tokens) << p.text();
      });
    }
  }
}

// Fields are inferred from tensors before they are checked.
TEST(MoeMapWorkspace, HasALayoutForProblemsThatAreRefused) {
  for (const char* fields : {"topk=0 experts=8", "topk=2 experts=0", "topk=2 experts=70368744177664",
                             "topk=70368744177664 experts=8", "topk=0 experts=0 map=mask"})
    EXPECT_GT(moe_map::table_words(
                  *static_cast<const MoeMap*>(test::problem(cat("moe_map tokens=70368744177664 ", fields)).data())),
              0)
        << fields;
}

// Some sizes up to the most, and this one.
std::int64_t next(std::int64_t size, std::int64_t most) {
  return size == most ? most + 1 : std::min(most, size + std::max<std::int64_t>(1, size / 6));
}

// Regression: 128 tokens of one route and 512 experts took 262,660 bytes.
TEST(MoeMapWorkspace, HasAtMost16BytesARouteAnd64KB) {
  EXPECT_LE(span("moe_map tokens=128 experts=512 topk=1", "workspace"), 67584);
  EXPECT_LE(span("moe_map tokens=128 experts=1024 topk=33 map=mask", "workspace"), 16 * 128 * 33 + (64 << 10))
      << "a block has one token in registers";
  MoeMap p;
  for (p.tokens = 1; p.tokens <= 65536; p.tokens = next(p.tokens, 65536)) {
    for (p.experts = 1; p.experts <= 1024; p.experts = next(p.experts, 1024)) {
      for (p.topk = 1; p.topk <= 16; ++p.topk) {
        for (const MoeMapKind kind : {MoeMapKind::ids, MoeMapKind::mask}) {
          p.map = kind;
          EXPECT_LE(moe_map::table_words(p) * 4, 16 * p.tokens * p.topk + (64 << 10))
              << p.tokens << " " << p.experts << " " << p.topk;
        }
      }
    }
  }
}

// Fewer routes of a thread need more blocks, up to what the config and the device allow.
TEST(MoeMapLaunch, HasAsManyBlocksAsKeepTheirRoutesInRegisters) {
  const AnyProblem p = test::problem("moe_map tokens=16384 experts=128 topk=8");
  const MoeMapArgs args;
  const auto blocks = [&](int most, int routes) {
    Config config = test::variants_of(p)[0].config;
    config[0] = most, config[1] = 512, config[2] = routes;
    Launch launch;
    test::step_of(p).launch(p.data(), &args, generic_model(100), config, launch);
    return launch.grid[0];
  };
  EXPECT_EQ(blocks(128, 8), 16384U * 8 / (512 * 8));
  EXPECT_EQ(blocks(128, 4), 16384U * 8 / (512 * 4));
  EXPECT_EQ(blocks(128, 2), 16384U * 8 / (512 * 2));
  EXPECT_EQ(blocks(32, 2), 32U);
  EXPECT_EQ(blocks(1, 1), 1U);
}

// "one:1:16 ": name, blocks at most, and alignment of map, for each variant.
std::string variants_text(const std::string& text) {
  const AnyProblem p = test::problem(text);
  std::string all;
  for (const Variant& v : test::variants_of(p))
    all += cat(v.name, ":", v.config[0], ":", test::alignment_of(p, v.config), " ");
  return all;
}

TEST(MoeMapVariants, AreForFewAndManyRoutesAndMasksAtAnyAddress) {
  EXPECT_EQ(variants_text("moe_map"), "one:1:1 many:128:1 ");
  EXPECT_EQ(variants_text("moe_map tokens=127 experts=128 topk=8"), "one:1:1 ");
  EXPECT_EQ(variants_text("moe_map tokens=128 experts=128 topk=8"), "many:128:1 ");
  EXPECT_EQ(variants_text("moe_map map=mask experts=128"), "one:1:16 many:128:16 one_element:1:1 many_element:128:1 ");
  EXPECT_EQ(variants_text("moe_map tokens=127 map=mask experts=8 topk=8"), "one:1:8 one_element:1:1 ");
  EXPECT_EQ(variants_text("moe_map tokens=129 map=bits experts=16 topk=8"), "many:128:2 many_element:128:1 ");
  EXPECT_EQ(variants_text("moe_map tokens=129 map=mask index=i32 experts=9 topk=8"), "many:128:4 ");
}

TEST(MoeMapVariants, OfCountsAreOne) {
  for (const char* text : {"moe_map map=counts topk=1", "moe_map map=counts topk=1 tokens=3"})
    EXPECT_EQ(variants_text(text), "counts:128:1 ");
  EXPECT_EQ(test::variants_of(test::problem("moe_map map=counts topk=1 experts=300"))[0].config[1], 512);
}

// Some 32 blocks, and no more threads than the routes of a block need.
TEST(MoeMapVariants, HaveThreadsAndRoutesForTheRoutesOfABlock) {
  const auto shape = [](const std::string& text) {
    const Config c = test::variants_of(test::problem(text))[0].config;
    return cat(c[1], "x", c[2]);
  };
  EXPECT_EQ(shape("moe_map tokens=32 experts=128 topk=8"), "256x2");
  EXPECT_EQ(shape("moe_map tokens=32 experts=128 topk=8 align=16"), "512x2") << "rows of padding";
  EXPECT_EQ(shape("moe_map tokens=512 experts=128 topk=8"), "128x2");
  EXPECT_EQ(shape("moe_map tokens=1024 experts=256 topk=8"), "256x1") << "a thread for each expert";
  EXPECT_EQ(shape("moe_map tokens=4096 experts=256 topk=8"), "256x4");
  EXPECT_EQ(shape("moe_map tokens=65536 experts=128 topk=8"), "512x8");
  EXPECT_EQ(shape("moe_map tokens=4096 experts=256 topk=8 map=mask"), "256x2");
  EXPECT_EQ(shape("moe_map tokens=16384 experts=128 topk=6 map=mask"), "512x2");
}

TEST(MoeRouting, GivesRowsByExpertThenByToken) {
  const moe::Routes routes{4, 2, {2, 0, 0, -1, 2, 1, -1, -1}};
  const moe::RowMap map = moe::map_rows(routes, {4, 3, false, 10, true});
  EXPECT_EQ(map.counts, (std::vector<std::int64_t>{2, 1, 2, 0}));
  EXPECT_EQ(map.offsets, (std::vector<std::int64_t>{0, 3, 6, 9, 9}));
  EXPECT_EQ(map.rows, (Numbers{6, 0, 1, -1, 7, 3, -1, -1}));
  EXPECT_EQ(map.unpadded, (Numbers{3, 0, 1, -1, 4, 2, -1, -1}));
  EXPECT_EQ(map.tokens, (Numbers{0, 1, -1, 2, -1, -1, 0, 2, -1, -1}));
  EXPECT_EQ(map.pads, (Numbers{2, 4, 5, 8, 9}));
  EXPECT_EQ(map.dropped, 0);
}

TEST(MoeRouting, DropsWhatExceedsTheCapacityAndNothingElse) {
  const moe::Routes routes{4, 2, {2, 0, 0, -1, 2, 1, -1, -1}};
  const moe::RowMap map = moe::map_rows(routes, {4, 3, false, 7, false});
  EXPECT_EQ(map.rows, (Numbers{6, 0, 1, -1, -1, 3, -1, -1}));
  EXPECT_EQ(map.unpadded, (Numbers{3, 0, 1, -1, -1, 2, -1, -1}));
  EXPECT_EQ(map.tokens, (Numbers{0, 1, -1, 2, -1, -1, 0}));
  EXPECT_EQ(map.pads, (Numbers{2, 4, 5}));
  EXPECT_EQ(map.dropped, 1);
}

TEST(MoeRouting, AnEmptyExpertIsFilledIfAsked) {
  const moe::RowMap map = moe::map_rows({1, 1, {1}}, {3, 4, true, 12, false});
  EXPECT_EQ(map.offsets, (std::vector<std::int64_t>{0, 4, 8, 12}));
  EXPECT_EQ(map.pads, (Numbers{0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11}));
}

// ---- TransformerEngine's row_id_map

// The rows of row_id_map that its readers take: as many as its last column says. Where they are -1 nothing is read.
// Each is the row without padding of a route that has a row.
void expect_row_ids_are_of_rows(const MoeMap& p, const std::vector<std::uint8_t>& mask) {
  const auto routes = static_cast<std::size_t>(p.tokens * p.topk), width = static_cast<std::size_t>(2 * p.experts + 1);
  const auto experts = static_cast<std::size_t>(p.experts), topk = static_cast<std::size_t>(p.topk);
  const auto rows = static_cast<std::size_t>(moe_map::capacity_of(p));
  Numbers counts(experts), offsets(experts + 1), token_rows(routes), token_experts(routes), row_tokens(rows),
      pads(rows), totals(3), row_ids(static_cast<std::size_t>(p.tokens) * width, 7);
  MoeMapArgs args;
  args.map = mask.data(), args.counts = counts.data(), args.offsets = offsets.data();
  args.token_rows = token_rows.data(), args.token_experts = token_experts.data(), args.row_tokens = row_tokens.data();
  args.pads = pads.data(), args.totals = totals.data(), args.row_id_map = row_ids.data();
  moe_map::write_map(p, args);
  for (std::size_t t = 0; t < static_cast<std::size_t>(p.tokens); ++t) {
    const auto own = row_ids.begin() + static_cast<std::ptrdiff_t>(t * width);
    Numbers of_rows, of_experts;
    for (std::size_t k = 0; k < topk; ++k) {
      const std::int32_t row = token_rows[t * topk + k];
      if (row < 0) continue;
      const auto expert = static_cast<std::size_t>(token_experts[t * topk + k]);
      const std::int32_t before = std::accumulate(counts.begin(), counts.begin() + token_experts[t * topk + k], 0);
      of_rows.push_back(row - offsets[expert] + before);
      of_experts.push_back(token_experts[t * topk + k]);
    }
    EXPECT_EQ(own[static_cast<std::ptrdiff_t>(width) - 1], static_cast<std::int32_t>(of_rows.size())) << t;
    of_rows.resize(experts, -1), of_experts.resize(experts, -1);
    EXPECT_EQ(Numbers(own, own + p.experts), of_rows) << t;
    EXPECT_EQ(Numbers(own + p.experts, own + 2 * p.experts), of_experts) << t;
  }
  const auto unrouted = std::count(token_experts.begin(), token_experts.end(), -1);
  EXPECT_EQ(std::count(token_rows.begin(), token_rows.end(), -1), unrouted + totals[2]);
}

// Regression: routes that the capacity drops were in row_id_map, with rows beyond the last.
TEST(MoeMapRowIds, NameNoRowThatTheCapacityDrops) {
  MoeMap p;
  p.tokens = 40, p.experts = 8, p.topk = 3, p.map = MoeMapKind::mask, p.row_id_map = MoeRowIdMap::write;
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(p.tokens * p.experts));
  for (std::size_t t = 0; t < 40; ++t) {
    for (std::size_t k = 0; k < t % 4; ++k) mask[t * 8 + (t * 3 + k * 2) % 8] = 1;
  }
  for (const std::int64_t align : {1, 16}) {
    for (const std::int64_t capacity : {0, 1, 20, 50, 59, 60, 100}) {
      p.align = align, p.capacity = capacity;
      expect_row_ids_are_of_rows(p, mask);
    }
  }
}

TEST(MoeMapRowIds, CountNoMoreRoutesOfATokenThanTopk) {
  MoeMap p;
  p.tokens = 2, p.experts = 4, p.topk = 2, p.map = MoeMapKind::mask, p.row_id_map = MoeRowIdMap::write;
  const std::vector<std::uint8_t> mask = {1, 1, 1, 0, 0, 0, 0, 1};
  Numbers counts(4), offsets(5), token_rows(4), token_experts(4), row_tokens(4), totals(3), row_ids(18);
  MoeMapArgs args;
  args.map = mask.data(), args.counts = counts.data(), args.offsets = offsets.data();
  args.token_rows = token_rows.data(), args.token_experts = token_experts.data(), args.row_tokens = row_tokens.data();
  args.totals = totals.data(), args.row_id_map = row_ids.data();
  moe_map::write_map(p, args);
  EXPECT_EQ(row_ids, (Numbers{1, 0, -1, -1, 2, 1, -1, -1, 2, 2, -1, -1, -1, 3, -1, -1, -1, 1}));
  EXPECT_EQ(totals[2], 1) << "the third route of token 0";
}

// ---- Counts, against torchtitan's generate_permute_indices, step by step as that is defined

struct Indices {
  Numbers permuted, sizes, offsets;
};

Indices permute_indices(const Numbers& counts, std::int64_t experts, std::int64_t ranks, std::int64_t most, int align) {
  Numbers starts(counts.size() + 1);
  std::partial_sum(counts.begin(), counts.end(), starts.begin() + 1);
  Indices indices{Numbers(static_cast<std::size_t>(most), -1), {}, {}};
  int end = 0;
  for (std::int64_t e = 0; e < experts; ++e) {
    int row = end, all = 0;
    for (std::int64_t r = 0; r < ranks; ++r) {
      const auto run = static_cast<std::size_t>(r * experts + e);
      for (int i = 0; i < counts[run]; ++i) indices.permuted[static_cast<std::size_t>(row++)] = starts[run] + i;
      all += counts[run];
    }
    indices.sizes.push_back((std::max(all, align) + align - 1) / align * align);
    end += indices.sizes.back();
    indices.offsets.push_back(end);
  }
  return indices;
}

// The operands of a map of counts.
struct Mapped {
  Numbers counts, offsets, sizes, token_rows, row_tokens, pads, totals;
};

Mapped map_counts(MoeMap p, const Numbers& map) {
  p.map = MoeMapKind::counts, p.topk = 1;
  EXPECT_EQ(moe_map::check_map(p), "");
  const auto experts = static_cast<std::size_t>(p.experts), rows = static_cast<std::size_t>(moe_map::capacity_of(p));
  Mapped m{Numbers(experts), Numbers(experts + 1), Numbers(experts), Numbers(static_cast<std::size_t>(p.tokens)),
           Numbers(rows),    Numbers(rows),        Numbers(3)};
  MoeMapArgs args;
  args.map = map.data(), args.counts = m.counts.data(), args.offsets = m.offsets.data(), args.sizes = m.sizes.data();
  args.token_rows = m.token_rows.data(), args.row_tokens = m.row_tokens.data(), args.pads = m.pads.data();
  args.totals = m.totals.data();
  moe_map::write_map(p, args);
  return m;
}

TEST(MoeMapCounts, GiveTheIndicesOfTorchtitan) {
  for (const int tokens : {0, 1, 512, 4096}) {
    for (const std::int64_t experts : {2, 4, 8}) {
      for (const std::int64_t ranks : {1, 2, 4}) {
        for (const int align : {16, 32, 128}) {
          Numbers counts(static_cast<std::size_t>(experts * ranks));
          Random random(static_cast<std::uint64_t>(tokens + experts + ranks + align));
          for (int t = 0; t < tokens; ++t) ++counts[random.next() % counts.size()];
          MoeMap p;
          p.tokens = tokens, p.experts = experts, p.ranks = ranks, p.align = align, p.empty = MoeEmpty::fill;
          p.capacity = (tokens + experts * align + align - 1) / align * align;
          const Mapped m = map_counts(p, counts);
          const Indices indices = permute_indices(counts, experts, ranks, p.capacity, align);
          EXPECT_EQ(m.row_tokens, indices.permuted);
          EXPECT_EQ(m.sizes, indices.sizes);
          EXPECT_EQ(Numbers(m.offsets.begin() + 1, m.offsets.end()), indices.offsets);
          EXPECT_EQ(m.totals[0], indices.offsets.back());
          EXPECT_EQ(m.totals[2], 0);
        }
      }
    }
  }
}

TEST(MoeMapCounts, OfMoreTokensThanThereAreDropTheLast) {
  MoeMap p;
  p.tokens = 5, p.experts = 2, p.ranks = 2, p.align = 2;
  const Mapped few = map_counts(p, {1, -3, 2, 0});
  EXPECT_EQ(few.counts, (Numbers{3, 0})) << "a negative count is 0";
  EXPECT_EQ(few.token_rows, (Numbers{0, 1, 2, -1, -1}));
  EXPECT_EQ(few.totals, (Numbers{4, 1, 0}));
  const Mapped many = map_counts(p, {1, 2, 4, 3});
  EXPECT_EQ(many.counts, (Numbers{3, 2}));
  EXPECT_EQ(many.sizes, (Numbers{4, 2}));
  EXPECT_EQ(many.token_rows, (Numbers{0, 4, 5, 1, 2}));
  EXPECT_EQ(many.row_tokens, (Numbers{0, 3, 4, -1, 1, 2}));
  EXPECT_EQ(many.totals, (Numbers{6, 1, 5}));
  constexpr std::int32_t kMost = 2147483647;
  EXPECT_EQ(map_counts(p, {1, kMost, kMost, kMost}).totals, (Numbers{6, 1, kMost - 5})) << "saturated";
}

// The rows that a problem without a capacity has are enough for each routing, and for one of them just enough.
TEST(MoeRouting, TheMostRowsAreReachedAndNotPassed) {
  for (const bool fill : {false, true}) {
    for (const std::int64_t align : {1, 2, 5}) {
      for (std::int64_t tokens = 0; tokens < 7; ++tokens) {
        const moe::RowRules rules{3, align, fill, 1000, false};
        std::int64_t most = 0, routings = 1;
        for (std::int64_t t = 0; t < tokens; ++t) routings *= 3;
        for (std::int64_t r = 0; r < routings; ++r) {
          moe::Routes routes{tokens, 1, {}};
          for (std::int64_t t = 0, rest = r; t < tokens; ++t, rest /= 3)
            routes.experts.push_back(static_cast<std::int32_t>(rest % 3));
          most = std::max(most, moe::map_rows(routes, rules).offsets.back());
        }
        EXPECT_EQ(moe::most_rows(tokens, rules), most) << fill << " " << align << " " << tokens;
      }
    }
  }
}

TEST(MoeRouting, GeneratedRoutesAreOfDifferentExpertsAndDifferBySeed) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const moe::Routes routes = moe::generate_routes(50, 16, 5, seed, seed % 2 == 0);
    bool fewer = false;
    for (std::int64_t t = 0; t < 50; ++t) {
      Numbers own(routes.experts.begin() + t * 5, routes.experts.begin() + t * 5 + 5);
      EXPECT_TRUE(seed % 2 == 1 || std::is_sorted(own.rbegin(), own.rend()));
      fewer = fewer || own.back() == -1;
      std::sort(own.begin(), own.end());
      EXPECT_EQ(std::unique(own.begin(), own.end()), own.end());
      EXPECT_GE(own.front(), -1);
      EXPECT_LT(own.back(), 16);
    }
    EXPECT_EQ(fewer, seed % 4 != 1);
    EXPECT_NE(routes.experts, moe::generate_routes(50, 16, 5, seed + 1, seed % 2 == 0).experts);
  }
}

}  // namespace
}  // namespace quern
