// Programs of pointwise on a device: in place, compared with the operations, one image for all literals, and random
// trees compared with doubles.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "base/text.h"
#include "common/host_types.h"
#include "expression/print.h"
#include "quern/pointwise.h"
#include "support/bounded.h"
#include "support/drawn.h"
#include "support/replay.h"

namespace quern::test {
namespace {

using expression::Program;

class PointwisePrograms : public ReplayTest {
 protected:
  static constexpr int kRows = 29;

  HostOperands generated(const std::string& text, bool wild = true) {
    const AnyProblem problem = runtime().parse(text);
    HostOperands host(problem.family(), problem.data());
    host.generate(3, wild);
    return host;
  }
  static std::string bytes_of(const HostOperands& of, int i) {
    return {reinterpret_cast<const char*>(of.data(i)), static_cast<std::size_t>(of.bytes(i))};
  }
};

// ---- In place

// The bits of the outputs where each has its own memory, and where it has that of the input of its name.
TEST_F(PointwisePrograms, OutputsMayTakeTheMemoryOfInputs) {
  const char* const program = "b: row; let t = x; x = relu(t * 2 + y) + b; y = y - t";
  for (const int width : {264, 43}) {
    for (const int offset : {0, 1}) {
      const HostOperands host =
          generated(cat("pointwise rows=", kRows, " width=", width, " dtype=bf16 expr=\"", program, "\""));
      ASSERT_EQ(host.size() - 10, 5);  // after the operations' ten: x, y, b; x, y
      DeviceOperands device(driver(), host, offset);
      const AnyPlan plan = runtime().prepare_any(host.family(), host.problem(), {});
      AnyArgs args = device.args(AnyArgs(host.family()));
      HostOperands apart = host, in_place = host;
      plan.launch(nullptr, args.data());
      synchronize();
      device.download(apart);
      args.set_operand(11, device.pointer(10), kOpen, 0);
      args.set_operand(11, device.pointer(11), kOpen, 1);
      plan.launch(nullptr, args.data());
      synchronize();
      for (int i = 0; i < 2; ++i) {
        driver().check(
            driver()->MemcpyDtoH(in_place.data(13 + i), reinterpret_cast<CUdeviceptr>(device.pointer(10 + i)),
                                 static_cast<std::size_t>(host.bytes(10 + i))),
            Stage::tool, "cuMemcpyDtoH");
        EXPECT_EQ(bytes_of(in_place, 13 + i), bytes_of(apart, 13 + i)) << width << " " << offset << " " << i;
        EXPECT_NE(bytes_of(apart, 13 + i), bytes_of(host, 10 + i));
      }
    }
  }
}

// A device buffer for an output at a misaligned address, with guard bytes before and after it.
class Shifted {
 public:
  Shifted(const Driver& driver, std::int64_t bytes, int shift)
      : driver_(driver),
        shift_(static_cast<std::size_t>(shift)),
        all_(shift_ + static_cast<std::size_t>(bytes) + 64),
        memory_(driver, all_) {
    driver.check(driver->MemsetD8Async(memory_.get(), 0xa5, all_, nullptr), Stage::tool, "cuMemsetD8Async");
  }
  void* data() const { return static_cast<unsigned char*>(memory_.data()) + shift_; }
  // With these bytes between what was there.
  std::string around(const std::string& bytes) const {
    return std::string(shift_, '\xa5') + bytes + std::string(64, '\xa5');
  }
  std::string download() const {
    std::string got(all_, '\0');
    driver_.check(driver_->MemcpyDtoH(got.data(), memory_.get(), all_), Stage::tool, "cuMemcpyDtoH");
    return got;
  }

