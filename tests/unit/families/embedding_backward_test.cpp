// embedding's backward pass: refusals, operands, launches, its reference on small problems, and rounding by chance.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "common/host_types.h"
#include "embedding/backward.h"
#include "embedding/backward_params.cuh"
#include "embedding/stochastic.cuh"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::span;
using Floats = std::vector<float>;
using Ids = std::vector<std::int64_t>;

std::string refusal_of(const std::string& fields) { return test::refusal("embedding pass=backward " + fields); }

TEST(EmbeddingBackwardProblem, TakesWhatAnUpdateCanBeOf) {
  EXPECT_EQ(refusal_of(""), "") << "open extents";
  EXPECT_EQ(refusal_of("batch=4 tables=2 dim=3,5 table_dtype=f16,f32 optimizer=adam rounding=stochastic"), "");
  EXPECT_EQ(refusal_of("batch=4 padding=3"), "") << "without pooling";
  EXPECT_TRUE(has(test::refusal("embedding batch=4 padding=3"), "padding is what bags pass over"));
  EXPECT_EQ(refusal_of("pooling=max count=100 padding=-1 mode=first optimizer=row_adagrad"), "");
}

TEST(EmbeddingBackwardProblem, RefusesTablesThatCannotBeUpdated) {
  EXPECT_TRUE(has(refusal_of("tables=2 table_dtype=f32,i8"), "table 1 has an 8-bit type"));
  EXPECT_TRUE(has(refusal_of("table_dtype=e4m3 scale=f32"), "table 0 has an 8-bit type"));
  EXPECT_TRUE(has(refusal_of("tables=2 dim=8 strides=8,7"), "strides is below the dim of table 1, 8"));
  EXPECT_EQ(test::refusal("embedding tables=2 dim=8 strides=8,7"), "") << "rows that are read may overlap";
  EXPECT_TRUE(has(refusal_of("dense=8 dense_stride=7"), "dense_stride is below dense"));
  EXPECT_EQ(refusal_of("tables=2 rows=2147483647,2147483647"), "") << "keys of two words";
}

TEST(EmbeddingBackwardProblem, RefusesMoreIdsThanItSorts) {
  EXPECT_TRUE(has(refusal_of("batch=134217728 tables=16 dim=1"), "sorts below 2^31 ids"));
  EXPECT_EQ(refusal_of("batch=134217727 tables=16 dim=1"), "");
  EXPECT_TRUE(has(refusal_of("batch=1 pooling=sum count=2147483648"), "sorts below 2^31 ids"));
  EXPECT_TRUE(has(refusal_of("batch=134217728 tables=16 dim=1 pooling=sum count=1"), "batch times tables"));
}

TEST(EmbeddingBackwardProblem, RefusesAnOptimizerWithoutUse) {
  EXPECT_TRUE(has(test::refusal("embedding optimizer=sgd"), "optimizer is of pass=backward"));
  EXPECT_TRUE(has(test::refusal("embedding rounding=stochastic"), "rounding is of pass=backward"));
  EXPECT_TRUE(has(refusal_of("rounding=stochastic dtype=bf16"), "set optimizer="));
  EXPECT_TRUE(has(refusal_of("rounding=stochastic optimizer=sgd"), "all are f32"));
  EXPECT_TRUE(has(test::parse_error("embedding pass=backward optimizer=rmsprop"), "optimizer"));
}

// Bytes of the first entry of a list; -1: it has none.
std::int64_t entry_span(const std::string& fields, std::string_view operand) {
  const AnyProblem p = test::problem("embedding " + fields);
  for (const Operand& each : p.family().operands) {
    if (each.name == operand) return each.count(p.data()) > 0 ? each.layout(p.data(), 0).span_bytes() : -1;
  }
  return -2;
}

