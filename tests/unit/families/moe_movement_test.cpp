// moe_permute and moe_unpermute: refusals, shapes, launches and test data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/text.h"
#include "moe/movement_step.h"
#include "moe/params.cuh"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::refusal;
using test::span;
using Numbers = std::vector<std::int32_t>;

// moe_permute left the row of an expert without routes as it was.
TEST(MoePads, FilledRowsAreListedWithoutAlignment) {
  EXPECT_FALSE(moe::lists_pads({4, 1, false, 0, false}));
  EXPECT_TRUE(moe::lists_pads({4, 1, true, 0, false}));
  const moe::RowMap map = moe::map_rows({2, 1, {0, 3}}, {4, 1, true, 4, false});
  EXPECT_EQ(map.pads, (std::vector<std::int32_t>{1, 2}));
}

TEST(MoeMovementProblem, RefusesWhatNoRoutingCanBe) {
  for (const std::string family : {"moe_permute ", "moe_unpermute "}) {
    EXPECT_EQ(refusal(family + "experts=1024 topk=1024"), "");
    EXPECT_TRUE(has(refusal(family + "experts=0"), "from 1 to 1024, as in moe_map"));
    EXPECT_TRUE(has(refusal(family + "experts=1025"), "from 1 to 1024"));
    EXPECT_TRUE(has(refusal(family + "prob_layout=experts"), "give probs=f32, f16 or bf16"));
    EXPECT_EQ(refusal(family + "prob_layout=experts probs=bf16 pass=backward"), "");
    EXPECT_TRUE(has(refusal(family + "topk=0"), "topk must be from 1 to 1024"));
    EXPECT_TRUE(has(refusal(family + "topk=1025"), "topk must be from 1 to 1024"));
    EXPECT_TRUE(has(refusal(family + "capacity=2147483648"), "2^31"));
    EXPECT_TRUE(has(refusal(family + "tokens=1073741824"), "2^31"));
    EXPECT_TRUE(has(refusal(family + "tokens=4 align=1073741824"), "2^31"));
    EXPECT_TRUE(has(refusal(family + "tokens=1073741823 hidden=4294967296"), "2^46"));
    for (const std::string tokens : {"", "tokens=2 "}) {
      EXPECT_EQ(refusal(family + tokens + "hidden=2147483647"), "");
      EXPECT_TRUE(has(refusal(family + tokens + "hidden=2147483648"), "fewer than 2^32 bytes"));
    }
    EXPECT_TRUE(has(test::parse_error(family + "align=0"), "align"));
    EXPECT_TRUE(has(test::parse_error(family + "align=-16"), "align"));
    EXPECT_TRUE(has(test::parse_error(family + "probs=i32"), "probs"));
    EXPECT_TRUE(has(test::parse_error(family + "dtype=f64"), "dtype"));
  }
}

TEST(MoeMovementProblem, AddsUpNumbersThatAreNotQuantizedOnly) {
  for (const char* dtype : {"e4m3", "e5m2", "u8"}) {
    const std::string moved = cat("dtype=", dtype);
    EXPECT_EQ(refusal("moe_permute probs=f32 " + moved), "");
    EXPECT_EQ(refusal("moe_unpermute pass=backward " + moved), "");
    for (const char* adds : {"moe_permute pass=backward ", "moe_unpermute ", "moe_unpermute pass=backward probs=f32 "})
      EXPECT_TRUE(has(refusal(adds + moved), "give f32, f16 or bf16")) << adds;
  }
  for (const char* not_moved :
       {"moe_permute ", "moe_permute pass=backward ", "moe_unpermute ", "moe_unpermute pass=backward "})
    EXPECT_TRUE(has(refusal(not_moved + std::string("scaling=mx")), "scales of quantized rows")) << not_moved;
  EXPECT_EQ(refusal("moe_permute scaling=mx dtype=u8"), "");
  EXPECT_EQ(refusal("moe_unpermute pass=backward scaling=row dtype=e4m3"), "");
  EXPECT_TRUE(has(refusal("moe_unpermute pass=backward residual=add"), "is for pass=forward"));
  EXPECT_TRUE(has(refusal("moe_unpermute pass=backward probs=f32 topk=1024 hidden=16384"), "hidden times topk"));
  EXPECT_EQ(refusal("moe_unpermute pass=backward probs=f32 topk=512 hidden=16384"), "");
}