 private:
  const Driver& driver_;
  std::size_t shift_;
  std::size_t all_;
  DeviceMemory memory_;
};

// Ragged slots are aligned to one output: the other is written element by element where it is not aligned there.
TEST_F(PointwisePrograms, OutputsMayHaveAnyAddresses) {
  for (const char* types : {"", "a: f32; ", "b: f32; "}) {
    const HostOperands host =
        generated(cat("pointwise rows=", kRows, " width=43 dtype=bf16 expr=\"", types, "a = x + y; b = x - y\""));
    const HostOperands aligned = launched(host);
    const AnyPlan plan = runtime().prepare_any(host.family(), host.problem(), {});
    const DeviceOperands device(driver(), host);
    for (const auto& [first, second] : {std::pair(0, 1), {1, 0}, {1, 1}, {1, 3}, {2, 7}, {7, 4}}) {
      AnyArgs args = device.args(AnyArgs(host.family()));
      const Shifted a(driver(), host.bytes(12), first * bytes(host.layout(12).dtype));
      const Shifted b(driver(), host.bytes(13), second * bytes(host.layout(13).dtype));
      args.set_operand(11, a.data(), host.bytes(12), 0);
      args.set_operand(11, b.data(), host.bytes(13), 1);
      plan.launch(nullptr, args.data());
      synchronize();
      EXPECT_EQ(a.download(), a.around(bytes_of(aligned, 12))) << types << first << " " << second;
      EXPECT_EQ(b.download(), b.around(bytes_of(aligned, 13))) << types << first << " " << second;
    }
  }
}

// ---- Beside the operations

TEST_F(PointwisePrograms, OfAnOperationsFormulaHaveItsBits) {
  const std::tuple<const char*, const char*, std::vector<int>> same[] = {
      {"activation=relu", "b: row; out = relu(x + b)", {0, 2}},
      {"activation=gelu dtype=f32", "b: row; out = gelu(x + b)", {0, 2}},
      {"activation=gelu", "b: row; out = gelu(x + b)", {0, 2}},
      {"activation=silu op=add_mul_act y_dtype=f32 bias_spread=column bias_dtype=f16",
       "y: f32; b: f16 column; m: number; out = silu(fma(m, y, x) + b)",
       {1, 0, 2}},
      {"activation=elu dtype=f16 out_dtype=f32 bias_spread=none", "out: f32; out = elu(x, 1)", {0}},
      {"activation=gelu op=add_mul_act rounding=torch",
       "b: row; m: number; out = round(gelu(round(round(x + round(m * y, bf16), bf16) + b, bf16)), bf16)",
       {0, 1, 2}},
  };
  for (const auto& [operation, program, operands] : same) {
    for (const int width : {264, 43}) {
      const std::string shape = cat("pointwise rows=", kRows, " width=", width, " ");
      const HostOperands of_operation = generated(shape + operation);
      const std::string dtype =
          std::string(operation).find(" dtype=") == std::string::npos ? "bf16" : name(of_operation.layout(0).dtype);
      HostOperands of_program = generated(cat(shape, "dtype=", dtype, " expr=\"", program, "\""));
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const int to = 10 + static_cast<int>(i);
        ASSERT_EQ(of_program.bytes(to), of_operation.bytes(operands[i])) << program;
        std::memcpy(of_program.data(to), of_operation.data(operands[i]),
                    static_cast<std::size_t>(of_program.bytes(to)));
      }
      const HostOperands one = launched(of_operation), other = launched(of_program);
      EXPECT_EQ(bytes_of(other, 10 + static_cast<int>(operands.size())), bytes_of(one, 3)) << program << " " << width;
    }
  }
}

TEST_F(PointwisePrograms, OfOtherNumbersShareAnImage) {
  const auto key = [&](const char* program) {
    const AnyProblem problem = runtime().parse(cat("pointwise width=64 expr=\"", program, "\""));
    return runtime().prepare_any(problem.family(), problem.data(), {}).images().front().key;
  };
  EXPECT_EQ(key("out = x * 2 + 0.5"), key("out = x*3+7"));
  EXPECT_NE(key("out = x * 2 + 0.5"), key("out = x * const 2 + 0.5"));
  const auto before = runtime().statistics().hits.plan;
  EXPECT_EQ(key("out = x * 3 + 7"), key("let t = x * 3; out = (t) + 7"));
  EXPECT_EQ(runtime().statistics().hits.plan, before + 2) << "spellings of one problem have one plan";
}

// ---- Drawn programs

constexpr const char* kNames[] = {"x", "y", "z", "u"};
constexpr const char* kTypes[] = {"", "f32", "f16", "bf16", "e4m3"};
constexpr const char* kKinds[] = {"full", "full", "row", "column", "scalar"};

// Eight outputs of drawn types; "" where the program is refused, which has too many numbers, say.
std::string drawn_text(Random& random) {
  std::string text;
  expressions::Vocabulary words;
  words.inputs = {"x", "y", "z", "u", "m"};
  for (const char* name : kNames) text += cat(name, ": ", kTypes[random.below(5)], " ", kKinds[random.below(5)], "; ");
  text += "m: number";
  for (int i = 0; i < 8; ++i)
    text += cat("; o", i, ": ", kTypes[random.below(4)], " full; o", i, " = ",
                expressions::plain_text(*expressions::draw(random, words, 4)));
  const expression::Parsed parsed = expression::parse(text);
  if (!parsed) return {};
  text = expression::print(parsed.program);
  return text.size() <= 1000 ? text : std::string();
}

// Of an output's value and its error in fp32, the least and the largest number that may be stored.
std::pair<double, double> stored(DType dtype, double value, double error) {
  const double narrow = dtype == f32 ? 0 : std::abs(value) * 0x1p-12;  // of an activation that is exact enough for it
  return {static_cast<double>(common::round_float(dtype, value - error - narrow)),
          static_cast<double>(common::round_float(dtype, value + error + narrow))};
}

class Checked {
 public:
  Checked(const Program& program, const HostOperands& got, int width, float number)
      : program_(program), got_(got), width_(width), number_(number), places_(memory_places(program)) {
    for (const int place : places_) inputs_ += place < 0 ? 0 : 1;
  }

