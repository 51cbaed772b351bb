#include "common/scaling.cuh"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "mxfp8/mxfp8.h"

namespace quern::common {
namespace {

using Bytes = std::array<u8, 33>;  // a scale and 32 elements
using Bits = std::array<u32, 32>;

// The columns of the golden file, after the kind of the row and the numbers.
struct Column {
  DType element;
  Mxfp8Policy policy;
  Mxfp8Mode mode;
};
constexpr Column kColumns[] = {
    {e4m3, Mxfp8Policy::ao, Mxfp8Mode::floor}, {e4m3, Mxfp8Policy::ao, Mxfp8Mode::rceil},
    {e4m3, Mxfp8Policy::ao, Mxfp8Mode::ceil},  {e4m3, Mxfp8Policy::ao, Mxfp8Mode::even},
    {e4m3, Mxfp8Policy::te, Mxfp8Mode::rceil}, {e5m2, Mxfp8Policy::ao, Mxfp8Mode::floor},
    {e5m2, Mxfp8Policy::ao, Mxfp8Mode::rceil}, {e5m2, Mxfp8Policy::ao, Mxfp8Mode::ceil},
    {e5m2, Mxfp8Policy::ao, Mxfp8Mode::even},  {e5m2, Mxfp8Policy::te, Mxfp8Mode::rceil},
};

struct GoldenRow {
  std::string kind;
  Bits bits;
  std::vector<Bytes> results;
};

u32 hex(const std::string& text, std::size_t at, std::size_t digits) {
  return static_cast<u32>(std::stoul(text.substr(at, digits), nullptr, 16));
}

// Made by an implementation in exact fractions, which shares nothing with this one.
std::vector<GoldenRow> golden() {
  std::ifstream file(QUERN_TESTS "/unit/common/mxfp8_golden.txt");
  std::vector<GoldenRow> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    GoldenRow row;
    std::string word;
    words >> row.kind >> word;
    for (std::size_t i = 0; i < 32; ++i) row.bits[i] = hex(word, 8 * i, 8);
    while (words >> word) {
      Bytes& bytes = row.results.emplace_back();
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<u8>(hex(word, 2 * i, 2));
    }
    rows.push_back(row);
  }
  return rows;
}

template <class Element, ScaleMode M, ScalePolicy P>
Bytes quantize(const Bits& bits) {
  u32 m = 0;
  for (const u32 b : bits) m = Magnitudes<float>::larger(m, magnitudes<float, P>(b));
  const u32 scale = scale_of<Element, M, P>(Magnitudes<float>::as_fp32(m));
  Bytes bytes = {static_cast<u8>(scale)};
  for (std::size_t i = 0; i < 32; ++i)
    bytes[i + 1] = Element::encode(bit_cast<float>(bits[i]) * scale_reciprocal(scale));
  return bytes;
}

template <class Element>
std::vector<Bytes> quantize_all(const Bits& bits) {
  return {quantize<Element, ScaleMode::floor, ScalePolicy::ao>(bits),
          quantize<Element, ScaleMode::rceil, ScalePolicy::ao>(bits),
          quantize<Element, ScaleMode::ceil, ScalePolicy::ao>(bits),
          quantize<Element, ScaleMode::even, ScalePolicy::ao>(bits),
          quantize<Element, ScaleMode::rceil, ScalePolicy::te>(bits)};
}

TEST(Scaling, EveryGoldenBlockInEveryModeBitForBit) {
  const std::vector<GoldenRow> rows = golden();
  ASSERT_EQ(rows.size(), 87u);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::vector<Bytes> got = quantize_all<E4m3>(rows[r].bits);
    for (const Bytes& bytes : quantize_all<E5m2>(rows[r].bits)) got.push_back(bytes);
    for (std::size_t c = 0; c < std::size(kColumns); ++c)
      EXPECT_EQ(got[c], rows[r].results.at(c)) << rows[r].kind << " of line " << r + 1 << ", column " << c;
  }
}

