// The plain reference of moe_permute and moe_unpermute: gradients against finite differences, and probabilities.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "moe/movement.h"

namespace quern {
namespace {

using Numbers = std::vector<std::int32_t>;
using Floats = std::vector<float>;

// ---- Gradients of the reference, against central differences in double

struct Small {
  static constexpr std::int64_t kTokens = 5, kHidden = 11, kTopk = 3, kRows = 16;
  Numbers token_rows = {3, 0, 9, 1, -1, 8, 2, 10, -1, -1, -1, -1, 4, 11, 5};
  Numbers pads = {6, 7, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

  std::int32_t row(std::int64_t t, std::int64_t k) const { return token_rows[static_cast<std::size_t>(t * kTopk + k)]; }
  static moe::Movement movement(moe::Form form, bool weighted, bool probs) {
    moe::Movement m{};
    m.form = form;
    m.weighted = weighted;
    m.dtype = f32;
    m.probs = probs ? f32 : DType::none;
    m.tokens = kTokens;
    m.hidden = kHidden;
    m.topk = kTopk;
    m.rules = {2, 8, false, kRows, false};
    return m;
  }
};

Floats random_floats(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  Floats floats(static_cast<std::size_t>(count));
  for (float& f : floats) f = static_cast<float>(random.unit() * 2 - 1);
  return floats;
}

// The derivative of `loss` by each entry.
template <class Loss>
std::vector<double> derivative(const Floats& at, const Loss& loss) {
  constexpr double kStep = 1e-3;
  std::vector<double> x(at.begin(), at.end()), all;
  for (double& entry : x) {
    const double before = entry;
    entry = before + kStep;
    const double above = loss(x);
    entry = before - kStep;
    all.push_back((above - loss(x)) / (2 * kStep));
    entry = before;
  }
  return all;
}

void expect_near(const Floats& got, const std::vector<double>& expected, const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << what << " " << i;
}

// sum over tokens and columns of gradient * sum over routes of prob * row
template <class Rows, class Probs>
double combine_loss(const Small& s, const Rows& rows, const Probs& probs, const Floats& gradient) {
  double loss = 0;
  for (std::int64_t t = 0; t < Small::kTokens; ++t) {
    for (std::int64_t k = 0; k < Small::kTopk; ++k) {
      for (std::int64_t h = 0; h < Small::kHidden && s.row(t, k) >= 0; ++h)
        loss += double{gradient[static_cast<std::size_t>(t * Small::kHidden + h)]} *
                probs[static_cast<std::size_t>(t * Small::kTopk + k)] *
                rows[static_cast<std::size_t>(s.row(t, k) * Small::kHidden + h)];
    }
  }
  return loss;
}

TEST(MoeMovementGradient, OfACombineIsItsDerivative) {
  const Small s;
  const Floats rows = random_floats(Small::kRows * Small::kHidden, 1), probs = random_floats(15, 2);
  const Floats gradient = random_floats(Small::kTokens * Small::kHidden, 3);
  Floats out(rows.size(), 7), out_probs(probs.size(), 7);
  moe::move_on_host(Small::movement(moe::Form::combine_gradient, true, true),
                    {gradient.data(), s.token_rows.data(), s.pads.data(), probs.data(), out.data(), out_probs.data(),
                     rows.data(), nullptr});
  expect_near(out, derivative(rows, [&](const auto& x) { return combine_loss(s, x, probs, gradient); }), "rows");
  expect_near(out_probs, derivative(probs, [&](const auto& x) { return combine_loss(s, rows, x, gradient); }), "probs");

  // Without factors it is the dispatch of the gradient.
  const Floats ones(probs.size(), 1);
  std::fill(out.begin(), out.end(), 7.0F);
  moe::move_on_host(Small::movement(moe::Form::dispatch, true, false),
                    {gradient.data(), s.token_rows.data(), s.pads.data(), nullptr, out.data(), nullptr, nullptr});
  expect_near(out, derivative(rows, [&](const auto& x) { return combine_loss(s, x, ones, gradient); }), "rows");
}

TEST(MoeMovementGradient, OfADispatchIsItsDerivative) {
  const Small s;
  const Floats tokens = random_floats(Small::kTokens * Small::kHidden, 4), probs = random_floats(15, 5);
  const Floats gradient = random_floats(Small::kRows * Small::kHidden, 6), of_probs = random_floats(Small::kRows, 7);
  // Through the dispatch itself: both are linear.
  const auto loss = [&](const auto& x, const auto& p) {
    const Floats source(x.begin(), x.end()), given(p.begin(), p.end());
    Floats out(gradient.size()), out_probs(of_probs.size());
    moe::move_on_host(
        Small::movement(moe::Form::dispatch, false, true),
        {source.data(), s.token_rows.data(), s.pads.data(), given.data(), out.data(), out_probs.data(), nullptr});
    return std::inner_product(out.begin(), out.end(), gradient.begin(), 0.0) +
           std::inner_product(out_probs.begin(), out_probs.end(), of_probs.begin(), 0.0);
  };
  Floats out(tokens.size(), 7), out_probs(probs.size(), 7);
  moe::move_on_host(
      Small::movement(moe::Form::combine, false, true),
      {gradient.data(), s.token_rows.data(), nullptr, of_probs.data(), out.data(), out_probs.data(), nullptr});
  const auto by_tokens = derivative(tokens, [&](const auto& x) { return loss(x, probs); });
  const auto by_probs = derivative(probs, [&](const auto& x) { return loss(tokens, x); });
  ASSERT_EQ(out.size(), by_tokens.size());
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], by_tokens[i], 1e-3) << "inputs are rounded to fp32";
  for (std::size_t i = 0; i < out_probs.size(); ++i) EXPECT_NEAR(out_probs[i], by_probs[i], 1e-3);
}

// The probabilities of experts give what those of routes give, and their gradients are at the experts' places.
TEST(MoeMovementReference, ProbabilitiesOfExpertsAreThoseOfTheirRoutes) {
  constexpr std::int64_t kExperts = 6;
  const Small s;
  const Numbers experts = {5, 0, 2, 3, -1, 1, 0, 4, 9, -1, -1, -1, 2, 3, 4};
  const Floats source = random_floats(Small::kRows * Small::kHidden, 8), probs = random_floats(16, 9);
  const Floats rows = random_floats(Small::kRows * Small::kHidden, 10);
  const auto place = [&](std::size_t route) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(route) / Small::kTopk * kExperts + experts[route]);
  };
  Floats dense(Small::kTokens * kExperts, 100);
  for (std::size_t route = 0; route < experts.size(); ++route) {
    if (s.token_rows[route] >= 0) dense[place(route)] = probs[route];
  }
  struct {
    moe::Form form;
    bool weighted;
  } const kForms[] = {{moe::Form::dispatch, false},
                      {moe::Form::combine, false},
                      {moe::Form::combine, true},
                      {moe::Form::combine_gradient, true}};
  for (const auto& [form, weighted] : kForms) {
    moe::Movement m = Small::movement(form, weighted, true);
    m.rules.experts = kExperts;
    // Without a row they are not looked at.
    const bool of_rows = form == moe::Form::combine && !weighted;
    const auto run = [&](bool is_dense, Floats& out, Floats& out_probs) {
      m.dense = is_dense;
      moe::Operands o{source.data(), s.token_rows.data(), s.pads.data(), nullptr,
                      out.data(),    out_probs.data(),    rows.data()};
      o.probs = of_rows || !is_dense ? probs.data() : dense.data();
      o.token_experts = is_dense ? experts.data() : nullptr;
      moe::move_on_host(m, o);
    };
    Floats out(source.size(), 7), same(source.size(), 7), of_routes(16, 7), of_experts(Small::kTokens * kExperts, 7);
    run(false, out, of_routes);
    run(true, same, of_experts);
    EXPECT_EQ(out, same);
    if (form == moe::Form::dispatch) {
      EXPECT_EQ(Floats(of_experts.begin(), of_experts.begin() + 16), of_routes) << "of rows";
    } else if (moe::collects_probs(m)) {
      Floats expected(of_experts.size(), 0);
      for (std::size_t route = 0; route < experts.size(); ++route) {
        if (s.token_rows[route] >= 0) expected[place(route)] = of_routes[route];
      }
      EXPECT_EQ(of_experts, expected);
    }
  }
}

TEST(MoeMovementReference, ARouteWithAProbabilityOfZeroIsARowOfZeros) {
  const Small s;
  Floats source(Small::kTokens * Small::kHidden, 3), probs(15, 1), out(Small::kRows * Small::kHidden, 7), moved(16, 7);
  probs[1] = 0;
  probs[3] = -0.0F;
  moe::move_on_host(
      Small::movement(moe::Form::dispatch, false, true),
      {source.data(), s.token_rows.data(), s.pads.data(), probs.data(), out.data(), moved.data(), nullptr});
  const auto value = [&](std::int32_t row) { return out[static_cast<std::size_t>(row) * Small::kHidden + 10]; };
  EXPECT_EQ(value(s.row(0, 0)), 3);
  EXPECT_EQ(value(s.row(0, 1)), 0);
  EXPECT_EQ(value(s.row(1, 0)), 0);
  EXPECT_EQ(value(6), 0) << "a padding row";
  EXPECT_EQ(moved[0], 0);
  EXPECT_EQ(moved[3], 1);
  EXPECT_EQ(moved[6], 0) << "a padding row";
}

}  // namespace
}  // namespace quern