TEST(EmbeddingBackwardOperands, FollowFromPassAndOptimizer) {
  const std::string plain = "batch=10 tables=2 dim=4,6 rows=7 dense=3 dtype=bf16 ", back = plain + "pass=backward ";
  EXPECT_EQ(span("embedding " + plain, "gradient"), 0);
  EXPECT_EQ(span("embedding " + plain, "workspace"), 0);
  EXPECT_EQ(entry_span(plain, "weights"), 56);
  EXPECT_EQ(entry_span(plain, "weights_gradient"), -1);
  EXPECT_EQ(span("embedding " + back, "gradient"), 10 * 13 * 2);
  EXPECT_EQ(span("embedding " + back, "dense_gradient"), 60);
  for (const char* forward : {"out", "dense", "report"}) EXPECT_EQ(span("embedding " + back, forward), 0) << forward;
  EXPECT_EQ(span("embedding mode=report " + back, "report"), 0) << "the forward pass has reported";
  EXPECT_EQ(entry_span(back, "weights"), -1);
  EXPECT_EQ(entry_span(back, "weights_gradient"), 56);
  EXPECT_EQ(entry_span(back, "updated"), -1);
  EXPECT_EQ(entry_span(back + "optimizer=sgd", "updated"), 56);
  EXPECT_EQ(entry_span(back + "optimizer=sgd", "weights_gradient"), -1);
  EXPECT_EQ(entry_span(back + "optimizer=sgd", "moments"), -1);
  EXPECT_EQ(entry_span(back + "optimizer=row_adagrad", "moments"), 28);
  EXPECT_EQ(entry_span(back + "optimizer=row_adagrad", "squares"), -1);
  EXPECT_EQ(entry_span(back + "optimizer=adam", "moments"), 7 * 4 * 4);
  EXPECT_EQ(entry_span(back + "optimizer=adam", "squares"), 7 * 4 * 4);
  const std::string bags = back + "pooling=max count=20 ";
  EXPECT_EQ(entry_span(bags, "weights"), 56) << "the maximum is looked for again";
  EXPECT_EQ(entry_span(bags + "optimizer=sgd", "weights"), -1) << "in the tables";
  EXPECT_EQ(span("embedding pass=backward batch=2 pooling=sum count=20 sample_weights=f16", "sample_weights_gradient"),
            40);
}

TEST(EmbeddingBackwardOperands, KeysHaveTheBitsOfAllRows) {
  const auto bits = [](const std::string& fields) {
    const AnyProblem p = test::problem("embedding pass=backward " + fields);
    return embedding::key_bits(*static_cast<const Embedding*>(p.data()));
  };
  EXPECT_EQ(bits("tables=1 rows=1"), 1);
  EXPECT_EQ(bits("tables=2 rows=1"), 2) << "the key 2 is that of an id without a row";
  EXPECT_EQ(bits("tables=26 rows=1000000"), 25);
  EXPECT_EQ(bits("tables=1 rows=2147483647"), 31);
  EXPECT_EQ(bits("tables=2 rows=2147483647,1"), 32);
  EXPECT_EQ(bits("tables=64 dim=1 rows=70368744177663"), 52);
}

// ---- The reference

struct Small {
  explicit Small(const std::string& text) : problem(test::problem("embedding pass=backward " + text)) {}
  // One table of `rows` rows.
  Floats gradient_of(const Floats& gradient, const Ids& ids, std::size_t size, const Ids& offsets = {},
                     const Floats& weights = {}) {
    Floats made(size, -7);
    const Out out(made.data());
    const In table(weights.data());
    EmbeddingArgs a;
    a.gradient = gradient.data(), a.index = ids.data(), a.offsets = offsets.data();
    a.weights_gradient = {&out, 1}, a.weights = {&table, 1};
    problem.family().reference(problem.data(), &a);
    return made;
  }
  AnyProblem problem;
};

TEST(EmbeddingBackwardReference, AddsUpTheGradientsOfARowAndLeavesTheOthers) {
  Small small("batch=4 tables=1 rows=4 dim=2 mode=zero");
  EXPECT_EQ(small.gradient_of({1, 2, 10, 20, 100, 200, 5, 5}, {3, 1, 3, 9}, 8),
            (Floats{-7, -7, 10, 20, -7, -7, 101, 202}));
  Small padded("batch=4 tables=1 rows=4 dim=2 padding=3");
  EXPECT_EQ(padded.gradient_of({1, 2, 10, 20, 100, 200, 5, 5}, {3, 1, 3, 0}, 8),
            (Floats{5, 5, 10, 20, -7, -7, -7, -7}));
  Small hashed("batch=2 tables=1 rows=4 dim=2 hash=modulus");
  EXPECT_EQ(hashed.gradient_of({1, 2, 10, 20}, {-2, 5}, 8), (Floats{-7, -7, -7, -7, 10, 20, 1, 2}));
}

TEST(EmbeddingBackwardReference, AMeanDividesByTheIdsThatItCounts) {
  Small small("batch=2 tables=1 rows=3 dim=1 pooling=mean count=5 padding=1");
  EXPECT_EQ(small.gradient_of({6, 10}, {0, 1, 2, 0, 2}, 3, {0, 3}), (Floats{3 + 5, -7, 3 + 5}));
}

