// Programs of pointwise: what is refused, one problem for all spellings, the numbers of a launch, overlaps, configs.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "base/text.h"
#include "plan/unit.h"
#include "pointwise/params.h"
#include "pointwise/program.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::address;
using test::as;
using test::BarePlan;
using test::has;
using test::problem;
using test::refusal;
using test::summary;

std::string with_program(const std::string& program, const std::string& rest = "") {
  return cat("pointwise rows=10 width=64 ", rest, rest.empty() ? "" : " ", "expr=\"", program, "\"");
}

TEST(PointwiseProgram, WhatIsWrongInTheTextIsShownWhereItIs) {
  EXPECT_EQ(
      refusal(with_program("out = relu(x")),
      "expr does not parse: 1:13: ) is missing, or a comma, after this argument\n  out = relu(x\n              ^");
  EXPECT_TRUE(has(refusal(with_program("out = gleu(x)")), "1:7: ")) << refusal(with_program("out = gleu(x)"));
  EXPECT_TRUE(has(refusal(with_program("out = x; out = y")), "1:10: "));
  EXPECT_TRUE(has(refusal(with_program("x")), "expr does not parse: 1:1: ")) << refusal(with_program("x"));
}

// Each field that the program takes the place of, at a value that it takes with an operation.
TEST(PointwiseProgram, FieldsOfOperationsAreRefusedWithIt) {
  for (const char* field :
       {"op=add_mul_act", "activation=gelu", "y_dtype=f32", "bias_dtype=f32", "out_dtype=f32", "x_spread=row",
        "y_spread=row", "bias_spread=none", "rounding=torch", "pass=backward", "bias_gradient=f32",
        "multiplier_gradient=f32", "x_stride=64", "y_stride=64", "out_stride=64"}) {
    const std::string said = refusal(with_program("out = x", field)), name(field, std::strchr(field, '='));
    EXPECT_EQ(said.rfind(name + " is not for a problem with expr", 0), 0U) << field << ": " << said;
  }
  EXPECT_EQ(refusal(with_program("out = x", "dtype=f32")), "");
}

TEST(PointwiseProgram, OfTooManyLettersIsRefused) {
  std::string sum = "a0";
  for (int i = 1; sum.size() < 700; ++i) sum += cat("+a", i % 16);
  const std::string said = refusal(with_program("out=" + sum));
  EXPECT_TRUE(has(said, "letters as it is kept")) << said;
  EXPECT_EQ(problem(with_program("out=" + sum)).get("expr"), "out=" + sum) << "its own text";
}

TEST(PointwiseProgram, SpellingsAreOneProblem) {
  const AnyProblem first = problem(with_program("out = relu(x + m*y + bias)"));
  EXPECT_EQ(first.text(), "pointwise rows=10 width=64 expr=\"out = relu(x + m * y + bias)\"");
  for (const char* spelling :
       {"let z = m*y;out=relu(((x+z))+bias)", "m: full; out = relu(x + m * y + bias) # a chain"}) {
    const AnyProblem other = problem(with_program(spelling));
    EXPECT_EQ(other.text(), first.text());
    PackedProblem a, b;
    pack(first.family(), first.data(), a);
    pack(other.family(), other.data(), b);
    ASSERT_EQ(a.size, b.size);
    EXPECT_EQ(std::memcmp(a.bytes.data(), b.bytes.data(), a.size), 0);
  }
  EXPECT_NE(problem(with_program("out = relu(x + y * m + bias)")).text(), first.text()) << "another order of operands";
}

// What is known of a text is known of no other.
TEST(PointwiseProgram, TextsOfOneLengthAreTwoProblems) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(problem("pointwise expr=\"a=x*y\"").text(), "pointwise expr=\"a = x * y\"");
    EXPECT_EQ(problem("pointwise expr=\"a=y-x\"").text(), "pointwise expr=\"a = y - x\"");
  }
}

