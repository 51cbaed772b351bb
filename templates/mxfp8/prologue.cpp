#include "mxfp8/prologue.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "base/random.h"
#include "common/activation_reference.h"
#include "common/host_types.h"

namespace quern::mxfp8 {
namespace {

using common::ActivationRow;
using common::kActivationRows;

const ActivationRow& row_of(const Mxfp8& p) { return kActivationRows[static_cast<int>(p.activation)]; }

float number_at(const Mxfp8& p, const void* data, std::int64_t index) {
  return static_cast<float>(common::read_float(p.dtype, data, index));
}

// ---- Arguments on which a GPU and the host agree

constexpr float kLargestArgument = 8;
constexpr float kLargestFactor = 0x1p7F;  // of power_of_two

// The error that a device may have: the table's bound, the additional error of the cheaper functions for 16-bit
// storage, and the cancellation of large terms in derivatives.
float slack(float value) { return std::max(std::abs(value) * 0x1p-14F, 0x1p-20F); }

// The tolerance of an fp32 scale: 2^-14 of its value.
constexpr double kScaleUlps = 512;

// Two numbers in the same bucket round the same way in every rounding: bf16, fp16, elements and powers of two have
// their rounding boundaries at numbers with few mantissa bits. fp32 is not rounded before a block's scale is computed,
// whose boundaries have at most 6 bits.
std::uint32_t bucket(const Mxfp8& p, float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  // The kept bits include the bit of the rounding boundary.
  const int kept = p.dtype == DType::f32 ? 6 : p.dtype == DType::bf16 ? 8 : 11;
  return bits >> (23 - kept);
}

bool is_safe(const Mxfp8& p, float value) {
  if (!std::isfinite(value)) return true;
  const float off = slack(value);
  return bucket(p, value - off) == bucket(p, value + off);
}

// Whether all values that this problem computes from an argument are safe.
bool is_safe_argument(const Mxfp8& p, float x) {
  const ActivationRow& row = row_of(p);
  const bool derivative = has_input(p), value = p.prologue != Mxfp8Prologue::dact;
  return (!derivative || is_safe(p, row.derivative(x, row.alpha))) && (!value || is_safe(p, row.value(x, row.alpha)));
}

// From -kLargestArgument to kLargestArgument, occasionally a special value.
float argument(const Mxfp8& p, std::uint64_t random) {
  static constexpr float kSpecials[] = {0.0F, -0.0F, HUGE_VALF, NAN};
  if (random >> 50 == 0) return kSpecials[random % 4];
  return common::round_float(p.dtype,
                             (static_cast<float>(random >> 40 & 0xffffff) * 0x1p-24F - 0.5F) * (2 * kLargestArgument));
}

float power_of_two(std::uint64_t random) {
  const float size = std::ldexp(1.0F, static_cast<int>(random >> 32 & 15) - 8);
  return random % 2 == 0 ? size : -size;
}

// The first safe argument; most are safe.
float safe_argument(const Mxfp8& p, std::uint64_t seed, std::uint64_t index) {
  for (std::uint64_t turn = 0;; ++turn) {
    const float x = argument(p, random_at(seed + turn * 1000003, index));
    if (is_safe_argument(p, x)) return x;
  }
}

// Whether the activation is applied to an element of source or input.
bool is_argument(const Mxfp8& p, bool input, std::int64_t column) {
  switch (p.prologue) {
    case Mxfp8Prologue::act:
      return true;
    case Mxfp8Prologue::gated:
      return column < p.cols;
    case Mxfp8Prologue::dact:
      return input;
    default:
      return input && column < p.cols / 2;
  }
}

// Whether a GPU and the host compute the same bits from the same arguments, before rounding: a few IEEE fp32 operations
// each.
bool is_exact(const Mxfp8& p) {
  switch (p.activation) {
    case Activation::identity:
    case Activation::relu:
    case Activation::srelu:
    case Activation::fatrelu:
    case Activation::leaky_relu:
    case Activation::hardswish:
    case Activation::abs:
      return true;
    default:
      return false;
  }
}

// The error bound of a column sum of fp32 numbers that result from generate_arguments.
double sum_slack(const Mxfp8& p) {
  const ActivationRow& row = row_of(p);
  float largest = 0;
  for (float x = -kLargestArgument; x <= kLargestArgument; x += 0x1p-4F)
    largest = std::max({largest, std::abs(row.value(x, row.alpha)), std::abs(row.derivative(x, row.alpha))});
  // The numbers in the gradient of a gated activation have two factors.
  return static_cast<double>(p.rows) * slack(largest) * kLargestFactor * kLargestFactor;
}

}  // namespace

// If fp32 numbers differ by a few ulps, so do scales that are computed from them without rounding to a power of two,
// and an element may be off by one; everything else is exact, see generate_arguments.
Tolerance prologue_tolerance(const Mxfp8& p, std::string_view operand) {
  if (p.dtype != DType::f32 || is_exact(p)) return {0, 0, true};
  if (operand == "bias_gradient") return {0, sum_slack(p)};
  if (!has_fp32_scales(p) || (p.mode != Mxfp8Mode::exact && !has_given_scale(p))) return {0, 0, true};
  return {operand == "scales" || operand == "scales_col" ? kScaleUlps : 1.0};
}

float made(const Mxfp8& p, const Mxfp8Args& a, std::int64_t row, std::int64_t column) {
  const ActivationRow& activation = row_of(p);
  const float alpha = common::alpha_or_default(static_cast<int>(p.activation), a.alpha);
  const auto source = [&](std::int64_t c) { return number_at(p, a.source.data, row_begin(matrix_of(p), row) + c); };
  const auto input = [&](std::int64_t c) { return number_at(p, a.input.data, row * p.cols + c); };
  const std::int64_t half = p.cols / 2;
  switch (p.prologue) {
    case Mxfp8Prologue::act:
      return activation.value(source(column), alpha);
    case Mxfp8Prologue::gated:
      return activation.value(source(column), alpha) * source(p.cols + column);
    case Mxfp8Prologue::dact:
      return source(column) * activation.derivative(input(column), alpha);
    case Mxfp8Prologue::dgated:
      return column < half ? source(column) * activation.derivative(input(column), alpha) * input(half + column)
                           : source(column - half) * activation.value(input(column - half), alpha);
    default:
      return source(column);
  }
}

void generate_arguments(const Mxfp8& p, bool input, std::uint64_t seed, void* data) {
  const Matrix m = matrix_of(p);
  const std::int64_t line = input ? p.cols : m.line;
  parallel_for(m.experts * m.rows, 1 + (1 << 14) / std::max<std::int64_t>(1, line),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin * line; i < end * line; ++i) {
                   const std::int64_t column = i % line;
                   const auto index = static_cast<std::uint64_t>(i);
                   const std::uint64_t random = random_at(seed, index);
                   float x = argument(p, random);
                   if (!is_exact(p))
                     x = is_argument(p, input, column) ? safe_argument(p, seed, index) : power_of_two(random);
                   common::write_float(p.dtype, data, (input ? i / line * line : row_begin(m, i / line)) + column, x);
                 }
               });
}

}  // namespace quern::mxfp8
