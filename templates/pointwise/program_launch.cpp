#include "pointwise/program_launch.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "common/host_types.h"
#include "expression/emit.h"
#include "pointwise/geometry.h"
#include "pointwise/params.h"
#include "pointwise/reductions.h"
#include "pointwise/scaled.h"
#include "quern/error.h"

namespace quern::pointwise::program {

// ---- Operands

namespace {

Layout layout_of(const Pointwise& p, const Entry& entry) {
  const DType dtype = dtype_of(p, entry);
  if (entry.spread == Spread::full) return Layout::matrix(dtype, p.rows, p.width, p.width);
  if (entry.spread == Spread::row) return Layout::list(dtype, p.width);
  return Layout::list(dtype, entry.spread == Spread::column ? p.rows : 1);
}

}  // namespace

Layout input_layout(const Pointwise& p, int entry) {
  const Summary& s = summary(p);
  return entry < s.inputs ? layout_of(p, s.entries[entry]) : Layout{};
}
Layout output_layout(const Pointwise& p, int entry) {
  const Summary& s = summary(p);
  return entry < s.outputs ? layout_of(p, s.entries[s.inputs + entry]) : Layout{};
}
int input_count(const void* p) {
  const auto& problem = *static_cast<const Pointwise*>(p);
  return has_program(problem) ? summary(problem).inputs : 0;
}
int output_count(const void* p) {
  const auto& problem = *static_cast<const Pointwise*>(p);
  return has_program(problem) ? summary(problem).outputs : 0;
}

std::string input_name(const void* p, int entry) {
  return entry < input_count(p) ? name_of(*static_cast<const Pointwise*>(p), entry) : "";
}
std::string output_name(const void* p, int entry) {
  return entry < output_count(p) ? name_of(*static_cast<const Pointwise*>(p), input_count(p) + entry) : "";
}

std::int64_t bytes(const Pointwise& p) {
  const Summary& s = summary(p);
  std::int64_t total = 0;
  for (int i = 0; i < s.operands(); ++i)
    total += layout_of(p, s.entries[i]).elements() * quern::bytes(dtype_of(p, s.entries[i]));
  return total + scaled::bytes(p);
}

// ---- The image

namespace {

// The host writes the kernel's parameters part by part, each where ProgramParams has it.
std::size_t shape_offset(const Summary& s) {
  return sizeof(common::Slots) + static_cast<std::size_t>(s.operands()) * sizeof(void*);
}
std::size_t numbers_offset(const Summary& s) { return shape_offset(s) + sizeof(ProgramShape); }

int aligned_output(const Pointwise& p, const Summary& s) {
  const Entry* const first = s.entries + s.inputs;
  return static_cast<int>(std::max_element(first, first + s.outputs,
                                           [&](const Entry& a, const Entry& b) {
                                             return quern::bytes(dtype_of(p, a)) < quern::bytes(dtype_of(p, b));
                                           }) -
                          first);
}

std::string input_text(int number, const char* type, const char* spread) {
  return cat("template <>\nstruct Input<", number, "> {\n  using Type = ", type,
             ";\n  static constexpr pointwise::Spread kSpread = pointwise::Spread::", spread, ";\n};\n");
}

// The types of the operands, and how inputs are spread.
std::string inputs_text(const Pointwise& p, const Summary& s) {
  std::string text = "template <int I>\nstruct Input;\ntemplate <int I>\nstruct Output;\n";
  for (int i = 0; i < s.inputs; ++i) {
    const Entry& entry = s.entries[i];
    text += input_text(i, common::spec_type(dtype_of(p, entry)).c_str(), kBiasSpreads[static_cast<int>(entry.spread)]);
  }
  if (s.inputs == 0) text += input_text(0, "float", "none");
  return text;
}
std::string outputs_text(const Pointwise& p, const Summary& s) {
  std::string text;
  for (int i = 0; i < s.outputs; ++i)
    text += cat("template <>\nstruct Output<", i,
                "> {\n  using Type = ", common::spec_type(dtype_of(p, s.entries[s.inputs + i])), ";\n};\n");
  return text;
}

}  // namespace

void specialize_operands(const Pointwise& p, std::size_t numbers_at, const std::string& outputs_text, Spec& spec) {
  const Summary& s = summary(p);
  spec.integer("inputs", s.inputs);
  spec.integer("outputs", s.outputs);
  spec.integer("numbers", std::max(1, s.numbers));
  spec.integer("params_bytes", static_cast<std::int64_t>(params_bytes(s, numbers_at)));
  expression::Program program = parsed(p);
  for (int i = 0; i < s.outputs; ++i) {
    expression::Output& output = program.outputs[static_cast<std::size_t>(i)];
    output.dtype = made_dtype(p, s.entries[s.inputs + i]);
    output.quantized = has_scales(p, s.entries[s.inputs + i]);
  }
  spec.source("program.cuh", cat("#include \"pointwise/params.h\"\n", expression::emit(program, p.dtype),
                                 "\nnamespace quern::generated {\n\n", inputs_text(p, s), outputs_text,
                                 "\n}  // namespace quern::generated\n"));
}

void specialize(const Pointwise& p, Spec& spec) {
  const Summary& s = summary(p);
  spec.integer("aligned", aligned_output(p, s));
  specialize_operands(p, numbers_offset(s), outputs_text(p, s), spec);
  spec.part("pointwise/program.cuh");
}

// ---- The launch

namespace {

struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

Range range_of(const void* data, std::int64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {begin, begin + static_cast<std::uintptr_t>(data == nullptr ? 0 : bytes)};
}
// The size was checked, so it fits 64 bits.
Range range_of(const Pointwise& p, const Entry& entry, const void* data) {
  const std::int64_t rows = entry.spread == Spread::full || entry.spread == Spread::column ? p.rows : 1,
                     width = entry.spread == Spread::full || entry.spread == Spread::row ? p.width : 1;
  return range_of(data, rows * width * quern::bytes(dtype_of(p, entry)));
}
bool overlap(const Range& a, const Range& b) {
  return a.begin < b.end && b.begin < a.end && a.begin != a.end && b.begin != b.end;
}

// Each thread reads its elements of all inputs before it writes those of the outputs, and no other thread uses them:
// one with ragged slots reads whole blocks of 16 bytes, and drops what is of its neighbours.
bool is_in_place(const Pointwise& p, const Entry& input, const Entry& output, const Range& in, const Range& out) {
  return in.begin == out.begin && input.spread == Spread::full && output.spread == Spread::full &&
         dtype_of(p, input) == dtype_of(p, output) && reductions::may_be_in_place(p);
}

[[noreturn]] void refuse_overlap(const Pointwise& p, int output, int other) {
  const char* const why =
      reductions::may_be_in_place(p)
          ? "an output may have the address of a full input of its type, and may overlap nothing else"
          : "this row is too long to be replaced: several blocks read it for its reductions";
  throw Error(Code::bad_input, Stage::launch, cat(name_of(p, output), " overlaps ", name_of(p, other), "; ", why));
}

using Ranges = Range[expression::kMostOperands + expression::kMostOutputs];

[[noreturn]] void refuse_scales(const Pointwise& p, int scale, const std::string& other) {
  throw Error(Code::bad_input, Stage::launch,
              cat(scaled::scales_name(&p, scale), " overlaps ", other, "; scales may overlap nothing"));
}

// Other threads read and write what would lie there.
void refuse_overlaps_of_scales(const Pointwise& p, const Summary& s, const PointwiseArgs& a, const Ranges& ranges) {
  const int count = scaled::count(p);
  Range scales[expression::kMostOutputs];
  for (int i = 0; i < count; ++i) {
    scales[i] = range_of(a.scales.entries[i].data, scaled::scales_layout(p, i).span_bytes());
    for (int other = 0; other < s.operands(); ++other) {
      if (overlap(scales[i], ranges[other])) refuse_scales(p, i, name_of(p, other));
    }
    for (int other = 0; other < i; ++other) {
      if (overlap(scales[i], scales[other])) refuse_scales(p, i, scaled::scales_name(&p, other));
    }
  }
}

void refuse_overlaps(const Pointwise& p, const Summary& s, const PointwiseArgs& a, void* const* addresses) {
  Ranges ranges;
  for (int i = 0; i < s.operands(); ++i) ranges[i] = range_of(p, s.entries[i], addresses[i]);
  refuse_overlaps_of_scales(p, s, a, ranges);
  for (int output = s.inputs; output < s.operands(); ++output) {
    for (int other = 0; other < output; ++other) {
      if (!overlap(ranges[other], ranges[output])) continue;
      if (other >= s.inputs || !is_in_place(p, s.entries[other], s.entries[output], ranges[other], ranges[output]))
        refuse_overlap(p, output, other);
    }
  }
}

float value_of(const Pointwise& p, const PointwiseArgs& a, const Number& number) {
  switch (number.source) {
    case expression::Number::Source::literal:
      return number.value;
    case expression::Number::Source::operand:
      return a.numbers[number.given];
    case expression::Number::Source::width:
      return static_cast<float>(p.width);
    case expression::Number::Source::rows:
      return static_cast<float>(p.rows);
  }
  return 0;
}

struct Work : ProgramShape {
  common::Slots slots;
};

}  // namespace

std::size_t params_bytes(const Summary& s, std::size_t numbers_at) {
  const std::size_t end = numbers_at + static_cast<std::size_t>(std::max(1, s.numbers)) * sizeof(float);
  return (end + alignof(void*) - 1) / alignof(void*) * alignof(void*);
}

void write_operands(const Pointwise& p, const PointwiseArgs& a, std::size_t operands_at, std::size_t numbers_at,
                    Launch& launch) {
  const Summary& s = summary(p);
  void* addresses[expression::kMostOperands + expression::kMostOutputs];
  for (int i = 0; i < s.inputs; ++i) addresses[i] = const_cast<void*>(a.inputs.entries[i].data);
  for (int i = 0; i < s.outputs; ++i) addresses[s.inputs + i] = a.outputs.entries[i].data;
  refuse_overlaps(p, s, a, addresses);
  float numbers[expression::kMostNumbers] = {};
  for (int i = 0; i < s.numbers; ++i) numbers[i] = value_of(p, a, s.values[i]);
  std::memcpy(launch.params + operands_at, addresses, static_cast<std::size_t>(s.operands()) * sizeof(void*));
  std::memcpy(launch.params + numbers_at, numbers, params_bytes(s, numbers_at) - numbers_at);
}

void launch(const Pointwise& p, const PointwiseArgs& a, const DeviceModel& model, const Config& config,
            Launch& launch) {
  const Summary& s = summary(p);
  write_operands(p, a, sizeof(common::Slots), numbers_offset(s), launch);
  Work work{};
  set_work(p, model, config, work, launch);
  std::memcpy(launch.params, &work.slots, sizeof(work.slots));
  std::memcpy(launch.params + shape_offset(s), static_cast<const ProgramShape*>(&work), sizeof(ProgramShape));
}

}  // namespace quern::pointwise::program
