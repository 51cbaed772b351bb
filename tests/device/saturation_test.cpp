// What glu and pointwise store where a result is beyond the largest number of its type, or below the smallest, in bits
// that are written here: of the kernel, and of the reference that it is compared with elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/text.h"
#include "common/host_types.h"
#include "quern/glu.h"
#include "support/device.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

struct Input {
  const char* operand;
  std::vector<double> numbers;
};
struct Stored {
  const char* operand;
  std::vector<std::uint32_t> bits;
};

class Saturation : public DeviceTest {
 protected:
  void expect_stored(const std::string& text, const std::vector<Input>& inputs, const std::vector<Stored>& outputs) {
    const AnyProblem problem = runtime().parse(text);
    HostOperands host(problem.family(), problem.data());
    for (const Input& input : inputs) put(host, input);
    const AnyArgs scalars(problem.family());
    DeviceOperands device(driver(), host);
    device.upload(host);
    runtime().prepare_any(problem.family(), problem.data(), {}).launch(nullptr, device.args(scalars).data());
    synchronize();
    HostOperands got = host;
    device.download(got);
    const HostOperands reference = host.reference(scalars);
    for (const Stored& output : outputs) {
      EXPECT_EQ(bits_of(got, output.operand), text_of(output.bits)) << text << ": " << output.operand;
      EXPECT_EQ(bits_of(reference, output.operand), text_of(output.bits))
          << text << ": reference of " << output.operand;
    }
  }

 private:
  static int place(const HostOperands& of, std::string_view name) {
    for (int i = 0; i < of.size(); ++i) {
      if (of.operand(i).name == name && of.present(i)) return i;
    }
    ADD_FAILURE() << "no operand " << name;
    return 0;
  }
  static void put(HostOperands& host, const Input& input) {
    const int i = place(host, input.operand);
    const DType type = host.layout(i).dtype;
    ASSERT_EQ(static_cast<std::int64_t>(input.numbers.size()), host.bytes(i) / bytes(type)) << input.operand;
    for (std::size_t k = 0; k < input.numbers.size(); ++k)
      common::write_float(type, host.data(i), static_cast<std::int64_t>(k), input.numbers[k]);
  }
  static std::string text_of(const std::vector<std::uint32_t>& bits) {
    std::string text;
    for (const std::uint32_t each : bits) text += cat(hex(each), " ");
    return text;
  }
  static std::string hex(std::uint32_t bits) {
    std::string text;
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[bits >> shift & 15U];
    return text;
  }
  static std::string bits_of(const HostOperands& of, const char* name) {
    const int i = place(of, name);
    const auto size = static_cast<std::size_t>(bytes(of.layout(i).dtype));
    std::vector<std::uint32_t> bits(static_cast<std::size_t>(of.bytes(i)) / size);
    for (std::size_t k = 0; k < bits.size(); ++k) std::memcpy(&bits[k], of.data(i) + k * size, size);
    return text_of(bits);
  }
};

constexpr double kInfinity = HUGE_VAL;
const char* const kPairs = "activation=identity layout=interleaved rows=1 ";  // x is a, g, a, g, ...

// 65512 is nearer to 65504, the largest, and 65520 is half way to 65536.
TEST_F(Saturation, OfGluInF16IsInfinity) {
  expect_stored(cat("glu dtype=f16 width=8 ", kPairs),
                {{"x",
                  {65504, 1, 152, 431, 1008, 65, -1008, 65, 65504, 65504, 0x1p-14, 0x1p-11, 0x3p-14, 0x1p-12, -0x1p-14,
                   0x1p-12}}},
                {{"out", {0x7bff, 0x7bff, 0x7c00, 0xfc00, 0x7c00, 0x0000, 0x0001, 0x8000}}});
}

// In units of 2^120 the largest is 255; 253.5 and 255.5 are half way, and go to the even one.
TEST_F(Saturation, OfGluInBf16IsInfinity) {
  expect_stored(cat("glu dtype=bf16 width=7 ", kPairs),
                {{"x",
                  {0xffp120, 1, 3 * 0x1p100, 169 * 0x1p19, 7 * 0x1p100, 73 * 0x1p19, -7 * 0x1p100, 73 * 0x1p19, 0x1p100,
                   0x1p100, 0x1p-126, 0x1p-7, -0x1p-126, 0x1p-8}}},
                {{"out", {0x7f7f, 0x7f7e, 0x7f80, 0xff80, 0x7f80, 0x0001, 0x8000}}});
}