TEST(PointwiseProgram, ThreadsMeetATextForTheFirstTimeTogether) {
  constexpr int kTexts = 300;
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  for (int& mine : right) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < kTexts; ++i) {
        const AnyProblem p = problem(cat("pointwise expr=\"r", i, ": row; out = r", i, " + x\""));
        mine += p.family().check(p.data()).empty() && pointwise::program::summary(as<Pointwise>(p)).inputs == 2 ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(4, kTexts));
}

std::string source_of(const std::string& text) {
  const AnyProblem p = problem(text);
  const Target target{90, "a"};
  Spec spec;
  test::step_of(p).specialize(p.data(), target, test::variants_of(p).front().config, spec);
  return unit_text(make_unit(p.family(), test::step_of(p), spec, target));
}

TEST(PointwiseProgram, AnImageDependsOnNoNumberUnlessItIsConst) {
  const std::string one = source_of(with_program("out = x * 2 + 0.5"));
  EXPECT_EQ(source_of(with_program("out = x * 3.25 + 7")), one);
  EXPECT_EQ(source_of(with_program("let t = x * 7; out = t + 0.25")), one);
  EXPECT_NE(source_of(with_program("out = x * const 2 + 0.5")), one);
  EXPECT_NE(source_of(with_program("out = x * 2 - 0.5")), one);
  EXPECT_NE(source_of(with_program("x: f32; out = x * 2 + 0.5")), one);
  EXPECT_NE(source_of(with_program("x: row; out = x * 2 + 0.5")), one);
}

// ---- Launches

struct Launched {
  std::string refusal;
  std::vector<unsigned char> params;
  const char* variant = nullptr;
};

struct Operands {
  std::vector<In> inputs;
  std::vector<Out> outputs;
  std::int64_t rows = kOpen;
  std::vector<float> numbers = {};
};

Launched launched(const std::string& text, const Operands& operands) {
  const BarePlan plan(problem(text));
  PointwiseArgs args;
  args.inputs = {operands.inputs.data(), static_cast<std::int64_t>(operands.inputs.size())};
  args.outputs = {operands.outputs.data(), static_cast<std::int64_t>(operands.outputs.size())};
  args.rows = operands.rows;
  std::copy(operands.numbers.begin(), operands.numbers.end(), args.numbers);
  PreparedLaunch prepared;
  Launched result;
  try {
    prepare_launch(plan, &args, prepared);
    result.params.assign(prepared.launch.params, prepared.launch.params + 512);
    result.variant = prepared.variant->variant.name;
  } catch (const Error& error) {
    result.refusal = error.sentence;
  }
  return result;
}

TEST(PointwiseProgram, PartsOfTheParametersAreWhereTheKernelHasThem) {
  using Params = pointwise::ProgramParams<3, 5>;
  const Launched made =
      launched("pointwise width=64 expr=\"k: number; m: number; out = x * 0.5 + m * rows() - width() * y + k\"",
               {{address(0x1000), address(0x2000)}, {address(0x9000)}, 10, {3, 7}});
  ASSERT_EQ(made.refusal, "");
  Params params;
  std::memcpy(&params, made.params.data(), sizeof(params));
  EXPECT_EQ(params.operands[0], address(0x1000));
  EXPECT_EQ(params.operands[1], address(0x2000));
  EXPECT_EQ(params.operands[2], address(0x9000));
  EXPECT_EQ(params.period, 64);
  EXPECT_EQ(params.numbers[0], 0.5F);
  EXPECT_EQ(params.numbers[1], 3.0F);
  EXPECT_EQ(params.numbers[2], 10.0F);
  EXPECT_EQ(params.numbers[3], 64.0F);
  EXPECT_EQ(params.numbers[4], 7.0F) << "k, which the formula names after m";
  EXPECT_EQ(params.slots.threads, 128U);
}