// Of bag 0 row 0 has the first largest number of column 0, row 2 that of column 1; of bag 1 a NaN wins.
TEST(EmbeddingBackwardReference, AMaximumGoesToTheFirstRowThatHasIt) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Small small("batch=2 tables=1 rows=4 dim=2 pooling=max count=5");
  EXPECT_EQ(small.gradient_of({1, 2, 10, 20}, {0, 1, 2, 1, 3}, 8, {0, 3}, {5, 0, 5, 1, 4, 9, nan, 1}),
            (Floats{1, 0, 0, 20, 0, 2, 10, 0}));
}

// Two steps from nothing, in double.
TEST(EmbeddingBackwardReference, AdamIsTheFormula) {
  const AnyProblem p = test::problem("embedding pass=backward batch=1 tables=1 rows=1 dim=1 optimizer=adam");
  float w = 1, m = 0, v = 0;
  double dw = 1, dm = 0, dv = 0;
  const std::int64_t id = 0;
  const Out table(&w), moments(&m), squares(&v);
  for (int step = 1; step <= 5; ++step) {
    const float g = 0.25F * static_cast<float>(step) - 0.6F;
    EmbeddingArgs a;
    a.gradient = &g, a.index = &id, a.updated = {&table, 1}, a.moments = {&moments, 1}, a.squares = {&squares, 1};
    a.learning_rate = 0.1F, a.step = step;
    p.family().reference(p.data(), &a);
    dm = 0.9 * dm + 0.1 * g, dv = 0.999 * dv + 0.001 * g * g;
    dw -= 0.1 * (dm / (1 - std::pow(0.9, step))) / (std::sqrt(dv / (1 - std::pow(0.999, step))) + 1e-8);
    EXPECT_NEAR(w, dw, 1e-5) << step;
  }
}

TEST(EmbeddingBackwardReference, RowAdagradIsTheFormula) {
  const AnyProblem p = test::problem("embedding pass=backward batch=1 tables=1 rows=2 dim=4 optimizer=row_adagrad");
  Floats w = {9, 9, 9, 9, 1, 2, 3, 4}, m = {5, 2}, g = {1, 2, 3, -4};
  const std::int64_t id = 1;
  const Out table(w.data()), moments(m.data());
  EmbeddingArgs a;
  a.gradient = g.data(), a.index = &id, a.updated = {&table, 1}, a.moments = {&moments, 1}, a.learning_rate = 0.5F;
  p.family().reference(p.data(), &a);
  EXPECT_EQ(m, (Floats{5, 2 + 30.0F / 4}));
  for (int c = 0; c < 4; ++c) {
    EXPECT_EQ(w[static_cast<std::size_t>(c)], 9);
    EXPECT_NEAR(w[static_cast<std::size_t>(4 + c)], 1 + c - 0.5 * g[static_cast<std::size_t>(c)] / std::sqrt(9.5),
                1e-6);
  }
}

// ---- Rounding by chance

