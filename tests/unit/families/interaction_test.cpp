// interaction's refusals, the memory of its operands, its reference against the formulas, its variants and launches.
#include "interaction/interaction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/text.h"
#include "interaction/params.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::span;
using InteractionNumbers = std::vector<float>;

std::string interaction_refusal(const std::string& fields) { return test::refusal("interaction " + fields); }

TEST(InteractionProblem, TakesAnySizeAndStride) {
  EXPECT_EQ(interaction_refusal(""), "");
  EXPECT_EQ(interaction_refusal("features=1 dim=1 batch=0"), "");
  EXPECT_EQ(interaction_refusal("features=128 dim=16777216 dense=2147483648 dtype=f32"), "");
  EXPECT_EQ(interaction_refusal("source_stride=3"), "") << "samples of source may overlap";
  EXPECT_EQ(interaction_refusal("out_stride=3 pass=backward"), "") << "and rows of the gradient";
  EXPECT_EQ(interaction_refusal("form=outer features=16 dim=256"), "");
}

TEST(InteractionProblem, RefusesWhatHasNoMeaning) {
  EXPECT_TRUE(has(interaction_refusal("features=0"), "features must be at least 1"));
  EXPECT_TRUE(has(interaction_refusal("dim=0"), "dim must be at least 1"));
  EXPECT_TRUE(
      has(interaction_refusal("form=outer features=1 dim=9 diagonal=1"), "diagonal is of form=lower and form=upper"));
  EXPECT_TRUE(has(interaction_refusal("form=outer features=1 dim=9 dense=1"), "dense is of form=lower"));
  EXPECT_TRUE(has(interaction_refusal("features=3 dim=4 dense=13"), "dense is above features times dim, 12"));
  EXPECT_TRUE(has(test::parse_error("interaction diagonal=2"), "diagonal"));
  EXPECT_TRUE(has(test::parse_error("interaction dtype=f64"), "dtype"));
  EXPECT_TRUE(has(test::parse_error("interaction form=inner"), "form"));
}

TEST(InteractionProblem, RefusesWhatIsTooLarge) {
  EXPECT_TRUE(has(interaction_refusal("features=129"), "features must be at most 128 in form=lower"));
  EXPECT_TRUE(has(interaction_refusal("dim=16777217"), "dim must be at most 2^24"));
  EXPECT_TRUE(has(interaction_refusal("form=outer features=1 dim=4097"), "features times dim must be at most 4096"));
  EXPECT_TRUE(has(interaction_refusal("form=outer features=70368744177664 dim=70368744177664"), "at most 4096"));
  EXPECT_TRUE(has(interaction_refusal("batch=70368744177664"), "at most 2^46 elements"));
  EXPECT_TRUE(has(interaction_refusal("form=outer features=1 dim=4096 batch=4194305"), "at most 2^46 elements"));
}

TEST(InteractionProblem, RefusesRowsThatOverlapInAnOutput) {
  EXPECT_TRUE(has(interaction_refusal("features=4 dim=4 out_stride=5"), "out_stride is below the columns of a row, 6"));
  EXPECT_EQ(interaction_refusal("features=4 dim=4 out_stride=6"), "");
  EXPECT_TRUE(has(interaction_refusal("features=4 dim=4 source_stride=15 pass=backward"),
                  "source_stride is below features times"));
}

TEST(InteractionOperands, FollowFromTheFormAndThePass) {
  const std::string text = "interaction batch=10 features=4 dim=3 ";
  EXPECT_EQ(span(text, "source"), 10 * 12 * 2);
  EXPECT_EQ(span(text, "out"), 10 * 6 * 2);
  EXPECT_EQ(span(text, "gradient"), 0);
  EXPECT_EQ(span(text + "diagonal=1 dense=5 dtype=f32", "out"), 10 * 15 * 4);
  EXPECT_EQ(span(text + "form=outer", "out"), 10 * 144 * 2);
  EXPECT_EQ(span(text + "source_stride=20 out_stride=9", "source"), (9 * 20 + 12) * 2);
  EXPECT_EQ(span(text + "source_stride=20 out_stride=9", "out"), (9 * 9 + 6) * 2);
  const std::string back = text + "pass=backward source_stride=20 out_stride=9";
  EXPECT_EQ(span(back, "out"), 0);
  EXPECT_EQ(span(back, "gradient"), (9 * 9 + 6) * 2);
  EXPECT_EQ(span(back, "source_gradient"), (9 * 20 + 12) * 2);
}

