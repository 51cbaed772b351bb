// The frequencies of table=computed, in integers: floating point of hosts differs, and an image has the same numbers
// wherever it is made. A frequency is in turns a position, in units of 2^-128.
#include <bit>
#include <cmath>

#include "common/divide.cuh"
#include "rope/problem.h"

namespace quern::rope {
namespace {

using common::u128;

constexpr u128 constant(std::uint64_t high, std::uint64_t low) { return u128{high} << 64 | low; }
constexpr u128 kLogOf2 = constant(0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af);  // the natural one, in units of 2^-128
constexpr u128 kRadian = constant(0x28be60db9391054a, 0x7f09d5f47d4d3770);  // 1 / (2 pi), in the same
constexpr int kLogBits = 120;

// a b / 2^128, rounded down.
u128 multiply(u128 a, u128 b) {
  const u128 a_low = static_cast<std::uint64_t>(a), b_low = static_cast<std::uint64_t>(b);
  const u128 first = (a >> 64) * b_low + (a_low * b_low >> 64);
  const u128 second = a_low * (b >> 64) + static_cast<std::uint64_t>(first);
  return (a >> 64) * (b >> 64) + (first >> 64) + (second >> 64);
}

// A number as it is: digits * 2^exponent, the digits odd.
struct Exact {
  std::uint64_t digits;
  int exponent;
};
Exact exact(double number) {
  int exponent = 0;
  const auto digits = static_cast<std::uint64_t>(std::ldexp(std::frexp(number, &exponent), 53));
  const int zeros = digits == 0 ? 0 : std::countr_zero(digits);
  return {digits >> zeros, exponent - 53 + zeros};
}

// To base 2, in units of 2^-120, of 1 or more. The next digit of a number from 1 to 2 is whether its square is 2 or
// more.
u128 log_of(double number) {
  const Exact n = exact(number);
  const int top = static_cast<int>(std::bit_width(n.digits)) - 1, whole = top + n.exponent;
  u128 log = static_cast<u128>(whole), rest = u128{n.digits} << (127 - top);  // in units of 2^-127
  for (int i = 0; i < kLogBits; ++i) {
    rest = multiply(rest, rest);  // in units of 2^-126
    const bool digit = rest >> 127 != 0;
    log = log << 1 | static_cast<unsigned>(digit);
    if (!digit) rest <<= 1;
  }
  return log;
}

// 2^-x radians, x in units of 2^-120.
u128 power_of(u128 x) {
  const u128 y = multiply(x << (128 - kLogBits), kLogOf2);  // of the fraction
  u128 power = 0;                                           // e^-y by Taylor's series, in units of 2^-127
  for (unsigned i = 40; i > 0; --i) power = (u128{1} << 127) - multiply(y, power) / i;
  return multiply(power, kRadian) << 1 >> static_cast<int>(x >> kLogBits);
}

// a / number, rounded down. The number is 1 or more.
u128 divide(u128 a, double number) {
  const Exact n = exact(number);
  if (n.exponent >= 0) return a / (u128{n.digits} << n.exponent);
  return (a / n.digits << -n.exponent) + (a % n.digits << -n.exponent) / n.digits;
}

// In units of 2^-64, rounded down. The number is at most 2^20.
u128 fixed(double number) {
  const Exact n = exact(number);
  if (n.exponent < -127) return 0;
  return n.exponent >= -64 ? u128{n.digits} << (64 + n.exponent) : u128{n.digits} >> (-64 - n.exponent);
}

// a / b in units of 2^-64, rounded down; a < b < 2^127.
u128 part_of(u128 a, u128 b) {
  u128 part = 0;
  for (int i = 0; i < 64; ++i) {
    a <<= 1;
    part = part << 1 | static_cast<unsigned>(a >= b);
    if (a >= b) a -= b;
  }
  return part;
}

u128 scaled(const Rope& p, u128 frequency) {
  const u128 low = fixed(p.low_factor), high = fixed(p.high_factor), divided = divide(frequency, scaling_factor(p));
  if (p.rope_scaling == RopeScaling::none) return frequency;
  if (p.rope_scaling == RopeScaling::linear) return divided;
  const u128 turns = multiply(frequency, static_cast<u128>(p.old_context) << 64);  // in units of 2^-64, as low and high
  if (turns >= high) return frequency;
  if (turns < low) return divided;
  return divided + multiply(frequency - divided, part_of(turns - low, high - low) << 64);
}

}  // namespace

std::uint64_t frequency(const Rope& p, std::int64_t j) {
  const auto pairs = static_cast<u128>(restarts(p) ? section_of(p, j).pairs : rotary_dim(p) / 2),
             entry = static_cast<u128>(entry_of(p, j)), log = log_of(p.theta);
  const u128 exponent = log / pairs * entry + log % pairs * entry / pairs;
  return static_cast<std::uint64_t>((scaled(p, power_of(exponent)) + (u128{1} << 63)) >> 64);
}

std::string frequencies_source(const Rope& p) {
  std::string text = "// Turns a position of each pair, in units of 2^-64.\nnamespace quern::rope {\n";
  text += "__device__ const unsigned long long kFrequencies[] = {";
  for (std::int64_t j = 0; j < rotary_dim(p) / 2; ++j) text += std::to_string(frequency(p, j)) + "u, ";
  return text + "0};\n}  // namespace quern::rope\n";
}

}  // namespace quern::rope