TEST(MoePermuteProblem, QuantizesNumbersThatMoveToExperts) {
  EXPECT_EQ(refusal("moe_permute element=e4m3"), "") << "given_scale";
  EXPECT_EQ(refusal("moe_permute element=e5m2 scaling=mx mode=floor probs=f32 hidden=33"), "");
  EXPECT_EQ(refusal("moe_permute element=e4m3 scaling=mx scale_layout=blocked align=256"), "");
  EXPECT_EQ(refusal("moe_permute element=e4m3 scaling=block128 mode=exact"), "");
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 pass=backward"), "needs pass=forward"));
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 dtype=u8"), "is quantized already"));
  EXPECT_EQ(refusal("moe_permute element=e4m3 scaling=row"), "");
  EXPECT_EQ(refusal("moe_permute element=e5m2 scaling=row mode=exact probs=bf16 hidden=33"), "");
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 scaling=row policy=te"), "policy=te goes with"));
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 scaling=row scale_layout=blocked align=128"), "is for scaling=mx"));
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 scaling=row pass=backward"), "needs pass=forward"));
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 scaling=mx policy=te mode=floor"), "policy=te goes with"));
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 scaling=block128 policy=te"), "policy=te goes with"));
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 scaling=mx mode=exact"), "scaling=row or block128"));
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 scale_layout=blocked align=128"), "is for scaling=mx"));
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 scaling=mx scale_layout=blocked align=64"), "multiple of 128"));
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 scaling=mx scale_layout=blocked align=128 capacity=500"),
                  "capacity that is a multiple of 128"));
  EXPECT_TRUE(has(refusal("moe_permute element=e4m3 mode=floor"), "mode is for scales that are made"));
  EXPECT_TRUE(has(refusal("moe_permute scaling=mx"), "give element=e4m3"));
  for (const char* of_element : {"mode=floor", "policy=te", "scale_layout=blocked align=128"})
    EXPECT_TRUE(has(refusal(cat("moe_permute ", of_element)), "give element=e4m3 or e5m2 too")) << of_element;
  EXPECT_TRUE(has(test::parse_error("moe_permute element=bf16"), "element"));
}

TEST(MoePermuteProblem, MultipliesNumbersThatMoveToExperts) {
  const std::string family = "moe_permute ";
  EXPECT_EQ(refusal(family + "scale=f32 element=e4m3 scaling=row"), "");
  EXPECT_EQ(refusal(family + "scale=f16 scale_of=routes probs=f32 element=e4m3 scaling=mx"), "");
  EXPECT_TRUE(has(refusal(family + "scale_of=routes"), "needs a scale"));
  EXPECT_TRUE(has(refusal(family + "scale=f32 dtype=u8"), "not of dtype=u8"));
  EXPECT_TRUE(has(refusal(family + "scale=f32 scale_of=routes element=e4m3 scaling=row"), "scale_of=tokens"));
  EXPECT_TRUE(has(refusal(family + "scale=f32 scale_of=routes element=e4m3 scaling=mx scale_layout=blocked align=128"),
                  "scale_of=tokens"));
  EXPECT_EQ(refusal(family + "scale=f32 pass=backward probs=f32"), "");
  EXPECT_TRUE(has(refusal(family + "scale=f32 pass=backward element=e4m3"), "needs pass=forward"));
  EXPECT_TRUE(has(refusal(family + "scale=f32 pass=backward hidden=1000000 topk=1024"), "of probs or scale"));
  EXPECT_EQ(span(family + "tokens=5 topk=3 scale=f16", "scale"), 5 * 2);
  EXPECT_EQ(span(family + "tokens=5 topk=3 scale=f32 scale_of=routes", "scale"), 5 * 3 * 4);
  const std::string backward = family + "tokens=5 topk=3 hidden=8 pass=backward ";
  EXPECT_EQ(span(backward + "scale=f32", "scale_gradient"), 5 * 4);
  EXPECT_EQ(span(backward + "scale=f32 scale_of=routes", "scale_gradient"), 5 * 3 * 4);
  EXPECT_EQ(span(backward + "scale=f32", "rows"), 5 * 8 * 2);
  EXPECT_EQ(span(backward, "rows"), 0);
}