// The vectors that the authors of Philox publish.
TEST(EmbeddingPhilox, GivesThePublishedWords) {
  const auto words = [](const embedding::Philox& counter, std::uint64_t key) {
    const embedding::Philox made = embedding::philox(counter, key);
    return std::vector<common::u32>(made.words, made.words + 4);
  };
  using Words = std::vector<common::u32>;
  EXPECT_EQ(words({{0, 0, 0, 0}}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words({{~0U, ~0U, ~0U, ~0U}}, ~std::uint64_t{0}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Every result is one of the two next numbers of the type, and their mean is the number.
template <class T>
void expect_fair(float x, float below, float above) {
  constexpr int kTries = 20000;
  int up = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto word = static_cast<common::u32>(random_at(7, static_cast<std::uint64_t>(i)) >> 32);
    const float rounded = embedding::round_by_chance(T{}, x, word);
    ASSERT_TRUE(rounded == below || rounded == above) << x << " became " << rounded;
    up += rounded == above ? 1 : 0;
  }
  EXPECT_NEAR(up / double{kTries}, (x - below) / (above - below), 0.02) << x;
}

TEST(EmbeddingStochastic, RoundsToNeighboursInProportion) {
  expect_fair<common::Bf16>(1.0F + 0x1p-9F, 1, 1 + 0x1p-7F);
  expect_fair<common::Bf16>(-3.0F - 0x1p-8F, -3.0F, -3.0F - 0x1p-6F);
  expect_fair<common::Bf16>(0x1.8p-130F + 0x1p-136F, 0x1.8p-130F, 0x1.8p-130F + 0x1p-133F);
  expect_fair<common::Fp16>(1.0F + 0x1.8p-11F, 1, 1 + 0x1p-10F);
  expect_fair<common::Fp16>(0x1.3p-24F, 0x1p-24F, 0x1p-23F);
  expect_fair<common::Fp16>(-0x1p-26F, -0.0F, -0x1p-24F);
  expect_fair<common::Fp16>(65504.0F + 8, 65504, 65536);
}

TEST(EmbeddingStochastic, KeepsWhatTheTypeHas) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {0.0F, -0.0F, 1.0F, -2.5F, 0x1p-14F, 0x1p-24F, 65504.0F, infinity, -infinity}) {
    for (const common::u32 word : {0U, 0x80000000U, ~0U}) {
      const float of_fp16 = embedding::round_by_chance(common::Fp16{}, x, word);
      EXPECT_EQ(std::memcmp(&of_fp16, &x, 4), 0) << x;
      if (x != 65504.0F) {
        EXPECT_EQ(embedding::round_by_chance(common::Bf16{}, x, word), x);
      }
      EXPECT_TRUE(std::isnan(embedding::round_by_chance(common::Bf16{}, std::nanf(""), word)));
      EXPECT_TRUE(std::isnan(embedding::round_by_chance(common::Fp16{}, std::nanf(""), word)));
    }
  }
}

// ---- Launches

std::vector<std::string> steps_of(const std::string& fields) {
  const AnyProblem p = test::problem("embedding " + fields);
  std::vector<std::string> names;
  for (const Step& step : p.family().steps)
    if (step.needed == nullptr || step.needed(p.data())) names.emplace_back(step.name);
  return names;
}

TEST(EmbeddingBackwardLaunch, TakesTwoKernelsAndAThirdForWhatOnlyBagsKnow) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(steps_of(""), (Names{""}));
  EXPECT_EQ(steps_of("pooling=sum bags=lengths"), (Names{"offsets", ""}));
  EXPECT_EQ(steps_of("pass=backward pooling=max bags=lengths"), (Names{"offsets", "bags", "sort", "sum"}));
  EXPECT_EQ(steps_of("pass=backward optimizer=adam"), (Names{"sort", "sum"}));
  EXPECT_EQ(steps_of("pass=backward pooling=mean"), (Names{"sort", "sum"}));
  for (const char* fields : {"pooling=mean padding=0", "pooling=max", "pooling=sum sample_weights=f32"})
    EXPECT_EQ(steps_of(cat("pass=backward ", fields)), (Names{"bags", "sort", "sum"})) << fields;
}

// The constants of a step's first image.
std::string constants_of(const std::string& fields, const char* step_name) {
  const AnyProblem p = test::problem("embedding pass=backward batch=64 rows=100 " + fields);
  Spec spec;
  for (const Step& step : p.family().steps) {
    if (std::string_view(step.name) != step_name) continue;
    Variant variants[kMaxVariants];
    step.variants(p.data(), Target{}, generic_model(90), variants);
    step.specialize(p.data(), Target{}, variants[0].config, spec);
  }
  std::string all;
  for (const Constant& constant : spec.constants()) all += cat(constant.name, "=", constant.value, " ");
  return all;
}

// What is sorted or counted follows from the ids: types, weights and reports make no other image.
TEST(EmbeddingBackwardSpec, OnlyWhatIdsMeanDecidesHowTheyAreSorted) {
  const std::string sort = constants_of("", "sort"), bags = constants_of("pooling=sum count=90", "sort");
  for (const char* fields : {"dtype=bf16", "table_dtype=f16", "optimizer=adam", "dim=13 dense=3"})
    EXPECT_EQ(constants_of(fields, "sort"), sort) << fields;
  EXPECT_EQ(constants_of("mode=report", "sort"), constants_of("mode=zero", "sort"));
  EXPECT_EQ(constants_of("mode=report_first", "sort"), constants_of("mode=first", "sort"));
  EXPECT_EQ(constants_of("pooling=mean count=90 dtype=f16", "sort"), bags);
  EXPECT_EQ(constants_of("pooling=sum count=90 sample_weights=f32", "sort"),
            constants_of("pooling=max count=90 dtype=bf16", "sort"));
  for (const char* fields : {"index=i32", "hash=modulus", "hash=index capacity=128", "mode=zero", "mode=first",
                             "mode=wrap_negative", "padding=3", "tables=9", "pooling=sum count=90"})
    EXPECT_NE(constants_of(fields, "sort"), sort) << fields;
  EXPECT_NE(constants_of("pooling=max count=90", "sort"), bags) << "values are positions";
  EXPECT_NE(constants_of("pooling=max count=90", "sort"), sort) << "ids are found by offsets";
  EXPECT_NE(constants_of("pooling=sum count=90 offsets=i32", "sort"), bags);
}

