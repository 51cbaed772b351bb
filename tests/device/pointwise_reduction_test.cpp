// Programs with reductions on a device: sums of random formulas near those of doubles, the same bits at every address
// and with every config, in place, one workspace for problems of several sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "common/host_types.h"
#include "expression/print.h"
#include "quern/pointwise.h"
#include "support/bounded.h"
#include "support/drawn.h"
#include "support/replay.h"

namespace quern::test {
namespace {

class PointwiseReductions : public ReplayTest {
 protected:
  static std::string of_shape(int rows, int width, const std::string& program, const char* dtype = "bf16") {
    return cat("pointwise rows=", rows, " width=", width, " dtype=", dtype, " expr=\"", program, "\"");
  }
  HostOperands generated(const std::string& text) {
    const AnyProblem problem = runtime().parse(text);
    HostOperands host(problem.family(), problem.data());
    host.generate(5, false);
    return host;
  }
  static std::string bytes_of(const HostOperands& of, const char* name) {
    for (int i = 0; i < of.size(); ++i) {
      const OperandEntry& entry = of.entries()[static_cast<std::size_t>(i)];
      const Operand& operand = of.operand(i);
      if (operand.name_of_entry != nullptr && operand.role == Role::output &&
          operand.name_of_entry(of.problem(), entry.entry) == name)
        return {reinterpret_cast<const char*>(of.data(i)), static_cast<std::size_t>(of.bytes(i))};
    }
    ADD_FAILURE() << "no output " << name;
    return {};
  }
  static std::vector<float> floats_of(const HostOperands& of, const char* name) {
    const std::string bytes = bytes_of(of, name);
    std::vector<float> values(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

// The result is of the shape alone: a config, or an address that no vector is aligned to, changes no bit.
TEST_F(PointwiseReductions, NoConfigAndNoAddressChangesABit) {
  const char* const program =
      "w: f32 row; let e = exp(x - max(x)); y: f32; y = e / sum(e) * w; n: f32; n = mean(x * w); b: f32; "
      "b = sum_rows(e); a: f32; a = sum_all(x * w)";
  for (const auto& [rows, width] : {std::pair(130, 72), {21, 520}, {30, 512}, {9, 2568}}) {
    const HostOperands host = generated(of_shape(rows, width, program));
    const HostOperands first = launched(host);
    const auto expect_same = [&](const HostOperands& got, const std::string& how) {
      for (const char* name : {"y", "n", "b", "a"})
        EXPECT_EQ(bytes_of(got, name), bytes_of(first, name)) << name << how;
    };
    for (const char* config : width == 72 ? std::vector{"vector=8", "unroll=1", "form=2"} : std::vector{"vector=4"})
      expect_same(launched(host, config), cat(" of ", width, ", ", config));
    DeviceOperands device(driver(), host, 1);
    const HostOperands got = launched_on(device, host);
    expect_same(got, cat(" of ", width, ", misaligned"));
  }
}

// Without sums over rows more threads have more rows, of which each is as before.
TEST_F(PointwiseReductions, NoNumberOfThreadsChangesABit) {
  const HostOperands host = generated(of_shape(70, 88, "let e = exp(x - max(x)); y: f32; y = e / sum(e)"));
  const std::string first = bytes_of(launched(host), "y");
  for (const char* config : {"threads=64", "threads=256,unroll=2", "threads=512"})
    EXPECT_EQ(bytes_of(launched(host, config), "y"), first) << config;
}

// A row of one warp, of a block, one that is read again, and one of several blocks.
TEST_F(PointwiseReductions, AnOutputMayTakeTheMemoryOfAnInput) {
  const char* const norm = "let e = x - max(x); x = e * mean(e)";
  const char* const many = "s: column; c: column; s = c * 2; x = x + a + b + d + e + f + g + h + i + j + k + l";
  for (const auto& [width, program] : {std::pair(264, norm), {3072, norm}, {40000, norm}, {601, many}}) {
    const HostOperands host = generated(of_shape(3, width, program, "f32"));
    const std::vector<InPlace> places = outputs_in_place(host);
    ASSERT_EQ(places.size(), 1U);
    DeviceOperands device(driver(), host);
    device.share(places.front());
    ASSERT_EQ(device.pointer(places.front().output), device.pointer(places.front().input));
    const HostOperands got = launched_on(device, host);
    EXPECT_EQ(bytes_of(got, "x"), bytes_of(launched(host), "x")) << width;
    EXPECT_EQ(device.damage(host), "");
  }
}

TEST_F(PointwiseReductions, AWorkspaceServesEveryNumberOfRows) {
  const char* const program = "b: f32; b = sum_rows(x * 2); a: f32; a = sum_all(x)";
  expect_workspace_serves(runtime().parse(cat("pointwise width=40 expr=\"", program, "\"")), {1500, 1100, 40, 3, 600},
                          [&](int rows) { return runtime().parse(of_shape(rows, 40, program)); });
}

// ---- Drawn formulas

// What a sum of terms may be, each of which is within a bound.
struct Bound {
  double value = 0;
  double error = 0;
  void add(double term, double term_error) {
    value += term;
    error += term_error + 0x1p-20 * std::abs(term);
  }
};

class DrawnTerms {
 public:
  DrawnTerms(const expressions::Drawn& drawn, const HostOperands& host, int width)
      : program_(expression::parse(cat(expressions::reads(drawn, "z") ? "z: row; " : "",
                                       "o: f32; o = ", expressions::plain_text(drawn)))
                     .program),
        host_(host),
        width_(width) {}

  void add(int row, int column, Bound& sum) const {
    const auto all = expressions::bounded(program_, [&](const expression::Operand& input) {
      const int at = place_of(input.name);
      return common::read_float(host_.layout(at).dtype, host_.data(at),
                                input.name == "z" ? column : row * width_ + column);
    });
    const auto root = static_cast<std::size_t>(program_.outputs[0].value);
    sum.add(all.value[root], all.error[root]);
  }

 private:
  // After the operations' ten: x, y and z, in the order in which the first output needs them.
  static int place_of(const std::string& name) { return 10 + (name == "x" ? 0 : name == "y" ? 1 : 2); }

  expression::Program program_;
  const HostOperands& host_;
  int width_;
};

// A sum along rows, one over them and one over all, of three formulas.
TEST_F(PointwiseReductions, SumsOfDrawnFormulasAreWithinTheBoundOfFp32) {
  Random random(expressions::seed_of_run());
  int said = 0;
  constexpr int kPrograms = 8;
  for (int i = 0; i < kPrograms; ++i) {
    std::vector<expressions::DrawnPointer> drawn;
    for (int k = 0; k < 3; ++k) drawn.push_back(expressions::draw(random, {}, 3));
    const std::string text = cat("z: row; r: f32 column; c: f32 row; a: f32 scalar; u = x + y * z; c = sum_rows(",
                                 expressions::plain_text(*drawn[1]), "); r = sum(", expressions::plain_text(*drawn[0]),
                                 "); a = sum_all(", expressions::plain_text(*drawn[2]), ")");
    const int rows = 37, width = i % 2 == 0 ? 24 : 19;
    HostOperands host = generated(of_shape(rows, width, text));
    const HostOperands got = launched(host);
    const std::vector<float> r = floats_of(got, "r"), c = floats_of(got, "c"), a = floats_of(got, "a");
    const DrawnTerms of_row(*drawn[0], host, width), of_column(*drawn[1], host, width), of_all(*drawn[2], host, width);
    const auto check = [&](const Bound& bound, float made, const char* name) {
      if (!(bound.error < 1e-2 * (1 + std::abs(bound.value)))) return;
      ++said;
      EXPECT_NEAR(static_cast<double>(made), bound.value, bound.error) << name << " of " << text;
    };
    Bound all;
    for (int row = 0; row < rows; ++row) {
      Bound sum;
      for (int column = 0; column < width; ++column) {
        of_row.add(row, column, sum);
        of_all.add(row, column, all);
      }
      check(sum, r[static_cast<std::size_t>(row)], "r");
    }
    for (int column = 0; column < width; ++column) {
      Bound sum;
      for (int row = 0; row < rows; ++row) of_column.add(row, column, sum);
      check(sum, c[static_cast<std::size_t>(column)], "c");
    }
    check(all, a[0], "a");
  }
  EXPECT_GT(said, kPrograms * 25) << "most bounds say something";
}

// ---- Special numbers

TEST_F(PointwiseReductions, ANanStaysInItsRowAndItsColumn) {
  constexpr int kWidth = 40;
  HostOperands host = generated(
      of_shape(6, kWidth, "s: f32; s = sum(x); m: f32; m = max(x); y = x - max(x); b: f32; b = sum_rows(x)", "f32"));
  float* const x = reinterpret_cast<float*>(host.data(10));
  x[1 * kWidth + 3] = NAN;
  x[2 * kWidth + 5] = HUGE_VALF;
  for (int c = 0; c < kWidth; ++c) x[3 * kWidth + c] = -0.0F;
  x[4 * kWidth + 7] = 1e-40F;
  const HostOperands got = launched(host);
  EXPECT_EQ(compare(got, host.reference(AnyArgs(host.family()))).difference, "");
  const std::vector<float> s = floats_of(got, "s"), m = floats_of(got, "m"), b = floats_of(got, "b");
  EXPECT_TRUE(std::isnan(s[1]) && std::isnan(m[1]) && std::isnan(b[3]));
  EXPECT_TRUE(std::isinf(s[2]) && std::isinf(m[2]) && std::isinf(b[5]));
  EXPECT_TRUE(s[3] == 0 && !std::signbit(s[3]) && m[3] == 0 && std::signbit(m[3]));
  for (const int row : {0, 4, 5}) EXPECT_TRUE(std::isfinite(s[row]) && std::isfinite(m[row])) << row;
  for (const int column : {0, 7, 39}) EXPECT_TRUE(std::isfinite(b[column])) << column;
}

// ---- Norms beside doubles

TEST_F(PointwiseReductions, SoftmaxAndNormsAreNearThoseOfDoubles) {
  constexpr int kRows = 4, kWidth = 1100;
  const HostOperands host = generated(of_shape(
      kRows, kWidth,
      "let e = exp(x - max(x)); y = e / sum(e); let c = x - mean(x); z = c * rsqrt(mean(c * c) + const 1e-5)", "f32"));
  const HostOperands got = launched(host);
  const std::vector<float> y = floats_of(got, "y"), z = floats_of(got, "z");
  const float* const x = reinterpret_cast<const float*>(host.data(10));
  for (int row = 0; row < kRows; ++row) {
    double most = -1e30, sum = 0, mean = 0, variance = 0;
    for (int c = 0; c < kWidth; ++c) most = std::max(most, static_cast<double>(x[row * kWidth + c]));
    for (int c = 0; c < kWidth; ++c) {
      sum += std::exp(static_cast<double>(x[row * kWidth + c]) - most);
      mean += static_cast<double>(x[row * kWidth + c]) / kWidth;
    }
    for (int c = 0; c < kWidth; ++c) variance += std::pow(static_cast<double>(x[row * kWidth + c]) - mean, 2) / kWidth;
    for (int c = 0; c < kWidth; ++c) {
      const auto at = static_cast<std::size_t>(row * kWidth + c);
      EXPECT_NEAR(static_cast<double>(y[at]), std::exp(static_cast<double>(x[at]) - most) / sum, 1e-7)
          << row << " " << c;
      EXPECT_NEAR(static_cast<double>(z[at]), (static_cast<double>(x[at]) - mean) / std::sqrt(variance + 1e-5), 1e-5);
    }
  }
}

TEST_F(PointwiseReductions, OfNegativeZerosTheSumIsZero) {
  HostOperands host = generated(of_shape(3, 512, "y: column; y = sum(x); z = x", "f32"));
  std::fill_n(reinterpret_cast<float*>(host.data(10)), 3 * 512, -0.0F);
  for (const float sum : floats_of(launched(host), "y")) EXPECT_EQ(std::bit_cast<std::uint32_t>(sum), 0U);
}

// By numbers of ordinary size and others: the product with a reciprocal is corrected.
TEST_F(PointwiseReductions, QuotientsByWhatARowHasAreExact) {
  constexpr int kRows = 512, kWidth = 256;
  HostOperands host = generated(of_shape(kRows, kWidth, "c: column; y = x / c; m: column; m = max(x)", "f32"));
  auto* const x = reinterpret_cast<std::uint32_t*>(host.data(10));
  auto* const c = reinterpret_cast<float*>(host.data(11));
  Random random(expressions::seed_of_run());
  for (int i = 0; i < kRows * kWidth; ++i) x[i] = static_cast<std::uint32_t>(random.next());
  for (int i = 0; i < kRows; ++i)
    c[i] = static_cast<float>(std::ldexp(1 + random.unit(), i % 64 - 25)) * (i % 3 == 0 ? -1.0F : 1.0F);
  // Zeros, and next to the middle between two denormal quotients.
  for (int i = 0; i < kRows * kWidth; i += 2) {
    const float half =
        static_cast<float>(std::ldexp(random.below(64) + 0.5, -149) * static_cast<double>(c[i / kWidth]));
    x[i] = i % 32 == 0 ? x[i] & 0x80000000U : std::bit_cast<std::uint32_t>(half);
  }
  const std::vector<float> y = floats_of(launched(host), "y");
  for (int i = 0; i < kRows * kWidth; ++i) {
    const float want = std::bit_cast<float>(x[i]) / c[i / kWidth];
    const bool same =
        std::bit_cast<std::uint32_t>(want) == std::bit_cast<std::uint32_t>(y[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(same || (std::isnan(want) && std::isnan(y[static_cast<std::size_t>(i)])))
        << std::bit_cast<float>(x[i]) << " / " << c[i / kWidth] << " is not " << y[static_cast<std::size_t>(i)];
  }
}

}  // namespace
}  // namespace quern::test
