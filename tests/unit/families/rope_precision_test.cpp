// rope against double precision, with every table and type.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "common/host_types.h"
#include "rope/problem.h"
#include "testbench/operands.h"
#include "unit/families/support.h"

namespace quern {
namespace {

// Half a unit in the last place of numbers as large as this one.
double half_ulp(DType type, double value) {
  const int digits = type == f32 ? 24 : type == f16 ? 11 : 8, least = type == f16 ? -14 : -126;
  const int exponent = value == 0 ? least : std::max(least, std::ilogb(value));
  return std::ldexp(1.0, exponent - digits);
}

// A problem without strides, with generated operands and what the reference makes of them.
struct Sample {
  explicit Sample(const std::string& text)
      : problem(test::problem(text)),
        rope(*static_cast<const Rope*>(problem.data())),
        given(problem.family(), problem.data()) {
    given.generate(9, false);
  }

  int place(const std::string& name) const {
    int i = 0;
    while (given.name(i) != name) ++i;
    return i;
  }
  double number(const std::string& operand, std::int64_t at) const {
    return common::read_float(given.layout(place(operand)).dtype, given.data(place(operand)), at);
  }

  AnyProblem problem;
  Rope rope;
  HostOperands given;
};

struct Angle {
  double cos, sin;
};

// Of an element of pair j, from the table's own numbers or in double precision.
Angle exact_angle(const Sample& sample, std::int64_t position, std::int64_t j, std::int64_t element) {
  const Rope& p = sample.rope;
  const std::int64_t pairs = p.head_dim / 2;
  if (p.table == RopeTable::separate)
    return {sample.number("cos", position * pairs + j), sample.number("sin", position * pairs + j)};
  if (p.table == RopeTable::doubled)
    return {sample.number("cos", position * 2 * pairs + j), sample.number("sin", position * 2 * pairs + j)};
  if (p.table == RopeTable::joined)
    return {sample.number("cos", position * 2 * pairs + j), sample.number("cos", position * 2 * pairs + pairs + j)};
  const double angle =
      p.table == RopeTable::angles
          ? sample.number("angles", position * p.head_dim + element)
          : static_cast<double>(position) *
                std::pow(static_cast<double>(p.theta), -static_cast<double>(j) / static_cast<double>(pairs));
  return {std::cos(angle), std::sin(angle)};
}

// Of each element, in units of its bound: half an ulp of the result in its type, 2^-24 of the result and of the product
// that is rounded first, both in fp32, and where the kernel computes cosines and sines, 2^-23 of each element of a
// pair.
double largest_error(const Sample& sample) {
  const Rope& p = sample.rope;
  const HostOperands got = sample.given.reference(AnyArgs(sample.problem.family()));
  const int out = sample.place("q_out");
  const bool is_half = p.style == RopeStyle::half, computes = !rope::has_cosines(p);
  const double sign = p.pass == RopePass::forward ? 1 : -1;
  const std::int64_t pairs = p.head_dim / 2;
  double largest = 0;
  for (std::int64_t row = 0; row < p.batch * p.seq * p.heads; ++row) {
    const std::int64_t position = row / p.heads % p.seq;
    for (std::int64_t j = 0; j < pairs; ++j) {
      const std::int64_t at[] = {is_half ? j : 2 * j, is_half ? j + pairs : 2 * j + 1};
      const double x[] = {sample.number("q", row * p.head_dim + at[0]), sample.number("q", row * p.head_dim + at[1])};
      for (const int i : {0, 1}) {
        // A transposed matrix has the other element's sine.
        const Angle own = exact_angle(sample, position, j, at[i]), other = exact_angle(sample, position, j, at[1 - i]);
        const double sine = p.pass == RopePass::forward ? own.sin : other.sin;
        const double rounded_first = (i == 0 ? -sign : sign) * x[1 - i] * sine;
        const double exact = x[i] * own.cos + rounded_first;
        const double result = common::read_float(p.dtype, got.data(out), row * p.head_dim + at[i]);
        double bound = 0x1p-24 * (std::abs(exact) + std::abs(rounded_first));
        if (computes) bound += 0x1p-23 * (std::abs(x[0]) + std::abs(x[1]));
        if (p.dtype != f32) bound += half_ulp(p.dtype, std::abs(exact) + bound);
        if (!std::isfinite(exact)) continue;  // the angle is NaN or infinite
        largest = std::max(largest, std::abs(result - exact) / std::max(bound, std::numeric_limits<double>::min()));
      }
    }
  }
  return largest;
}

// Roundings of fp32 numbers that are themselves rounded: 0.1 % more.
TEST(RopePrecision, IsWithinItsBoundOfDoublePrecisionWithEveryTableAndType) {
  for (const char* style : {"half", "interleaved"}) {
    for (const char* pass : {"forward", "backward", "inverse"}) {
      for (const char* dtype : {"f32", "f16", "bf16"}) {
        for (const char* table :
             {"separate", "separate table_dtype=f16", "separate table_dtype=bf16", "doubled", "doubled table_dtype=f16",
              "doubled table_dtype=bf16", "joined", "joined table_dtype=f16", "joined table_dtype=bf16", "angles",
              "computed", "computed theta=500000"}) {
          if (std::string(table) == "angles" && std::string(pass) == "inverse") continue;
          const std::string text = std::string("rope batch=2 seq=33 heads=3 head_dim=24 style=") + style +
                                   " pass=" + pass + " dtype=" + dtype + " table=" + table;
          const double error = largest_error(Sample(text));
          EXPECT_LE(error, 1.001) << text;
          EXPECT_GT(error, 0.2) << text << ": the bound is a multiple of the errors";
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern
