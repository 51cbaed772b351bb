#include "mx/block_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quern::mx {
namespace {

constexpr std::uint32_t kNan = 0x7fffffffU;  // the only NaN that is stored

struct ElementType {
  float largest;
  int largest_exponent;
  int mantissa_bits;
};

ElementType element_type(DType element) {
  return element == DType::e4m3 ? ElementType{448.0F, 8, 3} : ElementType{57344.0F, 15, 2};
}

std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// The E8M0 byte of the smallest power of two that is not below x; 255 if there is none.
int byte_above(float x) {
  if (!std::isfinite(x)) return 255;
  if (x <= std::ldexp(1.0F, -127)) return 0;
  int exponent = 0;
  const float fraction = std::frexp(x, &exponent);  // x = fraction * 2^exponent, fraction in [0.5, 1)
  return 127 + (fraction == 0.5F ? exponent - 1 : exponent);
}

// 1 / largest, rounded to fp32: as in torchao and TransformerEngine.
int rceil_byte(float amax, const ElementType& type) { return byte_above(amax * (1.0F / type.largest)); }

// The exponent field of a finite amax after rounding in its bit pattern: it may become 255.
int rounded_field(float amax, ScaleMode mode, const ElementType& type) {
  std::uint32_t bits = bits_of(amax);
  if (mode == ScaleMode::even) bits += std::uint32_t{1} << (23 - type.mantissa_bits - 1);
  if (mode == ScaleMode::ceil && (bits & 0x7fffff) != 0) bits += 0x800000;
  return static_cast<int>(bits >> 23);
}

int scale_byte(const ScaleRule& rule, float amax) {
  const ElementType type = element_type(rule.element);
  if (rule.policy == ScalePolicy::te) return std::min(254, rceil_byte(amax, type));
  if (!std::isfinite(amax)) return 255;
  if (rule.mode == ScaleMode::rceil) return rceil_byte(amax, type);
  return std::max(0, rounded_field(amax, rule.mode, type) - type.largest_exponent);
}

float value_of_byte(int scale) {
  return scale == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, scale - 127);
}

}  // namespace

BlockScale fp32_scale(float scale) { return {std::isnan(scale) ? kNan : bits_of(scale), 1.0F / scale}; }

BlockScale scale_of_block(const ScaleRule& rule, float amax) {
  if (rule.mode != ScaleMode::exact) {
    const int byte = scale_byte(rule, amax);
    if (rule.fp32) return fp32_scale(value_of_byte(byte));
    return {static_cast<std::uint32_t>(byte), byte == 255 ? value_of_byte(255) : std::ldexp(1.0F, 127 - byte)};
  }
  if (!std::isfinite(amax)) return fp32_scale(std::numeric_limits<float>::quiet_NaN());
  return fp32_scale(std::max(amax / element_type(rule.element).largest, 0x1p-126F));
}

float larger_magnitude(ScalePolicy policy, float amax, float x) {
  if (std::isnan(x)) return policy == ScalePolicy::te ? amax : x;
  return std::isnan(amax) ? amax : std::max(amax, std::abs(x));
}

std::uint8_t encode_element(DType element, float x) {
  return element == DType::e4m3 ? common::E4m3::encode(x) : common::E5m2::encode(x);
}

std::uint32_t bits_near(int exponent, std::uint64_t random, bool special) {
  static constexpr std::uint32_t kTurns[] = {0, 0x600000, 0x600001, 0x7fffff, 0x700000, 0x780000, 0x400000, 1};
  static constexpr std::uint32_t kSpecials[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f7fffff, 0x80000000};
  if (special) return kSpecials[random % 6];
  const int field = std::clamp(exponent - static_cast<int>(random >> 4 & 15), 0, 254);
  const auto mantissa = random % 4 == 0 ? kTurns[random >> 8 & 7] : static_cast<std::uint32_t>(random >> 16) & 0x7fffff;
  return static_cast<std::uint32_t>(random >> 63) << 31 | static_cast<std::uint32_t>(field) << 23 | mantissa;
}

}  // namespace quern::mx