  // Elements whose bound says something, and that are not within it.
  void count(int row, int column, int& said, std::string& wrong) const {
    const expressions::Bounded want = expressions::bounded(program_, [&](const expression::Operand& input) {
      return value(static_cast<int>(&input - program_.inputs.data()), row, column);
    });
    for (std::size_t o = 0; o < program_.outputs.size(); ++o) {
      const auto root = static_cast<std::size_t>(program_.outputs[o].value);
      if (!(want.error[root] < 1e-2 * (1 + std::abs(want.value[root])))) continue;
      const int at = 10 + inputs_ + static_cast<int>(o);
      const DType dtype = got_.layout(at).dtype;
      const double made = common::read_float(dtype, got_.data(at), row * width_ + column);
      const auto [least, most] = stored(dtype, want.value[root], want.error[root]);
      ++said;
      if (!(made >= least && made <= most))
        wrong = cat(program_.outputs[o].name, "[", row, ", ", column, "] is ", made, ", not ", want.value[root]);
    }
  }

 private:
  double value(int input, int row, int column) const {
    const int place = places_[static_cast<std::size_t>(input)];
    if (place < 0) return static_cast<double>(number_);
    const Layout& layout = got_.layout(10 + place);
    const expression::Kind kind = program_.inputs[static_cast<std::size_t>(input)].kind;
    const int at = kind == expression::Kind::full     ? row * width_ + column
                   : kind == expression::Kind::row    ? column
                   : kind == expression::Kind::column ? row
                                                      : 0;
    return common::read_float(layout.dtype, got_.data(10 + place), at);
  }

  const Program& program_;
  const HostOperands& got_;
  int width_;
  float number_;
  std::vector<int> places_;
  int inputs_ = 0;
};

// Some hundred trees: eight a kernel.
TEST_F(PointwisePrograms, DrawnOnesAreWithinTheBoundOfFp32) {
  Random random(expressions::seed_of_run());
  constexpr int kPrograms = 40;
  int said = 0;
  for (int i = 0; i < kPrograms;) {
    const std::string text = drawn_text(random);
    if (text.empty()) continue;
    ++i;
    const int width = random.below(2) == 0 ? 24 : 19, rows = 5;
    const std::string problem = cat("pointwise rows=", rows, " width=", width, " expr=\"", text, "\"");
    HostOperands host = generated(problem, false);
    AnyArgs scalars(host.family());
    const Program program = expression::parse(text).program;
    const auto number = static_cast<float>(random.unit() * 4 - 2);
    scalars.set_scalar("number_0", static_cast<double>(number));
    run(runtime().parse(problem), host, scalars);
    const Checked checked(program, host, width, number);
    std::string wrong;
    for (int row = 0; row < rows; ++row) {
      for (int column = row % 3; column < width; column += 3) checked.count(row, column, said, wrong);
    }
    EXPECT_EQ(wrong, "") << problem;
  }
  EXPECT_GT(said, kPrograms * 8 * 20) << "most bounds say something";
}

}  // namespace
}  // namespace quern::test