// Of [10, 64] in bf16: 0x500 bytes.
TEST(PointwiseProgram, AnOutputMayBeWhereAFullInputOfItsTypeIsAndNowhereElse) {
  const std::string text = with_program("r: row; y: f32; a = x + r; b: f32; b = y * x");  // x, r, y; a, b
  const In x(address(0x10000)), r(address(0x20000)), y(address(0x30000));
  const auto said = [&](const Out& a, const Out& b) { return launched(text, {{x, r, y}, {a, b}}).refusal; };
  EXPECT_EQ(said(address(0x40000), address(0x50000)), "");
  EXPECT_EQ(said(address(0x10000), address(0x50000)), "") << "in place";
  EXPECT_EQ(said(address(0x10000), address(0x30000)), "") << "both";
  EXPECT_TRUE(has(said(address(0x10010), address(0x50000)), "a overlaps x; an output may have the address"));
  EXPECT_TRUE(has(said(address(0xfb10), address(0x50000)), "a overlaps x;"));
  EXPECT_EQ(said(address(0xfb00), address(0x50000)), "") << "it ends where x begins";
  EXPECT_EQ(said(address(0x10500), address(0x50000)), "");
  EXPECT_TRUE(has(said(address(0x20000), address(0x50000)), "a overlaps r;")) << "a row";
  EXPECT_TRUE(has(said(address(0x40000), address(0x10000)), "b overlaps x;")) << "of another type";
  EXPECT_TRUE(has(said(address(0x40000), address(0x40000)), "b overlaps a;"));
  EXPECT_TRUE(has(said(address(0x40000), address(0x404f0)), "b overlaps a;"));
}

TEST(PointwiseProgram, AskForAsManyEntriesAsTheProgramNames) {
  const std::string text = with_program("out = x + y");
  EXPECT_TRUE(has(launched(text, {{address(0x10000)}, {address(0x40000)}}).refusal,
                  "inputs is a list of 2 for this problem; the launch gives 1"));
  EXPECT_TRUE(has(launched(text, {{address(0x10000), nullptr}, {address(0x40000)}}).refusal, "inputs.1 (y) is null"));
  EXPECT_TRUE(
      has(launched("pointwise expr=\"out = x\"", {{address(0x10000)}, {address(0x40000)}}).refusal, "rows is open"));
  EXPECT_EQ(launched("pointwise rows=0 expr=\"out = x\"", {{nullptr}, {nullptr}}).refusal, "");
}

// ---- Configs

