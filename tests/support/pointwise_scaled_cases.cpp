// Programs whose outputs are quantized: every scaling, mode and policy, both types, plain and blocked scales; rows of
// some lanes, of a warp, of several warps, and those that are read again; widths that cut a block; beside outputs
// without scales, columns and sums.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {

std::vector<Case> pointwise_scaled_cases() {
  // Of which all operations are exact, so that every bit is.
  const std::string norm = "w: row; y: e4m3; y = x / sqrt(mean(x * x) + 0.00001) * w";
  const std::string product = "c: column; y: e4m3; y = x * c";
  std::vector<Case> cases;
  const char* const types[] = {"bf16", "f32", "f16"};
  const auto add = [&](int rows, int width, const std::string& scaling, const std::string& text, int offset = 0,
                       const char* config = "") {
    const char* const type = types[cases.size() % 3];
    cases.push_back(with(
        config, cat("pointwise rows=", rows, " width=", width, " dtype=", type, " ", scaling, " expr=\"", text, "\""),
        offset));
  };
  // Lanes of a row: 1, 2, 4, 8, 16; a warp with one, two and four segments; several warps; read again.
  for (const int width : {0, 1, 8, 9, 31, 40, 100, 129, 257, 1000, 1032, 3000}) {
    add(width < 200 ? 37 : 5, width, "scaling=mx", width % 2 == 0 ? norm : product,
        static_cast<int>(cases.size() % 4 == 3));
    add(width < 200 ? 37 : 5, width, "scaling=row mode=exact", width % 2 == 0 ? product : norm);
  }
  for (const char* scaling : {"scaling=mx", "scaling=mx scale_layout=blocked", "scaling=row mode=exact"})
    add(10, 0, scaling, "y: e4m3; y = x + 1; s = max(x)");
  for (const int width : {24, 136, 1000, 4100}) {
    add(21, width, "scaling=block128 mode=exact", norm, static_cast<int>(width == 136));
    add(3, width, "scaling=block128 mode=floor", product, 0, width == 1000 ? "form=2" : "");
  }
  for (const char* mode : {"floor", "ceil", "even"}) {
    add(40, 200, cat("scaling=mx mode=", mode), "y: e5m2; z: e4m3; y = x * 3; z = abs(x) + 1");
    add(40, 200, cat("scaling=row mode=", mode), "y: e5m2; y = x - 1");
  }
  add(2, 70001, "scaling=row mode=exact", norm);
  add(2, 70016, "scaling=mx", norm);
  // Infinities and NaNs, as both policies have them.
  add(30, 520, "scaling=mx", "y: e4m3; y = 1 / x");
  add(30, 520, "scaling=mx policy=te", "y: e4m3; y = 1 / x", 1);
  add(30, 520, "scaling=mx policy=te", "y: e5m2; y = 1 / x");
  for (const char* scaling : {"scaling=row mode=exact", "scaling=block128 mode=exact", "scaling=row mode=floor"})
    add(30, 520, scaling, "y: e4m3; y = x / x + 1 / x", 0);
  // The padding of blocked scales: of rows, of blocks, of both, and of a row in several blocks.
  for (const int width : {8, 33, 100, 129, 1000})
    add(width == 33 ? 129 : 5, width, "scaling=mx scale_layout=blocked", norm);
  for (const int width : {20, 128, 2000})
    add(width == 20 ? 257 : 128, width, "scaling=mx scale_layout=blocked", product);
  add(0, 64, "scaling=mx scale_layout=blocked", product);
  // Beside what has no scales; several rows in flight.
  const std::string beside =
      "w: f32 row; y: e4m3; z: f32; y = x * w; z = x + w; s = max(x); b: f32; b = sum_rows(x * 2); a: f32; a = "
      "sum_all(x)";
  for (const char* scaling : {"scaling=mx scale_layout=blocked", "scaling=row", "scaling=block128"}) {
    add(300, 72, scaling, beside);
    add(9, 3000, scaling, beside);
  }
  for (const char* config : {"unroll=2", "vector=4", "form=2", "threads=512,unroll=2"})
    add(50, 160, "scaling=mx", norm, 0, config);
  add(50, 1600, "scaling=row", norm, 0, "unroll=2");
  // Not exact: near it.
  add(20, 264, "scaling=mx", "y: e4m3; let e = exp(x - max(x)); y = e / sum(e)");
  add(20, 264, "scaling=row mode=exact", "b: row; y: e4m3; y = gelu(x + b)");
  return cases;
}

}  // namespace quern::test