// Each row times its factor, rounded once.
TEST(MoePermuteReference, RoundsAProductOnce) {
  const float source[] = {1, 2, 3, 4}, of_tokens[] = {2, -1}, of_routes[] = {2, 3, 5, 7};
  const std::int32_t rows[] = {1, 0, 2, -1};
  float out[6] = {};
  MoePermuteArgs args;
  args.source = source, args.token_rows = rows, args.out = out;
  const std::string text = "moe_permute tokens=2 experts=2 topk=2 hidden=2 dtype=f32 capacity=3 scale=f32";
  args.scale = of_tokens;
  const AnyProblem tokens = test::problem(text), routes = test::problem(text + " scale_of=routes");
  tokens.family().reference(tokens.data(), &args);
  EXPECT_EQ(std::vector<float>(out, out + 6), std::vector<float>({2, 4, 2, 4, -3, -4}));
  args.scale = of_routes;
  routes.family().reference(routes.data(), &args);
  EXPECT_EQ(std::vector<float>(out, out + 6), std::vector<float>({3, 6, 2, 4, 15, 20}));
}

TEST(MoePermuteOperands, OfAQuantizationAreOfOut) {
  const std::string text = "moe_permute tokens=10 topk=2 experts=3 hidden=300 align=128 capacity=512 element=e4m3 ";
  EXPECT_EQ(span(text, "source"), 10 * 300 * 2);
  EXPECT_EQ(span(text, "out"), 512 * 300);
  EXPECT_EQ(span(text, "given_scale"), 4);
  EXPECT_EQ(span(text, "out_scales"), 0);
  EXPECT_EQ(span(text + "scaling=mx", "given_scale"), 0);
  EXPECT_EQ(span(text + "scaling=mx", "scales"), 0);
  EXPECT_EQ(span(text + "scaling=mx", "out_scales"), 512 * 10);
  EXPECT_EQ(span(text + "scaling=mx scale_layout=blocked", "out_scales"), 512 * 12) << "atoms of 128 x 4";
  EXPECT_EQ(span(text + "scaling=mx scale_layout=blocked", "token_scales"), 10 * 12);
  EXPECT_EQ(span(text + "scaling=mx scale_layout=blocked", "workspace"), (32 + 512) * 4);
  EXPECT_EQ(span(text + "scaling=mx", "token_scales"), 0);
  EXPECT_EQ(span(text + "scaling=mx", "workspace"), 0);
  EXPECT_EQ(span(text + "scaling=block128", "out_scales"), 512 * 3 * 4);
  EXPECT_EQ(span(text + "scaling=row", "out_scales"), 512 * 4);
  EXPECT_EQ(span(text + "scaling=row", "given_scale"), 0);
}