TEST_F(Saturation, OfGluInFp8IsTheLargestNumber) {
  expect_stored(cat("glu dtype=f32 scaling=tensor element=e4m3 width=10 ", kPairs),
                {{"given_scale", {1}}, {"x", {448, 1, 464,    1, 1000,    1, -1000,   1, 1e30,     1e30,
                                              240, 1, 0x1p-9, 1, 0x1p-10, 1, 0x3p-11, 1, -0x1p-10, 1}}},
                {{"out", {0x7e, 0x7e, 0x7e, 0xfe, 0x7e, 0x77, 0x01, 0x00, 0x01, 0x80}}});
  expect_stored(cat("glu dtype=f32 scaling=tensor element=e5m2 width=10 ", kPairs),
                {{"given_scale", {1}}, {"x", {57344, 1, 61440,   1, 1e9,     1, -1e9,    1, kInfinity, 1,
                                              49152, 1, 0x1p-16, 1, 0x1p-17, 1, 0x3p-18, 1, -0x1p-17,  1}}},
                {{"out", {0x7b, 0x7b, 0x7b, 0xfb, 0x7b, 0x7a, 0x01, 0x00, 0x01, 0x80}}});
  expect_stored(cat("glu dtype=f16 scaling=tensor element=e4m3 width=2 ", kPairs),
                {{"given_scale", {2}}, {"x", {65504, 65504, 896, 1}}}, {{"out", {0x7e, 0x7e}}});
}

// The largest of a block: 65504 / 2^8 is 255.875, and 65504 / 2^7 is beyond 448.
TEST_F(Saturation, OfGluWithScalesOfBlocksDependsOnTheirRounding) {
  std::vector<double> x;
  for (int i = 0; i < 32; ++i) x.insert(x.end(), {i == 0 ? 65504.0 : 1.0, 1.0});
  std::vector<std::uint32_t> rceil(32, 0x02), floor(32, 0x04);
  rceil[0] = 0x78;
  floor[0] = 0x7e;
  expect_stored(cat("glu dtype=f16 scaling=mx width=32 ", kPairs), {{"x", x}}, {{"out", rceil}, {"scales", {0x87}}});
  expect_stored(cat("glu dtype=f16 scaling=mx mode=floor width=32 ", kPairs), {{"x", x}},
                {{"out", floor}, {"scales", {0x86}}});
  for (const char* scaling : {"row mode=exact", "block128"})
    expect_stored(cat("glu dtype=f32 width=3 scaling=", scaling, " ", kPairs), {{"x", {896, 1, 1, 1, -896, 1}}},
                  {{"out", {0x7e, 0x30, 0xfe}}, {"scales", {0x40000000}}});
}

TEST_F(Saturation, OfGradientsAndTheirSumsIsThatOfTheirTypes) {
  expect_stored("glu rows=2 width=1 pass=backward activation=identity dtype=f16 bias_gradient=f16",
                {{"x", {1008, 2, 1, 2}}, {"gradient", {65, 20000}}},
                {{"x_gradient", {0x5810, 0x7c00, 0x78e2, 0x74e2}}, {"bias_gradient", {0x78e6, 0x7c00}}});
  expect_stored("glu rows=1 width=32 pass=backward activation=identity dtype=f32 scaling=tensor bias_gradient=f32",
                {{"given_scale", {1}}, {"x", std::vector<double>(64, 3)}, {"gradient", std::vector<double>(32, 1000)}},
                {{"x_gradient", std::vector<std::uint32_t>(64, 0x7e)},
                 {"bias_gradient", std::vector<std::uint32_t>(64, 0x453b8000)}});
}

TEST_F(Saturation, OfPointwiseIsThatOfTheTypeOfOut) {
  const std::string one = "pointwise rows=1 activation=identity bias_spread=none dtype=f32 ";
  expect_stored(cat(one, "width=7 out_dtype=f16"),
                {{"x", {65519.99, 65520, -1e9, kInfinity, 0x1p-25, 0x1.000002p-25, -0x1p-26}}},
                {{"out", {0x7bff, 0x7c00, 0xfc00, 0x7c00, 0x0000, 0x0001, 0x8000}}});
  expect_stored(cat(one, "width=6 out_dtype=bf16"),
                {{"x", {0x1.fefffep127, 0x1.ffp127, -0x1.ffp127, 0x1p-134, 0x1.8p-134, -0x1p-135}}},
                {{"out", {0x7f7f, 0x7f80, 0xff80, 0x0000, 0x0001, 0x8000}}});
  const std::string back = "pointwise rows=2 width=1 pass=backward activation=identity bias_spread=none ";
  expect_stored(cat(back, "dtype=f16 out_dtype=f32 bias_gradient=f16"), {{"x", {1, 1}}, {"gradient", {65519.99, 100}}},
                {{"x_gradient", {0x7bff, 0x5640}}, {"bias_gradient", {0x7c00}}});
  expect_stored(cat(back, "dtype=bf16 out_dtype=f32 bias_gradient=bf16"),
                {{"x", {1, 1}}, {"gradient", {0x1.ffp127, 1}}},
                {{"x_gradient", {0x7f80, 0x3f80}}, {"bias_gradient", {0x7f80}}});
}

}  // namespace
}  // namespace quern::test
