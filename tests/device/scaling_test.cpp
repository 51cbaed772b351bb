// The scale of every magnitude that a block can have, against its definition.
#include <gtest/gtest.h>

#include "base/text.h"
#include "support/device.h"
#include "support/test_kernel.h"

namespace quern::test {
namespace {

// The definitions as templates/mxfp8/README.md has them, in fp32 and integers, step by step. `wrong` and `seen` count,
// `which` is one that is wrong.
const std::string kReference = R"(
#include "common/scaling.cuh"

QUERN_DEVICE u32 power_above(u32 bits) {
  const u32 exponent = bits >> 23, mantissa = bits & 0x7fffffu;
  if (exponent == 255) return 255;
  return exponent == 0 ? (mantissa > 0x400000u ? 1 : 0) : exponent + (mantissa != 0 ? 1 : 0);
}

template <class Element>
QUERN_DEVICE u32 defined(u32 amax, ScaleMode mode, ScalePolicy policy) {
  constexpr bool kWide = ScaledElement<Element>::kMantissaBits == 2;  // e5m2
  const u32 down = kWide ? 15 : 8;
  if (policy == ScalePolicy::ao && amax >= 0x7f800000u) return 255;
  if (mode == ScaleMode::rceil) {
    const u32 scale = power_above(bit_cast<u32>(bit_cast<float>(amax) * (1.0f / (kWide ? 57344.0f : 448.0f))));
    return policy == ScalePolicy::te && scale > 254 ? 254 : scale;
  }
  if (mode == ScaleMode::even) amax += 1u << (23 - (kWide ? 2 : 3) - 1);
  if (mode == ScaleMode::ceil && (amax & 0x7fffffu) != 0) amax += 0x800000u;
  return amax >> 23 > down ? (amax >> 23) - down : 0;
}

template <class Element, ScaleMode M, ScalePolicy P>
QUERN_DEVICE bool is_right(u32 amax) {
  return scale_of<Element, M, P>(amax) == defined<Element>(amax, M, P);
}

// fp32 scales from their definitions, through double: rounding to 53 bits and then to 24 equals rounding once.
template <class Element>
QUERN_DEVICE u32 defined_exact(u32 amax) {
  const double scale = static_cast<double>(bit_cast<float>(amax)) / (ScaledElement<Element>::kMantissaBits == 2 ? 57344 : 448);
  return amax >= 0x7f800000u ? 0x7fffffffu : bit_cast<u32>(static_cast<float>(scale < 0x1p-126 ? 0x1p-126 : scale));
}

template <class Element, ScaleMode M>
QUERN_DEVICE bool is_right_fp32(u32 amax) {
  using Fp32 = Fp32Scaling<Element, M>;
  const u32 scale = Fp32::stored(amax), byte = defined<Element>(amax, M, ScalePolicy::ao);
  const float reciprocal = Fp32::reciprocal(scale);
  if (amax >= 0x7f800000u) return scale == 0x7fffffffu && reciprocal != reciprocal;
  const u32 power = byte == 0 ? 0x00400000u : byte << 23;
  return scale == (M == ScaleMode::exact ? defined_exact<Element>(amax) : power) && reciprocal == 1.0f / bit_cast<float>(scale);
}

template <class Element>
QUERN_DEVICE bool are_right(u32 amax) {
  return is_right_fp32<Element, ScaleMode::exact>(amax) && is_right_fp32<Element, ScaleMode::rceil>(amax) &&
         is_right_fp32<Element, ScaleMode::floor>(amax) && is_right<Element, ScaleMode::floor, ScalePolicy::ao>(amax) &&
         is_right<Element, ScaleMode::rceil, ScalePolicy::ao>(amax) &&
         is_right<Element, ScaleMode::ceil, ScalePolicy::ao>(amax) &&
         is_right<Element, ScaleMode::even, ScalePolicy::ao>(amax) &&
         (amax > 0x7f800000u || is_right<Element, ScaleMode::rceil, ScalePolicy::te>(amax));
}

QUERN_DEVICE void check(u32 amax, int* out) {
  if (are_right<E4m3>(amax) && are_right<E5m2>(amax)) return;
  atomicAdd(out, 1);
  atomicMax(out + 1, static_cast<int>(amax));
})";

class Scaling : public DeviceTest {
 protected:
  // How many magnitudes were looked at; all must be right. `body` calls check for those of a thread, of which it is
  // the `t`th of `all`, and counts them in `seen`.
  std::uint32_t look(const std::string& body, int step) {
    const TestKernel kernel(runtime().state().compiler, options().driver,
                            cat("const u32 t = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;"
                                "int seen = 0;",
                                body, "atomicAdd(out + 2, seen);"),
                            kReference);
    const std::vector<int> out = kernel.run({1024, 128}, 3, step);
    EXPECT_EQ(out[0], -1) << "one that is wrong: " << out[1];
    return static_cast<std::uint32_t>(out[2]) + 1;
  }
};

// All 2^31 on a GPU, about a million of them on the host.
TEST_F(Scaling, EveryMagnitudeOfFp32HasItsScale) {
  const std::uint32_t step = on_host() ? 2039 : 1;
  const std::uint32_t seen =
      look("for (u64 i = t; i * n < 0x80000000ull; i += all, ++seen) check(u32(i * n), out);", static_cast<int>(step));
  EXPECT_EQ(seen, (0x80000000u + step - 1) / step);
}

// Four bits on either side of each sixteenth of each power of two, on the host too.
TEST_F(Scaling, MagnitudesWhereARoundingTurnsHaveTheirScales) {
  EXPECT_EQ(
      look("for (u32 i = t; i < 256 * 16 * 8; i += all, ++seen) check((i / 8 << 19) + i % 8 - 4 & 0x7fffffffu, out);",
           1),
      256u * 16 * 8);
}

TEST_F(Scaling, EveryMagnitudeOf16BitsHasItsScale) {
  EXPECT_EQ(look("for (u32 i = t; i < 0x8000u; i += all, ++seen) {"
                 "  if (Magnitudes<Bf16>::as_fp32(i) != i << 16) atomicAdd(out, 1);"
                 "  check(Magnitudes<Bf16>::as_fp32(i), out);"
                 "  check(Magnitudes<Fp16>::as_fp32(i), out);"
                 "}",
                 1),
            0x8000u);
}

}  // namespace
}  // namespace quern::test
