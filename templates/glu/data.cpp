#include "glu/data.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "common/host_types.h"
#include "glu/checks.h"
#include "glu/quantized.h"

namespace quern::glu {
namespace {

using common::write_float;

constexpr double kSpecials[] = {0.0, -0.0, NAN, 1e-40, -6e-8, HUGE_VAL, -HUGE_VAL};

// What a number is to the activation: its argument, a bias that is added to that, or nothing.
enum class Kind { argument, bias, factor };

// How many of these an operand has. Beside a denormal factor no argument has results without a doubt, which those of
// generate_arguments need.
std::uint64_t kinds_of_specials(const Glu& p, Kind kind) {
  if (kind == Kind::argument) return std::size(kSpecials);
  return is_quantized(p) && !is_exact(p) ? 3 : 5;
}

// One special number in so many: one makes all NaN that it is added to or shares a scale with.
std::uint64_t numbers_for_a_special(const Glu& p) {
  if (has_sums(p) || p.scaling == GluScaling::row) return 16384;
  return is_quantized(p) ? 512 : 16;
}

double number(const Glu& p, std::uint64_t random, Kind kind) {
  if ((random >> 44) % numbers_for_a_special(p) == 0) return kSpecials[(random >> 8) % kinds_of_specials(p, kind)];
  const double most = p.gating == GluGating::clamped ? 12 : 4;  // beyond the limit, too
  return (static_cast<double>(random >> 40) / static_cast<double>(1 << 23) - 1) * most;
}

// Of factors 32 each have another magnitude, so that scales differ. One that tanh limits has not: the slope of its
// limit has few exact bits.
double magnitude(const Glu& p, std::uint64_t seed, std::int64_t index, Kind kind) {
  if (kind != Kind::factor || !is_quantized(p) || p.gating == GluGating::tanh) return 1;
  return std::ldexp(1.0, static_cast<int>(random_at(seed + 7, static_cast<std::uint64_t>(index / 32)) % 17) - 8);
}

double number_at(const Glu& p, std::uint64_t seed, std::int64_t index, Kind kind) {
  return number(p, random_at(seed, static_cast<std::uint64_t>(index)), kind) * magnitude(p, seed, index, kind);
}

// Of the columns of an operand's row.
std::vector<Kind> kinds(const Glu& p, int operand) {
  if (operand != kX && operand != kBias) return {Kind::factor};
  const bool of_x = operand == kX;
  std::vector<Kind> columns(static_cast<std::size_t>(of_x ? std::max(x_stride(p), row_elements(p)) : 2 * p.width),
                            Kind::factor);
  for (std::int64_t c = 0; c < p.width; ++c) {
    if (of_x)
      columns[static_cast<std::size_t>(columns_of(p, c).a)] = Kind::argument;
    else
      columns[static_cast<std::size_t>(bias_columns(p, c).a)] = Kind::bias;
  }
  return columns;
}

}  // namespace

void generate_numbers(const Glu& p, int operand, const Layout& layout, std::uint64_t seed, void* data) {
  const std::vector<Kind> of_columns = kinds(p, operand);
  const auto row = static_cast<std::int64_t>(of_columns.size());
  if (row == 0) return;
  parallel_for(
      layout.span_bytes() / bytes(layout.dtype), std::int64_t{1} << 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          write_float(layout.dtype, data, i, number_at(p, seed, i, of_columns[static_cast<std::size_t>(i % row)]));
      });
}

namespace {

// One element of a problem, with all that its results are made of.
class OneElement {
 public:
  OneElement(const Glu& p, std::uint64_t seed, std::int64_t row, std::int64_t column) : p_(p), seed_(seed) {
    one_.rows = one_.width = one_.groups = 1;
    one_.activation = p.activation;
    one_.gating = p.gating;
    one_.layout = GluLayout::split;
    one_.pass = p.pass;
    one_.rounding = p.rounding;
    one_.dtype = p.dtype;
    one_.bias = p.bias;
    one_.scale = p.scale;
    one_.recompute = p.recompute;
    const Columns at = columns_of(p, column), of_bias = bias_columns(p, column);
    args_.x = &a_;
    args_.gate = put(g_, p.dtype, is_split(p) ? kGateSeed : kXSeed, row * x_stride(p) + at.g);
    args_.gradient = put(gradient_, p.dtype, kGradientSeed, row * gradient_stride(p) + column);
    if (p.scale != DType::none) args_.scale = put(scale_, p.scale, kScaleSeed, row);
    if (p.bias == DType::none) return;
    args_.bias = put(bias_, p.bias, kBiasSeed, of_bias.a, Kind::bias);
    write_float(p.bias, &bias_, 1, number_at(p, seed_ + kBiasSeed, of_bias.g, Kind::factor));
  }

  void set_gate(double g) { write_float(p_.dtype, &g_, 0, g); }
  bool takes(double a) {
    write_float(p_.dtype, &a_, 0, a);
    return is_same_everywhere(one_, args_);
  }

 private:
  // The places of operands in the family's table.
  enum Seeds : std::uint64_t { kXSeed = 0, kGateSeed = 1, kBiasSeed = 2, kScaleSeed = 3, kGradientSeed = 5 };

  const void* put(double& to, DType type, std::uint64_t operand, std::int64_t index, Kind kind = Kind::factor) const {
    write_float(type, &to, 0, number_at(p_, seed_ + operand, index, kind));
    return &to;
  }

  const Glu& p_;
  std::uint64_t seed_;
  Glu one_;
  GluArgs args_;
  double a_ = 0, g_ = 0, gradient_ = 0, scale_ = 0, bias_ = 0;  // room for numbers of any type; of the bias for two
};

}  // namespace

// A gate that tanh limits has last bits of its own, so it is drawn again too, where x has it.
static void choose_numbers(const Glu& p, std::uint64_t seed, std::int64_t row, std::int64_t column, void* x) {
  constexpr std::uint64_t kTurns = 64;
  const Columns at = columns_of(p, column);
  const std::int64_t begin = row * x_stride(p);
  const bool with_gate = p.gating == GluGating::tanh && !is_split(p);
  OneElement element(p, seed, row, column);
  double a = number_at(p, seed, begin + at.a, Kind::argument);
  for (std::uint64_t turn = 1; !element.takes(a) && turn <= kTurns; ++turn) {
    const std::uint64_t other = seed + turn * 1000003;
    a = turn == kTurns ? 0 : number_at(p, other, begin + at.a, Kind::argument);
    if (!with_gate) continue;
    const double g = turn == kTurns ? 0 : number_at(p, other, begin + at.g, Kind::factor);
    element.set_gate(g);
    write_float(p.dtype, x, begin + at.g, g);
  }
  write_float(p.dtype, x, begin + at.a, a);
}

void generate_arguments(const Glu& p, std::uint64_t seed, void* x) {
  parallel_for(all_rows(p), 1 + (1 << 10) / std::max<std::int64_t>(1, p.width),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   for (std::int64_t c = 0; c < p.width; ++c) choose_numbers(p, seed, row, c, x);
                 }
               });
}

void generate_counts(const Glu& p, std::uint64_t seed, void* data) {
  for (std::int64_t i = 0; i < p.groups; ++i) {
    const auto random = static_cast<std::int64_t>(random_at(seed, static_cast<std::uint64_t>(i)) >> 8);
    common::write_integer(p.counts, data, i, random % (p.rows + 3) - 1);
  }
}

}  // namespace quern::glu