InteractionNumbers interaction_reference(const std::string& fields, const InteractionNumbers& source, std::size_t count,
                                         const InteractionNumbers& gradient = {}) {
  const AnyProblem p = test::problem("interaction dtype=f32 " + fields);
  InteractionNumbers out(count, -1);
  InteractionArgs args;
  args.source = source.data(), args.gradient = gradient.data();
  args.out = args.source_gradient = out.data();
  p.family().reference(p.data(), &args);
  return out;
}

// The order of pairs is that of facebookresearch/dlrm: i from 0, and j below i, or up to it.
TEST(InteractionReference, HasThePairsRowByRow) {
  const InteractionNumbers x = {1, 2, 3, 4, 5, 6, 7, 8};  // vectors (1,2) (3,4) (5,6) (7,8)
  const std::string shape = "batch=1 features=4 dim=2 ";
  EXPECT_EQ(interaction_reference(shape, x, 6), (InteractionNumbers{11, 17, 39, 23, 53, 83}));
  EXPECT_EQ(interaction_reference(shape + "diagonal=1 dense=3", x, 13),
            (InteractionNumbers{1, 2, 3, 5, 11, 25, 17, 39, 61, 23, 53, 83, 113}));
  EXPECT_EQ(interaction_reference("batch=2 features=2 dim=2 out_stride=2", x, 4), (InteractionNumbers{11, -1, 83, -1}));
}

TEST(InteractionReference, HasAllProductsOfNumbers) {
  EXPECT_EQ(interaction_reference("form=outer batch=2 features=1 dim=2", {2, 3, -1, 5}, 8),
            (InteractionNumbers{4, 6, 6, 9, 1, -5, -5, 25}));
  EXPECT_EQ(interaction_reference("form=outer batch=1 features=2 dim=1", {2, 3}, 4), (InteractionNumbers{4, 6, 6, 9}));
  EXPECT_EQ(interaction_reference("form=upper batch=1 features=2 dim=2", {2, 3, 5, 7}, 6),
            (InteractionNumbers{6, 10, 14, 15, 21, 35}));
  EXPECT_EQ(interaction_reference("form=upper batch=2 features=1 dim=2 diagonal=1", {2, 3, -1, 5}, 6),
            (InteractionNumbers{4, 6, 9, 1, -5, 25}));
}

// The derivative of sum(gradient * out) by each number, in double, from the formulas written here.
double interaction_objective(const std::string& form, int features, int dim, int diagonal, int dense,
                             const std::vector<double>& c, const InteractionNumbers& gradient) {
  double sum = 0;
  std::size_t at = 0;
  if (form == "outer") {
    for (const double a : c) {
      for (const double b : c) sum += static_cast<double>(gradient[at++]) * a * b;
    }
    return sum;
  }
  for (int i = 0; i < dense; ++i) sum += static_cast<double>(gradient[at++]) * c[static_cast<std::size_t>(i)];
  for (int i = 0; i < features; ++i) {
    for (int j = 0; j < i + diagonal; ++j) {
      double inner = 0;
      for (int k = 0; k < dim; ++k)
        inner += c[static_cast<std::size_t>(i * dim + k)] * c[static_cast<std::size_t>(j * dim + k)];
      sum += static_cast<double>(gradient[at++]) * inner;
    }
  }
  return sum;
}