TEST(EmbeddingBackwardSpec, OnlyWhatIdsMeanDecidesHowTheyAreCounted) {
  const std::string mean = "pooling=mean count=90 padding=1 ", sum = "pooling=sum count=90 sample_weights=f32 ";
  const std::string counts = constants_of(mean, "bags");
  EXPECT_EQ(constants_of(mean + "dtype=bf16 table_dtype=f16", "bags"), counts);
  EXPECT_NE(constants_of(mean + "index=i32", "bags"), counts);
  EXPECT_NE(constants_of("pooling=max count=90 dtype=bf16", "bags"), constants_of("pooling=max count=90", "bags"));
  EXPECT_NE(constants_of(sum + "dtype=f16", "bags"), constants_of(sum, "bags")) << "rows and gradients are read";
  EXPECT_NE(constants_of("pooling=sum count=90 sample_weights=f16", "bags"), constants_of(sum, "bags"));
}

Launch launched(const std::string& fields, const char* step_name) {
  const AnyProblem p = test::problem("embedding pass=backward optimizer=sgd " + fields);
  const std::vector<Out> tables(64);
  EmbeddingArgs a;
  a.updated = {tables.data(), 64};
  for (const Step& step : p.family().steps) {
    if (std::string_view(step.name) != step_name) continue;
    Variant variants[kMaxVariants];
    DeviceModel model = generic_model(90);
    model.multiprocessors = 132;
    step.variants(p.data(), Target{}, model, variants);
    Launch launch;
    step.launch(p.data(), &a, model, variants[0].config, launch);
    return launch;
  }
  return {};
}

TEST(EmbeddingBackwardLaunch, SortsTheKeysOfAllTablesInTheFewestPasses) {
  const Launch all = launched("batch=96154 tables=26 rows=1000000", "sort");
  EXPECT_EQ(all.grid[0], 132);
  EXPECT_TRUE(all.cooperative);
  const auto params = test::params_of<embedding::SortParamsOf<64>>(all);
  EXPECT_EQ(params.passes, 3) << "25 bits";
  EXPECT_EQ(params.count, 96154U * 26);
  EXPECT_EQ(params.rows, 26000000);
  EXPECT_EQ(params.base[25], 25000000);
  EXPECT_FALSE(launched("batch=8 tables=26", "sort").cooperative) << "up to 256 ids are one block's";
}

TEST(EmbeddingBackwardLaunch, IsEmptyWithoutIds) {
  for (const char* step : {"sort", "sum"}) EXPECT_TRUE(launched("batch=0", step).empty) << step;
  EXPECT_TRUE(launched("batch=3 pooling=sum count=0", "sort").empty);
  EXPECT_FALSE(launched("batch=3 pooling=sum count=0 dense=8", "sum").empty) << "dense has a gradient";
}

TEST(EmbeddingBackwardLaunch, AllBlocksOfTheSumAreResident) {
  const Launch all = launched("batch=96154 tables=26 rows=1000000", "sum");
  EXPECT_TRUE(all.cooperative);
  EXPECT_EQ(all.grid[0], 3 * 132);
  EXPECT_EQ(launched("batch=1 tables=1", "sum").grid[0], 1);
}

TEST(EmbeddingBackwardLaunch, RefusesAStepBeforeTheFirst) {
  const AnyProblem p = test::problem("embedding pass=backward batch=1 tables=1 optimizer=adam");
  const Out out;
  EmbeddingArgs a;
  a.updated = a.moments = a.squares = {&out, 1};
  a.step = 0;
  Launch launch;
  const Step& sum = *quern::steps_of(p.family(), p.data()).back();
  Variant variants[kMaxVariants];
  sum.variants(p.data(), Target{}, generic_model(90), variants);
  EXPECT_THROW(sum.launch(p.data(), &a, generic_model(90), variants[0].config, launch), Error);
}

}  // namespace
}  // namespace quern
