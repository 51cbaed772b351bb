// scatter's refusals, variants, workspace and data.
#include "scatter/scatter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::span;
using test::variant_summary;

std::string scatter_refusal(const std::string& fields) { return test::refusal("scatter " + fields); }

TEST(ScatterProblem, TakesRowsOfAnyTypeAndWidth) {
  for (const char* type : {"u8", "e4m3", "bf16", "i16", "f64", "c128"})
    EXPECT_EQ(scatter_refusal(std::string("dtype=") + type), "");
  EXPECT_EQ(scatter_refusal("rows=0 count=0 width=0"), "");
  EXPECT_EQ(scatter_refusal("op=add dtype=f16 factor=alpha scale=bf16 scale_of=rows order=given rest=zero"), "");
  EXPECT_EQ(scatter_refusal("rows=4 count=9 order=given"), "");
  EXPECT_EQ(scatter_refusal("rows=4 count=9 mode=skip"), "") << "the others may be outside of out";
  EXPECT_EQ(scatter_refusal("rows=0 count=9 mode=skip"), "");
}

// Found by sanitizers: the product of outer and count overflowed in the rule for a scale's gradient.
TEST(ScatterRefuses, ExtentsWhoseProductOverflows) {
  const std::string large = "outer, rows, count and width are too large";
  for (const char* pass : {"", " op=add pass=backward scale=f32 scale_of=columns"}) {
    const std::string rest = std::string(" width=1") + pass;
    EXPECT_TRUE(has(scatter_refusal("outer=1099511627776 count=70368744177664 rows=70368744177664" + rest), large));
    EXPECT_TRUE(has(scatter_refusal("outer=1099511627776 count=1 rows=70368744177664" + rest), large));
  }
  EXPECT_TRUE(has(test::refusal("gather outer=4 count=70368744177664 rows=100 width=100000"), large));
  EXPECT_TRUE(has(test::refusal("gather rows=100 count=1 width=1 source_stride=1099511627776"), large));
  EXPECT_EQ(test::refusal("gather rows=64 count=1 width=1 source_stride=1099511627776"), "");
}

TEST(ScatterProblem, RefusesIndicesThatCannotBeDifferent) {
  EXPECT_TRUE(has(scatter_refusal("rows=4 count=5"), "use order=given"));
  EXPECT_TRUE(has(scatter_refusal("rows=0 count=5"), "count must be 0"));
  EXPECT_TRUE(has(scatter_refusal("rows=0 count=5 order=given"), "mode=skip"));
}

TEST(ScatterProblem, RefusesAnOrderThatItCannotHave) {
  EXPECT_TRUE(has(scatter_refusal("rest=zero"), "needs order=given"));
  EXPECT_TRUE(has(scatter_refusal("rest=zero"), "indices=unique if none occurs twice"));
  EXPECT_TRUE(has(scatter_refusal("count=2147483648 width=1 order=given"), "below 2^31"));
  EXPECT_EQ(scatter_refusal("count=2147483648 width=1"), "");
}

TEST(ScatterProblem, TakesUniqueIndicesForTheRowsWithoutOne) {
  EXPECT_EQ(scatter_refusal("rest=zero indices=unique"), "");
  EXPECT_EQ(scatter_refusal("rest=zero indices=unique op=add scale=f32 scale_of=rows mode=skip rows=4 count=9"), "");
  EXPECT_TRUE(has(scatter_refusal("indices=unique"), "leave it out"));
  EXPECT_TRUE(has(scatter_refusal("indices=unique rest=zero order=given"), "leave out one of indices and order"));
  EXPECT_TRUE(has(scatter_refusal("indices=unique rest=zero rows=4 count=5"), "use order=given"));
  EXPECT_TRUE(has(scatter_refusal("indices=unique rest=zero op=add pass=backward"), "leave out indices and rest"));
  EXPECT_TRUE(has(scatter_refusal("indices=unique rest=zero count=2147483648 width=1"), "below 2^31"));
}

TEST(ScatterProblem, RefusesFactorsOfWhatIsNotAdded) {
  EXPECT_TRUE(has(scatter_refusal("op=add dtype=f64"), "f32, f16 or bf16"));
  EXPECT_TRUE(has(scatter_refusal("op=add dtype=u8"), "f32, f16 or bf16"));
  EXPECT_TRUE(has(scatter_refusal("factor=alpha"), "op=add"));
  EXPECT_TRUE(has(scatter_refusal("scale=f32"), "op=add"));
  EXPECT_TRUE(has(scatter_refusal("op=add scale_of=rows"), "needs a scale"));
}