void expect_interaction_derivatives(const std::string& form, int features, int dim, int diagonal, int dense) {
  const auto count = static_cast<std::size_t>(features * dim);
  const std::size_t pairs = static_cast<std::size_t>(features * (features - 1 + 2 * diagonal) / 2);
  const std::size_t columns = form == "outer" ? count * count : static_cast<std::size_t>(dense) + pairs;
  InteractionNumbers x(count), gradient(columns);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5) / 4;
  for (std::size_t i = 0; i < columns; ++i) gradient[i] = static_cast<float>(static_cast<int>(i * 5 % 13) - 6) / 8;
  const std::string fields = cat("form=", form, " batch=1 features=", features, " dim=", dim, " diagonal=", diagonal,
                                 " dense=", dense, " pass=backward");
  const InteractionNumbers got = interaction_reference(fields, x, count, gradient);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> above(x.begin(), x.end()), below = above;
    above[i] += 0.5, below[i] -= 0.5;  // of a polynomial of degree two this is exact
    const double want = interaction_objective(form, features, dim, diagonal, dense, above, gradient) -
                        interaction_objective(form, features, dim, diagonal, dense, below, gradient);
    EXPECT_FLOAT_EQ(got[i], static_cast<float>(want)) << fields << " " << i;
  }
}

TEST(InteractionReference, TheGradientIsTheDerivative) {
  for (const int diagonal : {0, 1}) {
    for (const int dense : {0, 4, 15}) expect_interaction_derivatives("lower", 5, 3, diagonal, dense);
  }
  expect_interaction_derivatives("outer", 1, 13, 0, 0);
  expect_interaction_derivatives("outer", 3, 3, 0, 0);
}

// An fp32 sum is rounded at each addition; one of 16-bit numbers is not, until it is stored.
TEST(InteractionReference, AddsUpFp32InTheOrderOfTheNumbers) {
  EXPECT_EQ(interaction_reference("batch=1 features=2 dim=3", {1, 1, 1, 0x1p25F, 1, -0x1p25F}, 1),
            (InteractionNumbers{0}));
}

std::string interaction_variants(const std::string& fields) {
  const AnyProblem p = test::problem("interaction " + fields);
  std::string all;
  for (const Variant& v : test::variants_of(p)) {
    all += cat(all.empty() ? "" : " ", v.name);
    for (int operand = 0; operand < 4; ++operand) {
      if (p.family().operands[operand].layout(p.data()).dtype != DType::none)
        all += cat(":", test::step_of(p).alignment(p.data(), operand, v.config));
    }
  }
  return all;
}

// Of source and out; of source, gradient and source_gradient.
TEST(InteractionVariants, AskForAlignedRowsWhereTheyMayBe) {
  EXPECT_EQ(interaction_variants(""), "whole:16:1 any:1:1");
  EXPECT_EQ(interaction_variants("pass=backward"), "whole:16:1:16 any:1:1:1");
  EXPECT_EQ(interaction_variants("dim=4"), "any:1:1");
  EXPECT_EQ(interaction_variants("dim=4 dtype=f32"), "whole:16:1 any:1:1");
  EXPECT_EQ(interaction_variants("dim=8 source_stride=217"), "any:1:1");
  EXPECT_EQ(interaction_variants("form=outer features=1 dim=432"), "any:1:1") << "reads number by number";
  EXPECT_EQ(interaction_variants("form=outer features=1 dim=432 pass=backward"), "whole:16:16:1 any:1:1:1");
  EXPECT_EQ(interaction_variants("form=outer features=1 dim=432 pass=backward out_stride=186625"), "any:1:1:1");
}

struct InteractionLaunched {
  Launch launch;
  interaction::Params params;
};

InteractionLaunched interaction_launch(const std::string& fields) {
  const AnyProblem p = test::problem("interaction " + fields);
  const InteractionArgs args;
  InteractionLaunched all{};
  test::step_of(p).launch(p.data(), &args, generic_model(90), test::variants_of(p).front().config, all.launch);
  if (!all.launch.empty) std::memcpy(&all.params, all.launch.params, sizeof(all.params));
  return all;
}