// Four scales are stored at once where a row has a multiple of four and a part the blocks of a word; in accesses of an
// element at any address.
TEST(MoePermuteOperands, ScalesOfAQuantizationAreWordsWhereTheyFit) {
  const auto alignments = [](const std::string& rest, int operand = 7) {
    const AnyProblem p = test::problem("moe_permute element=e4m3 align=128 " + rest);
    std::string all;
    for (const Variant& v : test::variants_of(p))
      all += cat(test::step_of(p).alignment(p.data(), operand, v.config), " ");
    return all;
  };
  EXPECT_EQ(alignments("hidden=7168 scaling=mx"), "4 1 ");
  EXPECT_EQ(alignments("hidden=7200 scaling=mx"), "1 1 ") << "225 scales";
  EXPECT_EQ(alignments("hidden=7200 scaling=mx scale_layout=blocked"), "16 1 ") << "of whole atoms";
  EXPECT_EQ(alignments("hidden=7168 scaling=mx scale_layout=blocked", 10), "16 1 ") << "the scales of tokens";
  EXPECT_EQ(alignments("hidden=7200 scaling=mx scale_layout=blocked", 10), "4 1 ") << "228 of them";
  EXPECT_EQ(alignments("hidden=7168 scaling=mx", 10), "1 1 ");
  EXPECT_EQ(alignments("hidden=7201 scaling=mx scale_layout=blocked"), "1 ") << "rows at any address";
  EXPECT_EQ(alignments("hidden=7168 scaling=block128"), "4 4 ");
  EXPECT_EQ(alignments("tokens=1 hidden=98 dtype=f16 scaling=mx"), "4 1 ") << "a warp has four blocks of 16 vectors";
  for (const char* tokens : {"tokens=1 ", "tokens=100000 "}) {
    for (const char* hidden : {"hidden=8", "hidden=32", "hidden=96", "hidden=122 dtype=f16", "hidden=122 dtype=f32"})
      EXPECT_EQ(alignments(cat(tokens, hidden, " scaling=mx scale_layout=blocked")), "16 1 ") << tokens << hidden;
  }
  const AnyProblem p = test::problem("moe_permute hidden=7168 element=e4m3 scaling=mx");
  Config narrow = test::variants_of(p)[0].config;
  narrow[1] = 2, narrow[3] = 4;
  EXPECT_EQ(test::step_of(p).alignment(p.data(), 7, narrow), 1U) << "two blocks of a part";
}

// What the problem has no operand for is not checked, so it is not read either.
TEST(MoePermuteLaunch, IgnoresAGivenScaleThatTheProblemDoesNotTake) {
  const float scales = 0, given = 0;
  MoePermuteArgs args;
  args.scales = &scales, args.given_scale = &given;
  const auto scales_of = [&](const std::string& text) {
    const AnyProblem p = test::problem("moe_permute tokens=4 hidden=256 " + text);
    Launch launch;
    test::step_of(p).launch(p.data(), &args, generic_model(90), test::variants_of(p)[0].config, launch);
    moe::Params params;
    std::memcpy(&params, launch.params, sizeof(params));
    return params.scales;
  };
  EXPECT_EQ(scales_of("dtype=e4m3 scaling=block128"), &scales);
  EXPECT_EQ(scales_of("element=e4m3"), &given);
}

// The blocks wait for each other: a multiprocessor has room for so many, as the kernel is compiled for.
TEST(MoePermuteLaunch, OfBlockedScalesIsCoResident) {
  const DeviceModel model = generic_model(90);
  const auto launch_of = [&](const std::string& text, int threads) {
    const AnyProblem p = test::problem("moe_permute element=e4m3 scaling=mx align=128 " + text);
    Config config = test::variants_of(p)[0].config;
    EXPECT_EQ(config[5], text.find("blocked") == std::string::npos ? 128 : 512);
    if (threads != 0) config[5] = threads;
    MoePermuteArgs args;
    Launch launch;
    test::step_of(p).launch(p.data(), &args, model, config, launch);
    return launch;
  };
  const std::string many = "scale_layout=blocked tokens=4096 experts=256 hidden=7168 topk=8";
  const auto multiprocessors = static_cast<std::uint32_t>(model.multiprocessors);
  for (const auto& [threads, blocks] : {std::pair(0, 2U), std::pair(256, 4U), std::pair(128, 8U), std::pair(64, 16U)}) {
    const Launch launch = launch_of(many, threads);
    EXPECT_TRUE(launch.cooperative) << threads;
    EXPECT_EQ(launch.grid[0], blocks * multiprocessors) << threads;
  }
  const Launch one = launch_of("scale_layout=blocked tokens=1 experts=1 hidden=32 topk=1", 0);
  EXPECT_EQ(one.block[0], 32U);
  EXPECT_GE(one.grid[0], 1U);
  EXPECT_FALSE(launch_of("tokens=4096 experts=256 hidden=7168 topk=8", 0).cooperative);
  EXPECT_TRUE(launch_of("scale_layout=blocked tokens=0 experts=8 hidden=32 topk=1", 0).empty);
}