TEST(ScatterProblem, HasGradientsOfWhatIsAdded) {
  EXPECT_EQ(scatter_refusal("pass=backward op=add factor=alpha scale=f16 mode=skip rows=0 count=5"), "");
  EXPECT_EQ(scatter_refusal("pass=backward op=add rows=4 count=9"), "") << "indices may repeat";
  EXPECT_TRUE(has(scatter_refusal("pass=backward"), "gather"));
  EXPECT_TRUE(has(scatter_refusal("pass=backward op=add order=given"), "leave out order"));
  EXPECT_TRUE(has(scatter_refusal("pass=backward op=add width=1 count=1073741824 outer=2 scale=f32"), "below 2^31"));
  EXPECT_TRUE(has(scatter_refusal("pass=backward op=add rows=0 count=5"), "no row to read"));
  EXPECT_TRUE(has(scatter_refusal("pass=backward op=add width=8 source_stride=7"), "source_gradient would overlap"));
  EXPECT_TRUE(has(scatter_refusal("pass=backward op=add width=1 count=2147483648 scale=f32"), "below 2^31"));
  EXPECT_EQ(scatter_refusal("pass=backward op=add width=1 count=2147483648 scale=f32 scale_of=rows"), "");
}

TEST(ScatterProblem, RefusesRowsThatOverlapOrAreTooLong) {
  EXPECT_TRUE(has(scatter_refusal("width=8 out_stride=7"), "overlap"));
  EXPECT_EQ(scatter_refusal("width=8 source_stride=7"), "");
  EXPECT_TRUE(has(scatter_refusal("width=8589934592"), "too large"));
}

TEST(ScatterOperands, AreThereWhereTheProblemHasThem) {
  const std::string problem = "scatter op=add rows=10 count=6 width=8 ";
  EXPECT_EQ(span(problem, "source"), 6 * 8 * 2);
  EXPECT_EQ(span(problem, "out"), 10 * 8 * 2);
  EXPECT_EQ(span(problem, "order"), 0);
  EXPECT_EQ(span(problem + "order=given", "order"), 6 * 4);
  EXPECT_EQ(span(problem + "scale=f32", "scale"), 8 * 4);
  EXPECT_EQ(span(problem + "scale=bf16 scale_of=rows", "scale"), 6 * 2);
}

TEST(ScatterOperands, OfSeveralMatricesShareAnIndex) {
  const std::string problem = "scatter op=add rows=10 count=40 width=8 order=given outer=3";
  EXPECT_EQ(span(problem, "source"), 3 * 40 * 8 * 2);
  EXPECT_EQ(span(problem, "out"), 3 * 10 * 8 * 2);
  EXPECT_EQ(span(problem, "index"), 40 * 8);
  EXPECT_EQ(span(problem, "order"), 40 * 4);
  EXPECT_EQ(span(problem, "workspace"), 3 * 4 * (8 + 32 + 2 * 2) * 4);
}

TEST(ScatterOperands, OfTheBackwardPassAreGradients) {
  const std::string problem = "scatter op=add rows=10 count=6 width=8 pass=backward ";
  EXPECT_EQ(span(problem, "out"), 0);
  EXPECT_EQ(span(problem, "source"), 0) << "only the gradient of a scale needs it";
  EXPECT_EQ(span(problem + "scale=f32", "source"), 6 * 8 * 2);
  EXPECT_EQ(span(problem, "gradient"), 10 * 8 * 2);
  EXPECT_EQ(span(problem, "source_gradient"), 6 * 8 * 2);
  EXPECT_EQ(span(problem, "scale_gradient"), 0);
  EXPECT_EQ(span(problem + "scale=f32", "scale_gradient"), 8 * 4);
  EXPECT_EQ(span(problem + "scale=f32 scale_of=rows", "scale_gradient"), 6 * 4);
  EXPECT_EQ(span("scatter op=add rows=10 count=6 width=8 scale=f32", "scale_gradient"), 0);
}

// Sums of groups in segments of more than 32 rows, and two counters for each part of a row.
TEST(ScatterOperands, AWorkspaceHasSumsOfLongSegments) {
  EXPECT_EQ(span("scatter op=add rows=10 count=6 width=8", "workspace"), 0);
  EXPECT_EQ(span("scatter rows=10 count=600 width=8 order=given", "workspace"), 0);
  EXPECT_EQ(span("scatter op=add rows=10 count=32 width=8 order=given", "workspace"), 0) << "no segment is long";
  EXPECT_EQ(span("scatter op=add rows=10 count=33 width=8 order=given", "workspace"), 4 * (8 + 32 + 2 * 2) * 4);
  EXPECT_EQ(span("scatter op=add rows=10 count=65536 width=2048 order=given", "workspace"),
            ((4096 + 128) * (2048 + 32) + 4096 * 2 * 66) * 4);
  const std::string backward = "scatter op=add rows=10 count=33 width=8 pass=backward scale=f32";
  EXPECT_EQ(span(backward, "workspace"), 4 * (8 + 32 + 2 * 2) * 4);
  EXPECT_EQ(span(backward + " scale_of=rows", "workspace"), 0);
  EXPECT_EQ(span("scatter op=add rows=10 count=11 outer=3 width=8 pass=backward scale=f32", "workspace"),
            4 * (8 + 32 + 2 * 2) * 4)
      << "of the rows of all matrices";
}

