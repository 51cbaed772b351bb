#include "pointwise/program_reference.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "common/host_types.h"
#include "expression/emit.h"
#include "pointwise/program_launch.h"

namespace quern::pointwise::program {
namespace {

std::int64_t place(Spread spread, std::int64_t width, std::int64_t row, std::int64_t column) {
  if (spread == Spread::full) return row * width + column;
  return spread == Spread::row ? column : spread == Spread::column ? row : 0;
}

}  // namespace

Reference::Reference(const Pointwise& problem, const PointwiseArgs& args)
    : p_(problem),
      a_(args),
      s_(program::summary(problem)),
      program_(parsed(problem)),
      places_(memory_places(program_)) {
  for (std::size_t i = 0, given = 0; i < places_.size(); ++i) given_.push_back(places_[i] < 0 ? given++ : 0);
}

expression::RowInterpreter<float> Reference::interpreter(expression::RowInterpreter<float>::Add add) const {
  return {program_,
          {p_.rows, p_.width},
          [this](int input, std::int64_t row, std::int64_t column) { return read(input, row, column); },
          std::move(add)};
}

float Reference::read(int input, std::int64_t row, std::int64_t column) const {
  const int memory = places_[static_cast<std::size_t>(input)];
  if (memory < 0) return a_.numbers[given_[static_cast<std::size_t>(input)]];
  const Entry& entry = s_.entries[memory];
  return static_cast<float>(common::read_float(dtype_of(p_, entry), a_.inputs.entries[memory].data,
                                               place(entry.spread, p_.width, row, column)));
}

double Reference::value(const expression::RowInterpreter<float>& made, int output, std::int64_t column) const {
  const expression::Id root = program_.outputs[static_cast<std::size_t>(output)].value;
  const expression::Node& node = program_.tree[root];
  const auto argument = [&](std::size_t i) {
    return i < node.count ? static_cast<double>(made.value(node.arguments[i], column)) : 0;
  };
  if (expression::stores_narrow(node, made_dtype(p_, s_.entries[s_.inputs + output])))
    return node.row().reference(argument(0), argument(1), 0);
  return static_cast<double>(made.value(root, column));
}

void Reference::write(int output, std::int64_t row, std::int64_t column, double value) const {
  const Entry& entry = s_.entries[s_.inputs + output];
  common::write_float(dtype_of(p_, entry), a_.outputs.entries[output].data, place(entry.spread, p_.width, row, column),
                      value);
}

void reference(const Pointwise& p, const PointwiseArgs& a) {
  const Reference reference(p, a);
  parallel_for(p.rows, 1 + (1 << 16) / std::max<std::int64_t>(1, p.width), [&](std::int64_t begin, std::int64_t end) {
    auto interpreter = reference.interpreter();
    for (std::int64_t row = begin; row < end; ++row) {
      interpreter.evaluate(row);
      for (int i = 0; i < reference.summary().outputs; ++i) {
        for (std::int64_t c = 0; c < p.width; ++c) reference.write(i, row, c, reference.value(interpreter, i, c));
      }
    }
  });
}

// Where devices compute all operations to the same bit, results are equal. Else each of the others is within a few fp32
// units, or of what cancels in it, and what follows may enlarge a difference; below fp32 it can only flip a rounding.
Tolerance tolerance(const Pointwise& p, int output) {
  const Summary& s = summary(p);
  const Inexact inexact = inexact_of(p, output);
  if (inexact.all == 0) return {};
  const bool is_f32 = quern::bytes(dtype_of(p, s.entries[s.inputs + output])) == 4;
  return {is_f32 ? 8.0 * inexact.all : 1.0, 0x1p-20 * inexact.in_fp32};
}

// An activation in double is 1/64 of a unit of 16 bits from the kernel's.
double Reference::error(const expression::RowErrors& errors, const expression::RowInterpreter<float>& made, int output,
                        std::int64_t column) const {
  const expression::Id root = program_.outputs[static_cast<std::size_t>(output)].value;
  const DType dtype = dtype_of(p_, s_.entries[s_.inputs + output]);
  const double number = value(made, output, column), off = errors.error(root, column);
  const bool is_narrow = expression::stores_narrow(program_.tree[root], made_dtype(p_, s_.entries[s_.inputs + output]));
  const double narrow = is_narrow && off > 0 ? 0x1p-16 * std::abs(number) : 0;
  return expression::change([&](double x) { return common::round_float(dtype, x); }, number, off + narrow);
}

bool allowance(const Pointwise& p, const PointwiseArgs& a, int output, double* of_elements) {
  const Reference reference(p, a);
  const Entry& entry = reference.summary().entries[reference.summary().inputs + output];
  parallel_for(p.rows, 1 + (1 << 12) / std::max<std::int64_t>(1, p.width), [&](std::int64_t begin, std::int64_t end) {
    auto interpreter = reference.interpreter();
    auto errors = reference.errors(interpreter);
    for (std::int64_t row = begin; row < end; ++row) {
      interpreter.evaluate(row);
      errors.evaluate();
      for (std::int64_t c = 0; c < p.width; ++c)
        of_elements[place(entry.spread, p.width, row, c)] = reference.error(errors, interpreter, output, c);
    }
  });
  return true;
}

}  // namespace quern::pointwise::program