// As moe_map has it for the same fields.
TEST(MoeMovementOperands, FollowFromTheMap) {
  for (const char* routing : {"tokens=100 experts=10 topk=3", "tokens=100 experts=10 topk=3 align=16",
                              "tokens=7 experts=9 topk=2 align=8 empty=fill", "tokens=7 experts=9 capacity=33",
                              "tokens=7 experts=9 topk=2 tail=list"}) {
    const std::string map = cat("moe_map ", routing), permute = cat("moe_permute hidden=24 ", routing, " "),
                      unpermute = cat("moe_unpermute hidden=24 ", routing, " ");
    const std::int64_t rows = span(map, "row_tokens") / 4 * 24 * 2, tokens = span(permute, "source");
    for (const std::string& family : {permute, unpermute})
      EXPECT_EQ(span(family, "token_rows"), span(map, "token_rows"));
    EXPECT_EQ(span(permute, "pads"), span(map, "pads"));
    EXPECT_EQ(span(permute + "pass=backward", "pads"), 0);
    EXPECT_EQ(span(unpermute, "pads"), 0);
    EXPECT_EQ(span(unpermute + "pass=backward", "pads"), span(map, "pads"));
    EXPECT_EQ(span(permute, "out"), rows);
    EXPECT_EQ(span(permute + "pass=backward", "source"), rows);
    EXPECT_EQ(span(permute + "pass=backward", "out"), tokens);
    EXPECT_EQ(span(permute + "probs=f32", "probs"), span(map, "token_rows"));
    EXPECT_EQ(span(permute + "probs=f32", "out_probs"), span(map, "row_tokens"));
    EXPECT_EQ(span(permute + "probs=f32 pass=backward", "probs"), span(map, "row_tokens"));
    EXPECT_EQ(span(permute + "probs=f32 pass=backward", "out_probs"), span(map, "token_rows"));
    EXPECT_EQ(span(permute + "probs=f32", "token_experts"), 0);
    const std::int64_t of_experts = has(routing, "experts=10") ? 100 * 10 : 7 * 9;
    for (const std::string& family : {permute, unpermute}) {
      for (const char* pass : {"pass=forward", "pass=backward"}) {
        const std::string dense = cat(family, "probs=bf16 prob_layout=experts ", pass);
        const bool of_rows = has(dense, "moe_permute ") && has(dense, "backward");
        EXPECT_EQ(span(dense, "token_experts"), span(map, "token_rows"));
        EXPECT_EQ(span(dense, "probs"), of_rows ? span(map, "row_tokens") / 2 : of_experts * 2);
      }
    }
    EXPECT_EQ(span(permute + "probs=f32 prob_layout=experts", "out_probs"), span(map, "row_tokens"));
    EXPECT_EQ(span(permute + "probs=f32 prob_layout=experts pass=backward", "out_probs"), of_experts * 4);
    EXPECT_EQ(span(unpermute + "probs=f32 prob_layout=experts pass=backward", "out_probs"), of_experts * 4);
    EXPECT_EQ(span(unpermute + "probs=f32 prob_layout=experts", "out_probs"), 0);
    EXPECT_EQ(span(unpermute + "probs=f32", "out_probs"), 0);
    EXPECT_EQ(span(unpermute + "probs=f32", "rows"), 0);
    EXPECT_EQ(span(unpermute + "probs=f32 pass=backward", "rows"), rows);
    EXPECT_EQ(span(unpermute + "probs=f32 pass=backward", "out_probs"), span(map, "token_rows"));
    EXPECT_EQ(span(unpermute + "residual=add", "residual"), tokens);
    EXPECT_EQ(span(unpermute, "residual"), 0);
    EXPECT_EQ(span(permute, "scales"), 0);
    for (const auto& [scaling, bytes] : {std::pair("row", 4), std::pair("block128", 4 * 3), std::pair("mx", 9)}) {
      const std::string scaled = cat("moe_permute hidden=272 dtype=e4m3 ", routing, " scaling=", scaling);
      EXPECT_EQ(span(scaled, "scales"), tokens / 48 * bytes) << scaling;
      EXPECT_EQ(span(scaled, "out_scales"), rows / 48 * bytes) << scaling;
    }
  }
}