// A word for each row, and for each part of few long ones.
TEST(ScatterOperands, AWorkspaceHasThePositionsOfUniqueIndices) {
  EXPECT_EQ(span("scatter rows=9000 count=6 width=8 rest=zero indices=unique", "workspace"), (32 + 9000) * 4);
  EXPECT_EQ(span("scatter rows=10 count=6 width=8 rest=zero indices=unique", "workspace"), (32 + 10 * 2) * 4);
  EXPECT_EQ(span("scatter rows=10 count=6 width=99999 rest=zero indices=unique", "workspace"), (32 + 10 * 820) * 4);
  EXPECT_EQ(span("scatter rows=0 count=0 width=8 rest=zero indices=unique outer=2", "workspace"), 32 * 4);
}

TEST(ScatterVariants, TakeTheWidestVectorAndThenAnyAddress) {
  EXPECT_EQ(variant_summary("scatter width=64"), "vector:16:16 ragged:16:2 ");
  EXPECT_EQ(variant_summary("scatter width=1001"), "ragged:16:2 ");
  EXPECT_EQ(variant_summary("scatter width=1001 dtype=u8"), "ragged:16:1 ");
  EXPECT_EQ(variant_summary("scatter width=1004"), "vector:8:8 ragged:16:2 ");
  EXPECT_EQ(variant_summary("scatter width=3 op=add"), "vector:2:2 ") << "too short for windows";
  EXPECT_EQ(variant_summary("scatter width=3 dtype=c128"), "vector:16:16 ");
  EXPECT_EQ(variant_summary("scatter width=64 out_stride=65 order=given op=add"), "ragged:16:2 ");
}

TEST(ScatterVariants, OfGradientsHaveNoWindows) {
  EXPECT_EQ(variant_summary("scatter op=add pass=backward scale=bf16 width=64"), "vector:16:16 element:2:2 ");
  EXPECT_EQ(variant_summary("scatter op=add pass=backward scale=bf16 width=1001"), "vector:2:2 ");
  EXPECT_EQ(variant_summary("scatter op=add pass=backward scale=bf16 scale_of=rows width=1004"),
            "vector:8:8 element:2:2 ");
}

TEST(ScatterVariants, ReadScalesOfColumnsInVectors) {
  const auto needed = [](const std::string& text) {
    const AnyProblem p = test::problem("scatter op=add width=64 " + text);
    return test::step_of(p).alignment(p.data(), 3, test::variants_of(p)[0].config);
  };
  EXPECT_EQ(needed("scale=f32"), 32U) << "one access from sm_100 on";
  EXPECT_EQ(needed("scale=f16 dtype=f32"), 8U);
  EXPECT_EQ(needed("scale=f32 scale_of=rows"), 4U);
}

int parameter(const std::string& text, const std::string& name) {
  const AnyProblem p = test::problem(text);
  const auto& parameters = test::step_of(p).parameters;
  for (int i = 0; i < parameters.count; ++i) {
    if (parameters[i].name == name) return test::variants_of(p)[0].config[i];
  }
  return -1;
}

TEST(ScatterVariants, ShareAWarpAmongShortRows) {
  for (const auto& [width, lanes] : {std::pair{8, 4}, {64, 8}, {65 * 8, 32}, {120, 16}, {4096, 32}})
    EXPECT_EQ(parameter("scatter op=add order=given width=" + std::to_string(width), "lanes"), lanes) << width;
}

TEST(ScatterVariants, GiveAWarpFewPositionsWhereThereAreFew) {
  EXPECT_EQ(parameter("scatter op=add order=given rows=64 count=64 width=7168", "positions"), 2);
  EXPECT_EQ(parameter("scatter op=add order=given rows=8192 count=65536 width=2048", "positions"), 32);
  EXPECT_EQ(parameter("scatter op=add order=given width=2048", "positions"), 8);
  EXPECT_EQ(parameter("scatter op=add order=given width=2048", "batch"), 4);
  EXPECT_EQ(parameter("scatter op=add order=given rows=32768 count=65536 width=2048", "batch"), 2);
  EXPECT_EQ(parameter("scatter op=add order=given rows=32768 count=65537 width=2048", "batch"), 4);
  EXPECT_EQ(parameter("scatter order=given width=2048", "unroll"), 4);
}