TEST(PointwiseProgram, VariantsFollowWidthBroadcastsTypesAndTheNumberOfOperands) {
  const std::pair<const char*, const char*> rows[] = {
      {"width=4096 expr=\"out = relu(x)\"", "flat:16:16 ragged:16:1"},
      {"width=4096 expr=\"b: row; out = relu(x + b)\"", "rows:16:16 ragged:16:1"},
      {"width=4097 expr=\"b: row; out = relu(x + b)\"", "flat:16:16 ragged:16:1"},
      {"width=4096 expr=\"b: f32 row; out = relu(x + b)\"", "rows:16:32 ragged:16:1"},
      {"width=4096 expr=\"out: e4m3; out = x\"", "flat:16:16 ragged:16:1"},
      {"width=4096 expr=\"out = a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p\"",
       "flat:8:8 ragged:16:1"},
      {"width=4096 expr=\"r: row; out = r + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p\"",
       "rows:8:8 ragged:16:1"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(summary(cat("pointwise ", text)), expected) << text;
}

TEST(PointwiseProgram, ReadsEachInputOnceAndWritesEachOutputOnce) {
  const auto bytes = [](const std::string& text) { return Pointwise::family().bytes(problem(text).data()); };
  EXPECT_EQ(bytes(with_program("out = x")), 2 * 1280);
  EXPECT_EQ(bytes(with_program("r: f32 row; c: column; s: scalar; y: e4m3; out: f32; out = x * x + r * c + s * y")),
            1280 + 256 + 20 + 2 + 640 + 2560);
  EXPECT_EQ(bytes(with_program("m: number; out = m")), 1280);
}

TEST(PointwiseProgram, IsExactWhereItsFunctionsAre) {
  const auto ulps = [](const std::string& text) {
    const AnyProblem p = problem(text);
    return p.family().tolerance(p.data(), p.family().operands.count - 2, 0).ulps;
  };
  EXPECT_EQ(ulps(with_program("out = relu(x * m + clamp(y, 0, 1)) / sqrt(abs(z))", "dtype=f32")), 0);
  EXPECT_EQ(ulps(with_program("out = exp(x) + exp(y)", "dtype=f32")), 16);
  EXPECT_EQ(ulps(with_program("out = exp(x) + exp(y)")), 1);
  EXPECT_EQ(ulps(with_program("out = rsqrt(x)", "dtype=f32")), 8);
  EXPECT_EQ(ulps(with_program("out = gelu(x)", "dtype=f32")), 8);
  const auto absolute = [](const std::string& program, int output = 0) {
    const AnyProblem p = problem(with_program(program));
    return p.family().tolerance(p.data(), p.family().operands.count - 2, output).absolute;
  };
  EXPECT_EQ(absolute("out = gelu(x * y)"), 0) << "as exact as bf16 needs";
  EXPECT_EQ(absolute("out = gelu(x) * y"), 0x1p-20);
  EXPECT_EQ(absolute("out = gelu(x); b: f32; b = gelu(x)"), 0);
  EXPECT_EQ(absolute("out = gelu(x); b: f32; b = gelu(x)", 1), 0x1p-20);
  EXPECT_EQ(absolute("out = gelu(exp(x) + tanh(y))"), 0x1p-19);
}

// One of less than f32 is not as far off as one of f32 may be, nor one that is exact as one that is not.
TEST(PointwiseProgram, EachOutputHasItsOwnTolerance) {
  const AnyProblem p = problem(with_program("a: f32; a = exp(x) + exp(y); b: e4m3; b = silu(x) * 2; c = x + y"));
  const auto ulps = [&](int output) {
    return p.family().tolerance(p.data(), p.family().operands.count - 2, output).ulps;
  };
  EXPECT_EQ(ulps(0), 16);
  EXPECT_EQ(ulps(1), 1);
  EXPECT_EQ(ulps(2), 0);
}

// A common part is printed before what uses it, which is not where its operands come.
TEST(PointwiseProgram, OperandsAreInTheOrderInWhichOutputsNeedThem) {
  const AnyProblem p = problem(with_program("m: number; k: number; out = (a + b * m) * exp(c * d * k) + c * d * k"));
  EXPECT_TRUE(has(p.get("expr"), "let t1 = c * d * k; out = (a + b * m)")) << p.get("expr");
  std::string names;
  for (const Operand& operand : p.family().operands) {
    for (int i = 0; operand.name_of_entry != nullptr && i < operand.count(p.data()); ++i)
      names += operand.name_of_entry(p.data(), i) + " ";
  }
  EXPECT_EQ(names, "a b c d out ");
  EXPECT_EQ(p.family().scalars[2].name_in(p.data()), "m");
  EXPECT_EQ(p.family().scalars[3].name_in(p.data()), "k");
}

TEST(PointwiseProgram, ATextOfSeveralLinesOrTooLongIsRefusedWithWhatToDo) {
  AnyProblem p = problem("pointwise");
  const auto refused = [&](const std::string& text) {
    try {
      p.set("expr", text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_TRUE(has(refused("t = x\nout = t"), "in one line"));
  const std::string said = refused(std::string(1203, 'x'));
  EXPECT_TRUE(has(said, "up to 1000 printable ASCII characters; this one has 1203")) << said;
}

}  // namespace
}  // namespace quern
