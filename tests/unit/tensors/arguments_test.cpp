// Tensors become arguments: extents from shapes, and a sentence for each tensor that does not fit.
#include "tensors/arguments.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/sanitizers.h"
#include "quern/families.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/has.h"
#include "support/tensors.h"

namespace quern::test {
namespace {

std::vector<Case> all_cases() {
  std::vector<Case> all;
  const auto add = [&](const std::vector<Case>& cases) { all.insert(all.end(), cases.begin(), cases.end()); };
  add(gather_cases());
  add(scatter_cases());
  add(pointwise_cases());
  add(pointwise_program_cases());
  add(pointwise_reduction_cases());
  add(pointwise_scaled_cases());
  add(glu_cases());
  add(mxfp8_cases());
  add(mxfp8_dequantize_cases());
  add(mx_scales_cases());
  add(row_pad_cases());
  add(multi_row_pad_cases());
  add(moe_map_cases());
  add(moe_permute_cases());
  add(moe_unpermute_cases());
  add(chunk_sort_cases());
  add(index_sort_cases());
  add(hash_table_cases());
  add(concat_cases());
  add(embedding_cases());
  add(interaction_cases());
  add(embedding_backward_cases());
  add(rope_cases());
  return all;
}

// The extents that the launch then has.
void expect_extents(const AnyProblem& open, const AnyProblem& closed, const FilledArguments& filled) {
  for (const LaunchExtent& extent : open.family().launch_extents) {
    const Field* const field = find_field(open.family(), extent.field);
    if (get_integer(*field, open.data()) != kOpen) continue;
    std::int64_t got = 0;
    std::memcpy(&got, filled.bytes + extent.offset, sizeof(got));
    const bool needed = extent.needed == nullptr || extent.needed(open.data());
    if (!needed && got == kOpen) continue;
    EXPECT_EQ(got, get_integer(*field, closed.data())) << open.text() << " " << field->name;
  }
}

std::string refused(const std::string& open_problem, const std::string& closed_problem,
                    const std::function<void(Tensors&)>& change, int device = Arguments::kHost) {
  const AnyProblem open = parsed(open_problem), closed = parsed(closed_problem);
  const Arguments arguments(open.family(), open.data(), device);
  Tensors tensors(closed.family(), closed.data(), device == Arguments::kHost ? 1 : 2);
  change(tensors);
  FilledArguments filled;
  const Given given = tensors.given();
  return arguments.text(arguments.fill(given, filled), given);
}

// The unit tier takes each case. Under AddressSanitizer, where that would be a quarter of a minute, every fifth.
constexpr std::size_t kCaseStep = QUERN_ADDRESS_SANITIZER ? 5 : 1;

constexpr const char* kOpenGather = "gather width=6 dtype=f32";
constexpr const char* kGather = "gather width=6 dtype=f32 rows=9 count=5";

}  // namespace

// Each case of each family, with its extents open: tensors of its layouts are accepted, and the launch gets its
// extents.
TEST(Arguments, EveryCaseIsFilledFromItsTensors) {
  const Runtime runtime;
  std::size_t checked = 0;
  const std::vector<Case> cases = all_cases();
  for (std::size_t i = 0; i < cases.size(); i += kCaseStep) {
    const Case& c = cases[i];
    const AnyProblem closed = runtime.parse(c.problem), open = opened(closed);
    const Arguments arguments(open.family(), open.data(), Arguments::kHost);
    Tensors tensors(closed.family(), closed.data());
    const std::vector<quern_number> numbers = missing_numbers(arguments, closed, tensors);
    Given given = tensors.given();
    given.numbers = numbers.data();
    given.number_count = numbers.size();
    FilledArguments filled;
    const Refusal refusal = arguments.fill(given, filled);
    ASSERT_FALSE(refusal) << c.problem << ": " << arguments.text(refusal, given);
    expect_extents(open, closed, filled);
    checked += tensors.own.size();
  }
  EXPECT_GT(checked, 10000 / kCaseStep);
}

// And a tensor of each place with one element less is refused, or one element further apart.
TEST(Arguments, EveryDimensionAndStrideIsChecked) {
  const Runtime runtime;
  std::size_t checked = 0;
  const std::vector<Case> cases = all_cases();
  for (std::size_t c = 0; c < cases.size(); c += 7 * kCaseStep) {
    const AnyProblem closed = runtime.parse(cases[c].problem);
    const Arguments arguments(closed.family(), closed.data(), Arguments::kHost);
    Tensors tensors(closed.family(), closed.data());
    FilledArguments filled;
    for (OwnTensor& own : tensors.own) {
      const bool empty = std::find(own.shape.begin(), own.shape.end(), 0) != own.shape.end();
      for (std::size_t d = 0; d < own.shape.size(); ++d) {
        --own.shape[d];
        EXPECT_TRUE(arguments.fill(tensors.given(), filled)) << closed.text();
        ++own.shape[d];
        ++own.strides[d];
        const bool matters = !empty && own.shape[d] > 1;
        EXPECT_EQ(static_cast<bool>(arguments.fill(tensors.given(), filled)), matters) << closed.text();
        --own.strides[d];
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 1000 / kCaseStep);
}

TEST(Arguments, RefusalsNameTheTensorAndWhatIsTaken) {
  const auto refuse = [](const std::function<void(Tensors&)>& change) { return refused(kOpenGather, kGather, change); };
  EXPECT_EQ(refuse([](Tensors&) {}), "");
  EXPECT_EQ(refuse([](Tensors& t) { t.pointers.pop_back(), t.own.pop_back(); }),
            "this problem takes 3 tensors (source, index, out), not 2");
  EXPECT_EQ(refuse([](Tensors& t) { t.own[0].shape[1] = 7; }), "source has shape [9, 7]; this problem takes [9, 6]");
  EXPECT_EQ(refuse([](Tensors& t) { t.own[2].shape[0] = 4; }), "out has shape [4, 6]; this problem takes [5, 6]");
  EXPECT_TRUE(has(refuse([](Tensors& t) { t.own[0].strides[0] = 8; }),
                  "source has shape [9, 6] and strides [8, 1]; this problem takes strides [6, 1]"));
  EXPECT_EQ(refuse([](Tensors& t) { set_element(t.own[0].tensor, bf16); }),
            "source is of bf16; this problem takes f32");
  EXPECT_EQ(refuse([](Tensors& t) { t.own[1].tensor.dtype_code = 1; }), "index is of uint64; this problem takes i64");
  EXPECT_EQ(refuse([](Tensors& t) { t.own[0].tensor.dtype_lanes = 4; }),
            "source is of float32x4; this problem takes f32");
  EXPECT_EQ(refuse([](Tensors& t) { t.own[2].tensor.device_type = 2; }),
            "out is on cuda:0; this plan is for tensors in CPU memory");
  EXPECT_EQ(refuse([](Tensors& t) { t.pointers[1] = nullptr; }), "");  // count is then out's
}

TEST(Arguments, RefusalsSayWhatAProgramCallsAnOperand) {
  const auto refuse = [](const std::function<void(Tensors&)>& change) {
    const char* const program = "pointwise rows=4 width=6 expr=\"b: row; out = x + b\"";
    return refused(program, program, change);
  };
  EXPECT_EQ(refuse([](Tensors& t) { t.own[1].shape[0] = 5; }), "inputs.1 (b) has shape [5]; this problem takes [6]");
  EXPECT_EQ(refuse([](Tensors& t) { set_element(t.own[2].tensor, f32); }),
            "outputs.0 (out) is of f32; this problem takes bf16");
}

// Packed rows may come without strides: found as a crash of the message.
TEST(Arguments, RefusalsOfTensorsWithoutStrides) {
  const AnyProblem problem = parsed("gather width=3 dtype=f32 source_stride=4 rows=4 count=1");
  const Arguments arguments(problem.family(), problem.data(), Arguments::kHost);
  Tensors tensors(problem.family(), problem.data());
  quern_tensor packed = *tensors.own[0].get();
  packed.strides = nullptr;
  Given given = tensors.given();
  tensors.pointers[0] = &packed;
  FilledArguments filled;
  EXPECT_TRUE(has(arguments.text(arguments.fill(given, filled), given),
                  "source has shape [4, 3] and strides [3, 1]; this problem takes strides [4, 1]"));
}

TEST(Arguments, ANumberGivesWhatNoTensorDoes) {
  const AnyProblem open = parsed(kOpenGather);
  const Arguments arguments(open.family(), open.data(), Arguments::kHost);
  const AnyProblem closed = parsed(kGather);
  Tensors tensors(closed.family(), closed.data());
  tensors.pointers[1] = tensors.pointers[2] = nullptr;
  FilledArguments filled;
  Given given = tensors.given();
  EXPECT_EQ(arguments.text(arguments.fill(given, filled), given),
            "count is open in the problem and no tensor gives it; give it as a number");
  const quern_number numbers[] = {{"count", 0, 5}, {"nothing", 0, 5}};
  given.numbers = numbers;
  given.number_count = 1;
  EXPECT_FALSE(arguments.fill(given, filled));
  EXPECT_EQ(arguments.layout(2, filled).extents[0], 5);
  given.number_count = 2;
  EXPECT_EQ(arguments.text(arguments.fill(given, filled), given),
            "gather has no number nothing; it has rows, count, outer");
}

TEST(Arguments, RunTimeNumbersKeepTheirTypes) {
  const AnyProblem problem = parsed("glu rows=3 width=4 gating=clamped dtype=f32");
  const Arguments arguments(problem.family(), problem.data(), Arguments::kHost);
  Tensors tensors(problem.family(), problem.data());
  Given given = tensors.given();
  const quern_number numbers[] = {{"limit", 2.5, 0}};
  given.numbers = numbers;
  given.number_count = 1;
  FilledArguments filled;
  ASSERT_FALSE(arguments.fill(given, filled));
  GluArgs args;
  std::memcpy(static_cast<void*>(&args), filled.bytes, sizeof(args));
  EXPECT_EQ(args.limit, 2.5F);
  EXPECT_EQ(args.offset, 1.0F);  // its default
}

// More dimensions than the operand has: the leading ones are one, if their elements follow each other.
TEST(Arguments, LeadingDimensionsAreMerged) {
  const auto merged = [](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    return refused("glu width=4 dtype=f32", "glu rows=6 width=4 dtype=f32", [&](Tensors& t) {
      t.own[0].shape = std::move(shape);
      t.own[0].strides = std::move(strides);
    });
  };
  EXPECT_EQ(merged({2, 3, 8}, {24, 8, 1}), "");
  EXPECT_EQ(merged({2, 1, 3, 8}, {24, 5, 8, 1}), "");
  EXPECT_EQ(merged({6, 1, 8}, {8, 77, 1}), "");
  EXPECT_TRUE(has(merged({2, 3, 8}, {32, 8, 1}), "not one after the other in memory"));
  EXPECT_TRUE(has(merged({2, 3, 8}, {60, 20, 1}), "this problem takes strides [8, 1]"));
  EXPECT_TRUE(has(merged({2, 2, 8}, {16, 8, 1}), "out has shape [6, 4]; this problem takes [4, 4]"));
}

TEST(Arguments, FewerDimensionsAreLeadingOnes) {
  const auto of = [](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, const char* problem) {
    return refused(kOpenGather, problem, [&](Tensors& t) {
      t.own[0].shape = std::move(shape);
      t.own[0].strides = std::move(strides);
    });
  };
  EXPECT_EQ(of({9, 6}, {6, 1}, kGather), "");
  EXPECT_EQ(of({6}, {1}, "gather width=6 dtype=f32 rows=1 count=5"), "");
  EXPECT_TRUE(has(refused("gather width=6 dtype=f32 outer=2", "gather width=6 dtype=f32 rows=9 count=5 outer=2",
                          [](Tensors& t) {
                            t.own[2].shape = {5, 6}, t.own[2].strides = {6, 1};
                          }),
                  "out has shape [5, 6]; this problem takes [2, 5, 6]"));
}

TEST(Arguments, AMultipleIsRequired) {
  EXPECT_EQ(
      refused("glu layout=halves width=4 groups=3 dtype=f32", "glu groups=3 rows=2 width=4 dtype=f32",
              [](Tensors& t) { t.own[0].shape[0] = 7; }),
      "x has shape [7, 8]; dimension 0 of [groups * rows, 2 * width]; split: width is 7 and must be a multiple of 3");
}

// A workspace may be larger than this launch needs.
TEST(Arguments, AWorkspaceMayBeLarger) {
  const char* const problem = "index_sort rows=9 count=5";
  EXPECT_EQ(refused(problem, problem, [](Tensors& t) { t.own.back().shape[0] += 100; }), "");
  EXPECT_TRUE(has(refused(problem, problem, [](Tensors& t) { --t.own.back().shape[0]; }), "workspace has shape"));
}

TEST(Arguments, EmptyTensorsNeedNoStrides) {
  EXPECT_EQ(refused(kOpenGather, "gather width=6 dtype=f32 rows=9 count=0",
                    [](Tensors& t) {
                      t.own[2].strides = {7, 7, 7};
                      t.own[2].tensor.data = nullptr;
                    }),
            "");
}

TEST(Arguments, DevicesOfAGpuPlan) {
  const auto on = [](std::int32_t type, std::int32_t id) {
    return refused(
        kOpenGather, kGather,
        [&](Tensors& t) {
          t.own[0].tensor.device_type = type;
          t.own[0].tensor.device_id = id;
          for (std::size_t i = 1; i < t.own.size(); ++i) t.own[i].tensor.device_id = 1;
        },
        1);
  };
  EXPECT_EQ(on(2, 1), "");
  EXPECT_EQ(on(3, 0), "");
  EXPECT_EQ(on(13, 0), "");
  EXPECT_EQ(on(2, 0), "source is on cuda:0; this plan is for cuda:1");
  EXPECT_EQ(on(1, 0), "source is in CPU memory; this plan is for cuda:1");
  EXPECT_EQ(on(10, 0), "source is on a device of type 10; this plan is for cuda:1");
}

TEST(Element, BitsServeForSmallFloats) {
  quern_tensor tensor{};
  tensor.dtype_lanes = 1;
  const auto is = [&](std::uint8_t code, std::uint8_t bits) {
    tensor.dtype_code = code;
    tensor.dtype_bits = bits;
  };
  is(1, 8);
  EXPECT_TRUE(serves(tensor, e4m3) && serves(tensor, e5m2) && serves(tensor, e8m0) && serves(tensor, u8));
  EXPECT_FALSE(serves(tensor, bf16) || serves(tensor, i8));
  is(3, 16);
  EXPECT_TRUE(serves(tensor, bf16));
  EXPECT_FALSE(serves(tensor, f16) || serves(tensor, i16) || serves(tensor, e4m3));
  is(1, 32);
  EXPECT_FALSE(serves(tensor, f32));
  is(6, 8);
  EXPECT_TRUE(serves(tensor, u8));
  EXPECT_FALSE(serves(tensor, e4m3));
  for (int type = 1; type < kDTypeCount; ++type) {
    set_element(tensor, static_cast<DType>(type));
    EXPECT_EQ(element_of(tensor), static_cast<DType>(type));
  }
}

}  // namespace quern::test