TEST(InteractionLaunch, AWarpHasASample) {
  const InteractionLaunched large = interaction_launch("batch=65537 dense=128");
  EXPECT_EQ(large.launch.block[0], 128U);
  EXPECT_EQ(large.launch.grid[0], 16385U);
  EXPECT_EQ(large.params.warp_bytes, 16U + 960U) << "351 pairs behind 128 dense numbers, wherever a row begins";
  EXPECT_EQ(large.launch.shared_bytes, 4U * 976);
  EXPECT_EQ(interaction_launch("batch=65537 dense=257").params.warp_bytes, 16U + 704U) << "too many to go with them";
  EXPECT_EQ(interaction_launch("batch=128").launch.block[0], 32U) << "on as many multiprocessors as there are";
  EXPECT_EQ(interaction_launch("batch=0").launch.grid[0], 1U);
  EXPECT_TRUE(interaction_launch("batch=0").launch.empty);
  EXPECT_TRUE(interaction_launch("batch=9 features=1").launch.empty) << "no pairs";
  EXPECT_FALSE(interaction_launch("batch=9 features=1 pass=backward").launch.empty) << "zeros";
}

TEST(InteractionLaunch, SharedMemoryFollowsFromTheFeatures) {
  EXPECT_EQ(interaction_launch("batch=65536 dtype=f32").params.warp_bytes, 27U * 68 * 4 + 16 + 1408);
  EXPECT_EQ(interaction_launch("batch=65536 dtype=f32 dim=16").params.warp_bytes, 27U * 36 * 4 + 16 + 1408);
  EXPECT_EQ(interaction_launch("batch=65536 pass=backward").params.warp_bytes, 32U * (32 * 2 + 16));
  EXPECT_EQ(interaction_launch("batch=65536 features=16 pass=backward").params.warp_bytes, 16U * (16 * 2 + 16));
  const InteractionLaunched most = interaction_launch("batch=65536 features=128 dtype=f32 pass=backward");
  EXPECT_EQ(most.launch.block[0], 32U);
  EXPECT_EQ(most.launch.shared_bytes, 128U * (128 * 4 + 16));
}

TEST(InteractionLaunch, ASampleOfOuterIsCutIntoParts) {
  // 46656 accesses of 16 bytes and one more, as a row may begin anywhere, by 4 of 256 threads.
  const InteractionLaunched outer = interaction_launch("form=outer batch=128 features=1 dim=432 dtype=f32");
  EXPECT_EQ(outer.params.parts_of_sample, 46U);
  EXPECT_EQ(outer.launch.grid[0], 128U * 46);
  EXPECT_EQ(outer.launch.block[0], 256U);
  EXPECT_EQ(outer.launch.shared_bytes, 432U * 4);
  const InteractionLaunched back =
      interaction_launch("form=outer batch=128 features=1 dim=432 dtype=f32 pass=backward");
  EXPECT_EQ(back.launch.grid[0], 128U);
  EXPECT_EQ(back.launch.shared_bytes, (2U * 432 + 8 * 256) * 4);
  EXPECT_LE(interaction_launch("form=outer batch=1 features=1 dim=4096 pass=backward").launch.shared_bytes, 48U * 1024);
}

TEST(InteractionBytes, AreThoseOfTheOperands) {
  const auto bytes_of = [](const std::string& fields) {
    const AnyProblem p = test::problem("interaction " + fields);
    return p.family().bytes(p.data());
  };
  EXPECT_EQ(bytes_of("batch=10 features=4 dim=3"), 10 * (12 + 6) * 2);
  EXPECT_EQ(bytes_of("batch=10 features=4 dim=3 pass=backward dense=2"), 10 * (24 + 8) * 2);
  EXPECT_EQ(bytes_of("form=outer batch=10 features=4 dim=3 dtype=f32"), 10 * (12 + 144) * 4);
}

}  // namespace
}  // namespace quern
