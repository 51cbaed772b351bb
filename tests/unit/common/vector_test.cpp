#include "common/vector.cuh"

#include <gtest/gtest.h>

#include "common/realign.cuh"

namespace quern::common {
namespace {

template <int Bytes, LoadHint L, StoreHint S>
void expect_copies() {
  alignas(32) unsigned char from[Bytes], to[Bytes + 1];
  for (int i = 0; i < Bytes; ++i) from[i] = static_cast<unsigned char>(17 * i + 1);
  to[Bytes] = 99;
  store<Bytes, S>(to, load<Bytes, L>(from));
  EXPECT_EQ(std::memcmp(from, to, Bytes), 0);
  EXPECT_EQ(to[Bytes], 99);
}

template <int Bytes>
void expect_copies_whatever_the_hints() {
  expect_copies<Bytes, LoadHint::plain, StoreHint::plain>();
  expect_copies<Bytes, LoadHint::stream, StoreHint::stream>();
  expect_copies<Bytes, LoadHint::once, StoreHint::plain>();
  expect_copies<Bytes, LoadHint::keep, StoreHint::stream>();
}

TEST(Vector, CopiesEveryWidth) {
  expect_copies_whatever_the_hints<1>();
  expect_copies_whatever_the_hints<2>();
  expect_copies_whatever_the_hints<4>();
  expect_copies_whatever_the_hints<8>();
  expect_copies_whatever_the_hints<16>();
  expect_copies_whatever_the_hints<32>();
}

template <class Code, int Bytes>
void expect_codes() {
  Code codes[Bytes / sizeof(Code)];
  Vector<Bytes> vector = {};
  const int count = Bytes / static_cast<int>(sizeof(Code));
  for (int i = 0; i < count; ++i) put_code(vector, i, codes[i] = static_cast<Code>(0x9e3779b9u * (i + 1u)));
  EXPECT_EQ(std::memcmp(&vector, codes, Bytes), 0);
  for (int i = 0; i < count; ++i) EXPECT_EQ(code_at<Code>(vector, i), codes[i]);
}

TEST(Vector, CodesAreInMemoryOrder) {
  expect_codes<u8, 1>(), expect_codes<u8, 2>(), expect_codes<u8, 4>(), expect_codes<u8, 32>();
  expect_codes<u16, 2>(), expect_codes<u16, 4>(), expect_codes<u16, 16>();
  expect_codes<u32, 4>(), expect_codes<u32, 16>(), expect_codes<u32, 32>();
}

TEST(Realign, EveryOffset) {
  unsigned char bytes[32];
  for (int i = 0; i < 32; ++i) bytes[i] = static_cast<unsigned char>(0xa5 + 37 * i);
  const auto lo = load<16>(bytes), hi = load<16>(bytes + 16);
  for (u32 offset = 0; offset < 16; ++offset) {
    const Vector<16> out = realign(lo, hi, offset);
    EXPECT_EQ(std::memcmp(&out, bytes + offset, 16), 0) << offset;
  }
}

}  // namespace
}  // namespace quern::common