TEST(MoeMovementData, ExpertsAreThoseOfTheRows) {
  moe::Movement m{};
  m.form = moe::Form::combine;
  m.dtype = bf16;
  m.probs = f32;
  m.dense = true;
  m.tokens = 40;
  m.topk = 3;
  m.rules = {6, 1, false, 0, false};
  Numbers rows(120), experts(120);
  ASSERT_TRUE(moe::generate_movement(m, "token_rows", 701, rows.data()));
  ASSERT_TRUE(moe::generate_movement(m, "token_experts", 702, experts.data()));
  const moe::RowMap map = moe::map_rows({40, 3, experts}, {6, 1, false, 120, false});
  EXPECT_EQ(map.rows, rows);
}

// All operands of a problem are of one routing, as moe_map maps it.
TEST(MoeMovementData, IsOfOneRoutingForAllOperands) {
  moe::Movement m{};
  m.form = moe::Form::dispatch;
  m.dtype = bf16;
  m.tokens = 40;
  m.hidden = 8;
  m.topk = 3;
  m.rules = {6, 8, false, 0, false};
  Numbers rows(120), pads(static_cast<std::size_t>(moe::capacity_of(m))), other(120);
  ASSERT_TRUE(moe::generate_movement(m, "token_rows", 701, rows.data()));
  ASSERT_TRUE(moe::generate_movement(m, "pads", 702, pads.data()));
  ASSERT_TRUE(moe::generate_movement(m, "token_rows", 801, other.data()));
  EXPECT_NE(rows, other);
  rows.insert(rows.end(), pads.begin(), pads.end());
  rows.erase(std::remove(rows.begin(), rows.end(), -1), rows.end());
  std::sort(rows.begin(), rows.end());
  Numbers all(rows.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(rows, all) << "each row is a route's or a padding row";
}

Launch launch_of(const AnyProblem& p, const Config& config, int multiprocessors = 132) {
  const std::vector<std::byte> args(p.family().args_bytes);
  DeviceModel model = generic_model(90);
  model.multiprocessors = multiprocessors;
  Launch launch;
  test::step_of(p).launch(p.data(), args.data(), model, config, launch);
  return launch;
}

TEST(MoeMovementLaunch, NothingIsLaunchedForNothing) {
  const auto empty = [](const std::string& text) {
    const AnyProblem p = test::problem(text);
    return launch_of(p, test::variants_of(p)[0].config).empty;
  };
  EXPECT_TRUE(empty("moe_permute tokens=0"));
  EXPECT_TRUE(empty("moe_permute tokens=0 pass=backward"));
  EXPECT_TRUE(empty("moe_permute tokens=5 hidden=0"));
  EXPECT_FALSE(empty("moe_permute tokens=5 hidden=0 probs=f32")) << "probabilities move";
  EXPECT_FALSE(empty("moe_permute tokens=0 tail=list capacity=8")) << "8 rows are zeros";
  EXPECT_FALSE(empty("moe_unpermute tokens=5 hidden=0 probs=f32 pass=backward")) << "the gradient of probs is 0";
}

// A block of the grid has work, and the sums of a block fit what a launch has without asking.
TEST(MoeMovementLaunch, BlocksFollowFromTheProblem) {
  for (const char* text : {"moe_permute tokens=4096 hidden=7168 topk=8", "moe_permute tokens=3 hidden=7168 topk=8",
                           "moe_unpermute tokens=512 hidden=4096 probs=f32",
                           "moe_unpermute tokens=512 hidden=16384 topk=16 probs=f32 dtype=f32 pass=backward",
                           "moe_unpermute tokens=50000 hidden=64 topk=1024 probs=f32 pass=backward"}) {
    const AnyProblem p = test::problem(text);
    for (const Variant& variant : test::variants_of(p)) {
      const Launch launch = launch_of(p, variant.config);
      const auto params = test::params_of<moe::Params>(launch);
      const std::uint64_t lanes = static_cast<std::uint64_t>(variant.config[3]),
                          warps = variant.config[4] > 1 ? variant.config[4] : 1;
      const bool gradient = has(text, "pass=backward");
      const std::uint64_t groups = params.tokens * (gradient ? warps : params.parts);
      const std::uint64_t room = std::uint64_t{launch.grid[0]} * launch.block[0] / lanes;
      EXPECT_GE(room, groups) << text;
      EXPECT_LT(room, groups + launch.block[0] / lanes) << text;
      EXPECT_LE(launch.shared_bytes, 48U << 10) << text;
      EXPECT_EQ(launch.shared_bytes > 0, gradient) << text;
      EXPECT_GE(std::uint64_t{params.parts} * lanes *
                    static_cast<std::uint64_t>(variant.config[1] * (gradient ? 16 / variant.config[0] : 1)),
                params.vectors)
          << text;
    }
  }
}

TEST(MoeMovementLaunch, PadsHaveTheFirstBlocks) {
  const AnyProblem p = test::problem("moe_permute tokens=512 experts=8 hidden=4096 topk=2 align=16");
  const AnyProblem without = test::problem("moe_permute tokens=512 experts=8 hidden=4096 topk=2");
  const Config config = test::variants_of(p)[0].config;
  const auto blocks = test::params_of<moe::Params>(launch_of(p, config)).pad_blocks;
  EXPECT_GT(blocks, 0U);
  EXPECT_EQ(test::params_of<moe::Params>(launch_of(without, config)).pad_blocks, 0U);
  EXPECT_EQ(launch_of(p, config).grid[0], launch_of(without, config).grid[0] + blocks);
}

// Small blocks for few tokens are for idle multiprocessors, which those of much padding are not.
TEST(MoeMovementLaunch, PaddingIsWorkOfBlocks) {
  const auto shape = [](const std::string& text) {
    const AnyProblem p = test::problem("moe_permute tokens=22 experts=444 hidden=192 topk=1 " + text);
    const Launch launch = launch_of(p, test::variants_of(p)[0].config);
    return cat(launch.grid[0], " of ", launch.block[0]);
  };
  EXPECT_EQ(shape("align=128"), "533 of 128");
  EXPECT_EQ(shape(""), "9 of 32");
}

// All of `pads` is read. What a map of the problem's fields may list is for all blocks but one, since a group that goes
// on to the next entry waits for it.
TEST(MoeMovementLaunch, OneBlockLooksWhetherTheListOfPadsGoesOn) {
  const auto entries = [](const std::string& text) {
    const AnyProblem p = test::problem("moe_permute hidden=256 topk=2 " + text);
    const auto params = test::params_of<moe::Params>(launch_of(p, test::variants_of(p)[0].config));
    EXPECT_EQ(params.pad_blocks, params.list_blocks + (params.listed_parts < params.pad_parts ? 1 : 0)) << text;
    return cat(params.listed_parts / params.parts, " of ", params.pad_parts / params.parts);
  };
  EXPECT_EQ(entries("tokens=64 experts=8 align=16"), "128 of 240");
  EXPECT_EQ(entries("tokens=5 experts=8 empty=fill"), "8 of 17");
  EXPECT_EQ(entries("tokens=1 experts=8 align=16"), "32 of 32") << "the capacity";
  EXPECT_EQ(entries("tokens=64 experts=8 align=16 tail=list capacity=1000"), "1000 of 1000");
  EXPECT_EQ(entries("tokens=64 experts=8"), "0 of 0");
}

// Of few tokens several teams share the routes, whole batches each; a token's dense gradients have one writer.
TEST(MoeMovementLaunch, TeamsShareTheRoutesOfFewTokens) {
  const auto teams = [](const std::string& text, int batch) {
    const AnyProblem p = test::problem("moe_unpermute pass=backward probs=f32 " + text);
    Config config = test::variants_of(p)[0].config;
    config[moe::kBatch] = batch;
    const Launch launch = launch_of(p, config);
    const moe::Params params = test::params_of<moe::Params>(launch);
    const auto groups = static_cast<std::int64_t>(launch.grid[0] - params.pad_blocks) * launch.block[0] / 32;
    EXPECT_EQ(groups, static_cast<std::int64_t>(params.tokens) * params.teams * config[moe::kWarps]) << text;
    return cat(params.teams, ":", params.routes_of_team);
  };
  EXPECT_EQ(teams("tokens=3 hidden=7104 experts=469 topk=10 align=16", 1), "10:1");
  EXPECT_EQ(teams("tokens=3 hidden=7104 experts=469 topk=10 align=16", 2), "5:2");
  EXPECT_EQ(teams("tokens=3 hidden=7104 experts=469 topk=7", 2), "4:2") << "the last one has one route";
  EXPECT_EQ(teams("tokens=100 hidden=4096 experts=64 topk=8", 1), "4:2") << "32 warps of a multiprocessor";
  EXPECT_EQ(teams("tokens=100 hidden=14336 experts=64 topk=8", 1), "2:4") << "16 that have four chunks of a lane";
  EXPECT_EQ(teams("tokens=4096 hidden=4096 experts=64 topk=8", 1), "1:8");
  EXPECT_EQ(teams("tokens=3 hidden=4096 experts=64 topk=8 prob_layout=experts", 1), "1:8");
}

// The bytes that benchmarks compare with: of the routes and padding rows that there are.
TEST(MoeMovementBytes, CountWhatTheGeneratedRoutingMoves) {
  const auto bytes = [](const std::string& text) {
    const AnyProblem p = test::problem(text);
    return p.family().bytes(p.data());
  };
  const std::string shape = "tokens=1000 experts=4 hidden=512 topk=2 ";
  EXPECT_EQ(bytes("moe_permute " + shape), 3000 * 1024 + 2000 * 4);
  EXPECT_EQ(bytes("moe_permute probs=f32 " + shape), 3000 * 1024 + 2000 * (4 + 8));
  EXPECT_EQ(bytes("moe_permute pass=backward " + shape), 3000 * 1024 + 2000 * 4);
  EXPECT_EQ(bytes("moe_unpermute probs=bf16 " + shape), 3000 * 1024 + 2000 * (4 + 2));
  EXPECT_EQ(bytes("moe_unpermute residual=add " + shape), 4000 * 1024 + 2000 * 4);
  EXPECT_EQ(bytes("moe_unpermute probs=f32 pass=backward " + shape), 5000 * 1024 + 2000 * (4 + 8));
  const std::string dense = "probs=f32 prob_layout=experts " + shape;
  EXPECT_EQ(bytes("moe_permute " + dense), 3000 * 1024 + 2000 * (4 + 4 + 8));
  EXPECT_EQ(bytes("moe_permute pass=backward " + dense), 3000 * 1024 + 2000 * (4 + 4 + 4) + 4000 * 4);
  EXPECT_EQ(bytes("moe_unpermute " + dense), 3000 * 1024 + 2000 * (4 + 4 + 4));
  EXPECT_EQ(bytes("moe_unpermute pass=backward " + dense), 5000 * 1024 + 2000 * (4 + 4 + 4) + 4000 * 4);
  const std::int64_t pads =
      (bytes("moe_permute align=1000 " + shape) - std::int64_t{3000 * 1024 + 2000 * 4}) / (1024 + 4);
  EXPECT_EQ((2000 + pads) % 1000, 0);
  EXPECT_GT(pads, 0);
}

}  // namespace
}  // namespace quern