// The reference that kernels are held against is held against the same.
TEST(Scaling, TheFamilysReferenceAgreesWithTheGoldenBlocks) {
  const std::vector<GoldenRow> rows = golden();
  ASSERT_EQ(rows.size(), 87u);
  for (const GoldenRow& row : rows) {
    for (std::size_t c = 0; c < std::size(kColumns); ++c) {
      Mxfp8 problem;
      problem.rows = 1;
      problem.cols = 32;
      problem.dtype = f32;
      problem.element = kColumns[c].element;
      problem.policy = kColumns[c].policy;
      problem.mode = kColumns[c].mode;
      Bytes got = {};
      Mxfp8Args args;
      args.source = row.bits.data();
      args.scales = got.data();
      args.out = got.data() + 1;
      Mxfp8::family().reference(&problem, &args);
      EXPECT_EQ(got, row.results.at(c)) << row.kind << ", column " << c;
    }
  }
}

// The smallest power of two of at least amax / largest, from the definition: by multiplication.
u32 rceil_by_definition(u32 amax, float largest) {
  const float quotient = bit_cast<float>(amax) * (1.0F / largest);
  if (!std::isfinite(quotient)) return 255;
  if (quotient <= std::ldexp(1.0F, -127)) return 0;
  int exponent = 0;
  const bool power = std::frexp(quotient, &exponent) == 0.5F;
  return static_cast<u32>(127 + exponent - (power ? 1 : 0));
}

template <class Element>
void expect_rceil(u32 amax, float largest) {
  const u32 wanted = rceil_by_definition(amax, largest);
  ASSERT_EQ((scale_of<Element, ScaleMode::rceil, ScalePolicy::ao>(amax)), wanted) << amax;
  if (amax > 0x7f800000u) return;
  ASSERT_EQ((scale_of<Element, ScaleMode::rceil, ScalePolicy::te>(amax)), std::min(254u, wanted)) << amax;
}

// All of bf16's magnitudes, and of fp32's those around every turn and every 4099th.
TEST(Scaling, RoundingUpInIntegersIsRoundingUpAQuotient) {
  std::vector<u32> magnitudes;
  for (u32 b = 0; b < 0x8000; ++b) magnitudes.push_back(b << 16);
  for (u32 b = 0; b < 0x80000000u - 4099; b += 4099) magnitudes.push_back(b);
  for (u32 exponent = 0; exponent < 256; ++exponent) {
    for (const u32 turn : {0u, 0x400000u, 0x600000u, 0x7ffff0u}) {
      for (u32 i = 0; i < 16; ++i) magnitudes.push_back((exponent << 23 | turn) + i - (turn == 0x600000u ? 8 : 0));
    }
  }
  for (const u32 amax : magnitudes) {
    expect_rceil<E4m3>(amax, 448);
    expect_rceil<E5m2>(amax, 57344);
    if (HasFatalFailure()) return;
  }
}

TEST(Scaling, AReciprocalTimesItsScaleIsOne) {
  for (u32 scale = 0; scale < 255; ++scale) {
    EXPECT_EQ(static_cast<double>(scale_reciprocal(scale)) * std::ldexp(1.0, static_cast<int>(scale) - 127), 1.0)
        << scale;
  }
  EXPECT_TRUE(std::isnan(scale_reciprocal(255)));
}

// A kernel's shuffles rely on this: magnitudes are ordered like their bits, with NaNs above all.
TEST(Scaling, MagnitudesOfHalfWordsAreTakenTwoAtATime) {
  EXPECT_EQ(max_halves(0x12345678u, 0x21436587u), 0x21436587u);
  EXPECT_EQ(max_halves(0xffff0001u, 0x0000fffeu), 0xfffffffeu);
  EXPECT_EQ((magnitudes<Bf16, ScalePolicy::ao>(0xffc1bf80u)), 0x7fc13f80u);
  EXPECT_EQ((magnitudes<Bf16, ScalePolicy::te>(0xffc1bf80u)), 0x00003f80u);
  EXPECT_EQ((magnitudes<Bf16, ScalePolicy::te>(0xff807f81u)), 0x7f800000u);
  EXPECT_EQ((magnitudes<Fp16, ScalePolicy::te>(0x7c01fc00u)), 0x00007c00u);
  EXPECT_EQ(Magnitudes<Fp16>::fold(0x3c007bffu), 0x7bffu);
  EXPECT_EQ(Magnitudes<Fp16>::as_fp32(0x3c00u), 0x3f800000u);
}

}  // namespace
}  // namespace quern::common
