// Programs: every kind of operand and type, several outputs, none and many operands, numbers, gradients, and the forms
// of the kernel. None subtracts what is nearly equal: errors of functions would grow.
#include "base/text.h"
#include "expression/gradient.h"
#include "expression/print.h"
#include "support/cases.h"

namespace quern::test {
namespace {

struct Program {
  const char* text;
  const char* scalars = "";
};

const Program kPrograms[] = {
    {"out = relu(x + m * y + bias)"},
    {"m: number; bias: row; out = relu(x + m * y + bias)", "number_0=0.75"},
    {"b: f32 row; m: number; out = gelu(x + m * y + b)", "number_0=0.5"},
    {"b: f32 row; c: column; s: scalar; out = gelu((x + b) * c) * s"},
    {"a = x + y; b: f32; b = x - 2 * y; c: e4m3; c = x * y"},
    {"let t = x; x = t * 2 + y; y = y * t"},
    {"c: f16 column; r: row; out = max(c, r)"},
    {"x: e4m3; y: e5m2; z: e4m3 row; out: f16; out = x * y + z + 0.125"},
    {"out = where(x > 0 and y < const 0.5, x / y, round(x, bf16))"},
    {"k: number; out = x * rows() + width() * k", "number_0=-3"},
    {"out: f32; out = 0.5 * rows()"},
    {"s: scalar; out = silu(x) * s; x = exp(y)"},
    {"out = a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p"},
    {"r: f32 row; a = x * r; b = x + r; c = x / r; d: f32; d = min(x, r); e = -x; f = abs(x); g = sign(x); h = x"},
};

std::string problem_of(int rows, int width, const char* dtype, const std::string& text) {
  return cat("pointwise rows=", rows, " width=", width, " dtype=", dtype, " expr=\"", text, "\"");
}

std::string gradient_text(const char* text, const std::vector<std::string>& names) {
  return expression::print(expression::gradient(expression::parse(text).program, names).program);
}

}  // namespace

std::vector<Case> pointwise_program_cases() {
  std::vector<Case> cases;
  const char* const types[] = {"bf16", "f32", "f16"};
  const auto add = [&](int rows, int width, const char* dtype, const std::string& text, const char* scalars, int offset,
                       const std::string& config) {
    cases.push_back(with(config, problem_of(rows, width, dtype, text), offset));
    cases.back().scalars = scalars;
  };
  for (const Program& program : kPrograms) {  // rows, flat and ragged; and the alignment of one element
    const std::size_t turn = cases.size() / 4;
    add(37, 264, types[turn % 3], program.text, program.scalars, 0, "");
    add(37, 43, types[(turn + 1) % 3], program.text, program.scalars, 0, "");
    add(19, 264, types[turn % 3], program.text, program.scalars, 1, "");
    add(37, 43, types[turn % 3], program.text, program.scalars, 3, "");
  }
  for (const int rows : {0, 1, 300}) {
    for (const int width : {0, 1, 8, 2048})
      add(rows, width, "bf16", kPrograms[2].text, "", rows % 2, "persistent=1,threads=64,unroll=2");
  }
  for (const char* config : {"unroll=4", "form=1,unroll=2", "form=2,unroll=2", "vector=4"})
    add(150, 320, "bf16", kPrograms[3].text, "", 0, config);
  add(150, 320, "f32", gradient_text("out = silu(x) * y", {"x", "y"}), "", 0, "");
  add(37, 43, "bf16", gradient_text("out = gelu(x + y * const 0.5)", {"x", "y"}), "", 0, "");
  return cases;
}

}  // namespace quern::test