// Rows of 129 accesses: four of each of 32 lanes twice, one five times.
TEST(ScatterVariants, LeaveFewLanesIdleWhereNearlyAllRowsAreCleared) {
  const std::string rows = "scatter order=given rows=152764 width=1032 dtype=f16 rest=zero count=";
  EXPECT_EQ(parameter(rows + "221", "unroll"), 1);
  EXPECT_EQ(parameter(rows + "152764", "unroll"), 4) << "rows that are read";
  EXPECT_EQ(parameter("scatter order=given rows=152764 width=1024 rest=zero count=221", "unroll"), 4);
}

std::vector<std::int64_t> scatter_indices(const std::string& text, std::uint64_t seed) {
  const AnyProblem p = test::problem(text);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(test::as<Scatter>(p).count));
  p.family().generate(p.data(), p.family().default_args, 1, 0, seed * kSeedsOfProblem + 1, rows.data());
  return rows;
}

TEST(ScatterData, IndicesAreDifferentWithoutOrder) {
  const std::vector<std::int64_t> rows = scatter_indices("scatter rows=100 count=90", 4);
  EXPECT_EQ(std::set<std::int64_t>(rows.begin(), rows.end()).size(), rows.size());
  EXPECT_GE(*std::min_element(rows.begin(), rows.end()), 0);
  EXPECT_LT(*std::max_element(rows.begin(), rows.end()), 100);
}

TEST(ScatterData, SkippedIndicesAreOnBothSidesAndNextToValidOnes) {
  const std::vector<std::int64_t> rows = scatter_indices("scatter rows=100 count=2000 mode=skip", 4);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), 99), 1);
  EXPECT_GT(std::count(rows.begin(), rows.end(), -1), 0);
  EXPECT_GT(std::count(rows.begin(), rows.end(), 100), 0);
}

TEST(ScatterData, TheOrderSortsTheIndices) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    const std::string text = "scatter rows=100 count=2000 mode=skip order=given";
    const std::vector<std::int64_t> rows = scatter_indices(text, seed);
    const AnyProblem p = test::problem(text);
    std::vector<std::int32_t> order(rows.size());
    p.family().generate(p.data(), p.family().default_args, 2, 0, seed * kSeedsOfProblem + 2, order.data());
    for (std::size_t i = 1; i < order.size(); ++i) {
      const std::int64_t a = rows[static_cast<std::size_t>(order[i - 1])], b = rows[static_cast<std::size_t>(order[i])];
      const auto key = [](std::int64_t row) { return row < 0 || row >= 100 ? 100 : row; };
      EXPECT_TRUE(key(a) < key(b) || (key(a) == key(b) && order[i - 1] < order[i])) << seed << " at " << i;
    }
  }
}

// Two matrices of two rows, and three rows for each, of one column; the last index is skipped.
TEST(ScatterReference, AddsToEachMatrixAndGivesGradientsOfAll) {
  const std::string text = "scatter op=add rows=2 count=3 width=1 outer=2 dtype=f32 index=i32 mode=skip scale=f32 ";
  const float source[] = {1, 2, 3, 4, 5, 6}, scale[] = {10};
  const std::int32_t index[] = {1, 0, 7};
  float out[] = {100, 200, 300, 400};
  ScatterArgs args;
  args.source = source;
  args.scale = scale;
  args.index = index;
  args.out = out;
  const AnyProblem forward = test::problem(text);
  forward.family().reference(forward.data(), &args);
  EXPECT_EQ(std::vector<float>(out, out + 4), std::vector<float>({120, 210, 350, 440}));

  const float gradient[] = {2, 3, 5, 7};
  float of_source[6] = {}, of_scale[1] = {};
  args.gradient = gradient;
  args.source_gradient = of_source;
  args.scale_gradient = of_scale;
  const AnyProblem backward = test::problem(text + "pass=backward");
  backward.family().reference(backward.data(), &args);
  EXPECT_EQ(std::vector<float>(of_source, of_source + 6), std::vector<float>({30, 20, 0, 70, 50, 0}));
  EXPECT_EQ(of_scale[0], 1 * 3 + 2 * 2 + 4 * 7 + 5 * 5);

  const float of_rows[] = {1, 10, 100};
  float of_each[3] = {};
  args.scale = of_rows;
  args.scale_gradient = of_each;
  const AnyProblem by_rows = test::problem(text + "scale_of=rows pass=backward");
  by_rows.family().reference(by_rows.data(), &args);
  EXPECT_EQ(std::vector<float>(of_source, of_source + 6), std::vector<float>({3, 20, 0, 7, 50, 0}));
  EXPECT_EQ(std::vector<float>(of_each, of_each + 3), std::vector<float>({1 * 3 + 4 * 7, 2 * 2 + 5 * 5, 0}));
}

}  // namespace
}  // namespace quern
