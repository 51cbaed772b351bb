// Programs with reductions: every kind and several rounds of them, sums over rows and over all, gradients; rows of a
// few lanes, of a warp, of several warps, and those that a thread block reads again; one block, several and more than
// sixteen of them below each other.
#include "base/text.h"
#include "expression/gradient.h"
#include "expression/print.h"
#include "support/cases.h"

namespace quern::test {
namespace {

std::string reduction_problem(int rows, int width, const char* dtype, const std::string& text) {
  return cat("pointwise rows=", rows, " width=", width, " dtype=", dtype, " expr=\"", text, "\"");
}

std::string gradient_of(const char* text, const std::vector<std::string>& names) {
  return expression::print(expression::gradient(expression::parse(text).program, names).program);
}

constexpr const char* kSoftmax = "let e = exp(x - max(x)); y = e / sum(e)";
constexpr const char* kRmsNorm = "w: row; y = x * rsqrt(mean(x * x) + const 1e-6) * w";
constexpr const char* kLayerNorm =
    "w: f32 row; b: f32 row; let c = x - mean(x); y = c * rsqrt(mean(c * c) + const 1e-5) * w + b";
// Of which all operations are exact, so that every bit is: sums along rows and over them, a maximum, all kinds.
constexpr const char* kExact =
    "r: f32 row; c: column; s: scalar; let m = max(x); y = (x - m) * c + r; n: f32; n = sum(x * c) * s; "
    "b: f32; b = sum_rows(x - m); a: f32; a = sum_all(x * r)";

}  // namespace

std::vector<Case> pointwise_reduction_cases() {
  std::vector<Case> cases;
  const char* const types[] = {"bf16", "f32", "f16"};
  const auto add = [&](int rows, int width, const std::string& text, int offset = 0, const char* config = "") {
    cases.push_back(with(config, reduction_problem(rows, width, types[cases.size() % 3], text), offset));
  };
  // Lanes of a row: 1, 2, 4, 8, 16; a warp with one, two and four segments; three warps and more.
  for (const int width : {0, 1, 8, 9, 24, 40, 100, 129, 257, 1000, 1032, 4096})
    add(width < 200 ? 37 : 5, width, kExact, static_cast<int>(cases.size() % 4 == 3));
  for (const int width : {72, 6656, 7001}) add(3, width, kLayerNorm);
  // A row that is read again, with sums of its columns in two blocks side by side; and one without.
  add(3, 33000, kExact);
  add(2, 70001, "y = x - max(x) * 2; s: f32; s = sum(x)");
  // Blocks below each other: one, two, sixteen, seventeen, and as many as there may be, of several rows of a team.
  for (const int rows : {0, 1, 33, 513, 700}) add(rows, 40, kExact);
  add(2100, 136, kExact);
  // Columns of whole segments, whose sums the last blocks add up several at once.
  const char* const sums = "a: f32; b: f32; c: f32; a = sum_rows(x); b = sum_rows(x * x); c = sum_all(x)";
  add(700, 64, sums);
  add(2100, 128, sums);
  add(300, 1024, kExact);
  for (const char* text : {"s = max(x)", "s = sum(x + 1)", "s = mean(x + 1)"}) add(10, 0, text);
  add(260, 1032, kExact);  // two rows of a block of several warps, one after the other
  for (const char* config : {"unroll=2", "vector=4", "form=2", "threads=512,unroll=2"})
    add(50, 64, kSoftmax, 0, config);
  for (const char* config : {"unroll=2", "vector=8"}) add(21, 264, kRmsNorm, 0, config);
  add(50, 320, "y: e4m3; let a = max(abs(x)); y = x * (448 / a); s: f32; s = a / 448");
  add(50, 48, "x: e4m3; y: e5m2; s = sum(x * y); m = mean(max(x, y))");
  add(50, 48, "s: column; c: column; s = c * 2 + max(c, 0)");
  add(40, 65, "let m = max(x); e = m + log(sum(exp(x - m)))");
  add(40, 64,
      "a: f32; b: f32; c: f32; d: f32; a = sum_rows(x); b = sum_rows(x * x); c = sum_all(x); d = sum_all(abs(x))");
  add(40, 64, "c: column; k: number; b = sum_rows(c * k); y = x");
  cases.back().scalars = "number_0=0.5";
  add(300, 72, gradient_of("b: row; m: number; out = relu(x + m * y + b)", {"x", "y", "b", "m"}));
  add(33, 257, gradient_of("c: column; s: scalar; out = x * c * s", {"x", "c", "s"}));
  add(33, 264, gradient_of(kRmsNorm, {"x", "w"}));
  add(9, 3000, gradient_of(kLayerNorm, {"x", "w", "b"}));
  add(17, 40, gradient_of(kSoftmax, {"x"}));
  return cases;
}

}  // namespace quern::test
