#include "common/numbers.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "unit/common/support.h"

namespace quern::common {
namespace {

// A format from its definition, in doubles: shares no code with the code under test.
template <class T>
struct Format;
template <>
struct Format<Bf16> {
  static constexpr int kMantissa = 7, kMinExponent = -126;
  static constexpr double kMax = 0x1.fep127;
  static constexpr unsigned kNan = 0x7fff, kSign = 0x8000;
  static constexpr bool kSaturates = false;
};
template <>
struct Format<Fp16> {
  static constexpr int kMantissa = 10, kMinExponent = -14;
  static constexpr double kMax = 65504;
  static constexpr unsigned kNan = 0x7fff, kSign = 0x8000;
  static constexpr bool kSaturates = false;
};
template <>
struct Format<E4m3> {
  static constexpr int kMantissa = 3, kMinExponent = -6;
  static constexpr double kMax = 448;
  static constexpr unsigned kNan = 0x7f, kSign = 0x80;
  static constexpr bool kSaturates = true;
};
template <>
struct Format<E5m2> {
  static constexpr int kMantissa = 2, kMinExponent = -14;
  static constexpr double kMax = 57344;
  static constexpr unsigned kNan = 0x7f, kSign = 0x80;
  static constexpr bool kSaturates = true;
};

// The nearest value of the format, ties to even: scale to where the last place is one, round there, scale back.
template <class T>
double nearest(double x) {
  if (std::isnan(x)) return x;
  const double magnitude = std::fabs(x);
  const int exponent = magnitude == 0 || std::isinf(x) ? 0 : std::max(std::ilogb(magnitude), Format<T>::kMinExponent);
  const double unit = std::ldexp(1.0, exponent - Format<T>::kMantissa);
  const double rounded = std::isinf(x) ? magnitude : std::nearbyint(magnitude / unit) * unit;
  const double over = Format<T>::kSaturates ? Format<T>::kMax : double{kInfinity};
  return std::copysign(rounded > Format<T>::kMax ? over : rounded, x);
}

template <class T>
unsigned code_of(float x) {
  return from_compute<T>(x).bits;
}

template <class T>
void expect_nearest(float x) {
  const unsigned code = code_of<T>(x);
  if (std::isnan(x)) {
    ASSERT_EQ(code, Format<T>::kNan);
    return;
  }
  const double want = nearest<T>(x), got = to_float(T{static_cast<typename T::Code>(code)});
  ASSERT_TRUE(got == want && std::signbit(got) == std::signbit(want)) << x << ": " << got << ", not " << want;
}

template <class T>
class SmallNumbers : public testing::Test {
 protected:
  static constexpr unsigned kCodes = 1u << (8 * sizeof(T));
  static T number(unsigned code) { return {static_cast<typename T::Code>(code)}; }
};
using Types = testing::Types<Bf16, Fp16, E4m3, E5m2>;
TYPED_TEST_SUITE(SmallNumbers, Types);

TYPED_TEST(SmallNumbers, EveryCodeSurvivesARoundTrip) {
  for (unsigned code = 0; code < this->kCodes; ++code) {
    const float value = to_float(this->number(code));
    if (std::isnan(value)) {
      EXPECT_EQ(code_of<TypeParam>(value), Format<TypeParam>::kNan);
    } else if (std::isinf(value) && Format<TypeParam>::kSaturates) {
      EXPECT_EQ(code_of<TypeParam>(value), code - 1);
    } else {
      EXPECT_EQ(code_of<TypeParam>(value), code);
    }
  }
}

TYPED_TEST(SmallNumbers, CodesAreInTheOrderOfTheirValues) {
  const unsigned infinity = code_of<TypeParam>(static_cast<float>(Format<TypeParam>::kMax));
  for (unsigned code = 0; code < infinity; ++code) {
    ASSERT_LT(to_float(this->number(code)), to_float(this->number(code + 1)));
    ASSERT_EQ(to_float(this->number(code)), -to_float(this->number(code | Format<TypeParam>::kSign)));
  }
  EXPECT_EQ(to_float(this->number(infinity)), Format<TypeParam>::kMax);
}

TYPED_TEST(SmallNumbers, SmallestSubnormal) {
  const double smallest = std::ldexp(1.0, Format<TypeParam>::kMinExponent - Format<TypeParam>::kMantissa);
  EXPECT_EQ(to_float(this->number(1)), smallest);
  EXPECT_EQ(code_of<TypeParam>(static_cast<float>(smallest / 2)), 0u);
  EXPECT_EQ(code_of<TypeParam>(std::nextafter(static_cast<float>(smallest / 2), 1.0f)), 1u);
}

TYPED_TEST(SmallNumbers, RoundsToNearestEvenAroundEveryBoundary) {
  for (unsigned code = 0; code < this->kCodes; ++code) {
    const float low = to_float(this->number(code));
    if (!std::isfinite(low)) continue;
    const float high = to_float(this->number(code + 1 < this->kCodes ? code + 1 : code));
    const float middle = std::isfinite(high) ? low + (high - low) / 2 : low;
    for (const float x : {low, middle}) {
      expect_nearest<TypeParam>(x);
      expect_nearest<TypeParam>(std::nextafter(x, kInfinity));
      expect_nearest<TypeParam>(std::nextafter(x, -kInfinity));
    }
  }
}

TYPED_TEST(SmallNumbers, RoundsToNearestEvenOfRandomBits) {
  std::mt19937 random(7);
  for (int i = 0; i < 1000000; ++i) expect_nearest<TypeParam>(bit_cast<float>(static_cast<u32>(random())));
}

TYPED_TEST(SmallNumbers, SpecialValues) {
  const float biggest = std::numeric_limits<float>::max(), denormal = std::numeric_limits<float>::denorm_min();
  for (const float x :
       {0.0f, kInfinity, kNotANumber, biggest, denormal, 1.0f, 449.0f, 464.0f, 465.0f, 61440.0f, 65520.0f}) {
    expect_nearest<TypeParam>(x);
    expect_nearest<TypeParam>(-x);
  }
  EXPECT_EQ(code_of<TypeParam>(-0.0f), Format<TypeParam>::kSign);
}

TYPED_TEST(SmallNumbers, PairsAreTwoSingles) {
  std::mt19937 random(11);
  for (int i = 0; i < 10000; ++i) {
    const float lo = bit_cast<float>(static_cast<u32>(random())), hi = static_cast<float>(i) / 7;
    const unsigned pair = pack2<TypeParam>(lo, hi);
    ASSERT_EQ(pair, code_of<TypeParam>(lo) | code_of<TypeParam>(hi) << (8 * sizeof(TypeParam)));
    float lo_again, hi_again;
    unpack2<TypeParam>(static_cast<typename TypeParam::Pair>(pair), lo_again, hi_again);
    ASSERT_EQ(bit_cast<u32>(lo_again), bit_cast<u32>(round_to<TypeParam>(lo)));
    ASSERT_EQ(hi_again, RoundTo<TypeParam>()(hi));
  }
}

// Memory order is element order, for every width that a type comes in.
template <class T, int N>
void expect_packs() {
  ComputeOf<T> in[N], out[N];
  for (int i = 0; i < N; ++i) in[i] = static_cast<ComputeOf<T>>(i % 2 == 0 ? 1 + i : -2 - i);
  const auto vector = pack<T>(in);
  static_assert(sizeof(vector) == N * sizeof(T) && alignof(decltype(vector)) == sizeof(vector));
  T stored[N];
  store<N * sizeof(T)>(stored, vector);
  unpack<T>(load<N * sizeof(T)>(stored), out);
  for (int i = 0; i < N; ++i) {
    EXPECT_EQ(to_compute(stored[i]), round_to<T>(in[i])) << N << " " << i;
    EXPECT_EQ(out[i], round_to<T>(in[i])) << N << " " << i;
  }
}

TEST(Numbers, PackAndUnpackEveryWidth) {
  expect_packs<Bf16, 1>(), expect_packs<Bf16, 2>(), expect_packs<Bf16, 4>(), expect_packs<Bf16, 8>();
  expect_packs<Bf16, 16>(), expect_packs<Fp16, 1>(), expect_packs<Fp16, 8>(), expect_packs<Fp16, 16>();
  expect_packs<E4m3, 1>(), expect_packs<E4m3, 2>(), expect_packs<E4m3, 4>(), expect_packs<E4m3, 16>();
  expect_packs<E4m3, 32>(), expect_packs<E5m2, 1>(), expect_packs<E5m2, 2>(), expect_packs<E5m2, 32>();
  expect_packs<float, 1>(), expect_packs<float, 4>(), expect_packs<float, 8>();
  expect_packs<double, 1>(), expect_packs<double, 2>(), expect_packs<double, 4>();
}

TEST(Numbers, NativeTypesAreLeftAlone) {
  EXPECT_EQ(bit_cast<u32>(round_to<float>(bit_cast<float>(0x7fc12345u))), 0x7fc12345u);
  EXPECT_EQ(round_to<double>(0.1), 0.1);
  EXPECT_EQ(to_compute(0.1), 0.1);
  EXPECT_EQ(NoRounding()(0.1f), 0.1f);
}

TEST(Numbers, Fp8OfInfinityAndNan) {
  EXPECT_EQ(code_of<E4m3>(-kInfinity), 0xfeu);
  EXPECT_EQ(code_of<E5m2>(-kInfinity), 0xfbu);
  EXPECT_EQ(code_of<E4m3>(-kNotANumber), 0x7fu);
  EXPECT_EQ(to_float(E5m2{0xfc}), -kInfinity);
  EXPECT_TRUE(std::isnan(to_float(E4m3{0xff})));
}

TEST(E8m0, Decodes) {
  for (int code = 0; code < 255; ++code) EXPECT_EQ(to_float(E8m0{static_cast<u8>(code)}), std::ldexp(1.0, code - 127));
  EXPECT_TRUE(std::isnan(to_float(E8m0{255})));
}

// The table at the end of kernels.md 2.2.
TEST(E8m0, CeilTable) {
  const struct {
    u32 bits;
    int code;
  } rows[] = {{0, 0},
              {1, 0},
              {0x00400000, 0},
              {0x00400001, 1},
              {0x007fffff, 1},
              {0x00800000, 1},
              {0x1f800000, 63},
              {0x1f800001, 64},
              {0x3f7fffff, 127},
              {0x3f800000, 127},
              {0x3f800001, 128},
              {0x5f800000, 191},
              {0x5f800001, 192},
              {0x7f000000, 254},
              {0x7f000001, 255},
              {0x7f7fffff, 255},
              {0x7f800000, 255},
              {0x7fc00000, 255}};
  for (const auto& row : rows) {
    EXPECT_EQ(e8m0_ceil(bit_cast<float>(row.bits)).bits, row.code) << std::hex << row.bits;
    EXPECT_EQ(e8m0_ceil(bit_cast<float>(row.bits | 0x80000000u)).bits, row.code) << std::hex << row.bits;
  }
}

TEST(E8m0, CeilIsTheSmallestPowerNotBelow) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000000; ++i) {
    const float x = bit_cast<float>(static_cast<u32>(random()) & 0x7fffffffu);
    if (!(x <= 0x1p127f)) continue;
    const int code = e8m0_ceil(x).bits;
    ASSERT_LE(x, std::ldexp(1.0, code - 127));
    ASSERT_TRUE(code == 0 || x > std::ldexp(1.0, code - 128)) << x;
  }
}

}  // namespace
}  // namespace quern::common
