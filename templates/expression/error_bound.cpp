#include "expression/error_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/host_types.h"

namespace quern::expression {
namespace {

constexpr double kUnits = 8;          // between two formulas, beside what this computer's is off
constexpr double kDevices = 8;        // times that
constexpr int kNear = 8;              // arguments on each side
constexpr double kNearStep = 0x1p-9;  // relative

// Of fp32, in the last place of a number.
double unit(double value) {
  if (!std::isfinite(value) || std::abs(value) < 0x1p-126) return 0x1p-149;
  return std::ldexp(1, std::ilogb(value) - 23);
}

// Between two results, of which both may be NaN or the same infinity.
double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double off = std::abs(a - b);
  return std::isnan(off) ? std::numeric_limits<double>::infinity() : off;
}

double off_at(const Function& f, double x, double y, double z) {
  const auto narrow = [](double value) { return static_cast<float>(value); };
  const float at = narrow(x);
  const double off =
      std::abs(static_cast<double>(f.compute(at, narrow(y), narrow(z))) - f.reference(static_cast<double>(at), y, z));
  return std::isfinite(off) ? off : 0;
}

using Numbers = std::array<double, 3>;

// Each argument is at an end of its range or in the middle: conditions are 0 or 1, and only some of them may be
// otherwise.
double spread(const Function& f, const Numbers& x, const Numbers& errors) {
  if (errors == Numbers{}) return 0;
  const double middle = f.reference(x[0], x[1], x[2]);
  double most = 0;
  constexpr double kWays[] = {-1, 0, 1};
  for (const double a : kWays) {
    for (const double b : kWays) {
      for (const double c : kWays) {
        const double value = f.reference(x[0] + a * errors[0], x[1] + b * errors[1], x[2] + c * errors[2]);
        most = std::max(most, difference(value, middle));
      }
    }
  }
  return most;
}

}  // namespace

double formula_error(const Function& f, double x, double y, double z) {
  if (is_exact(f)) return 0;
  double off = 0;
  for (int k = -kNear; k <= kNear; ++k) off = std::max(off, off_at(f, x * (1 + k * kNearStep), y, z));
  return kUnits * unit(f.reference(x, y, z)) + kDevices * off;
}

double change(const std::function<double(double)>& f, double x, double error) {
  return error == 0 ? 0 : std::max(difference(f(x - error), f(x)), difference(f(x + error), f(x)));
}

RowErrors::RowErrors(const Program& program, const RowInterpreter<float>& made) : program_(program), made_(made) {
  for (Id id = 0; id < program.tree.size(); ++id) errors_.emplace_back(made.values(id).size());
}

void RowErrors::evaluate() {
  for (Id id = 0; id < program_.tree.size(); ++id) {
    const Node& node = program_.tree[id];
    if (node.op != Op::call || node.row().form == Form::extent) continue;  // exact
    std::vector<double>& out = errors_[static_cast<std::size_t>(id)];
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = of_call(node, static_cast<std::int64_t>(c));
  }
}

double RowErrors::error(Id node, std::int64_t column) const {
  const std::vector<double>& errors = errors_[static_cast<std::size_t>(node)];
  return errors[errors.size() == 1 ? 0 : static_cast<std::size_t>(column)];
}

double RowErrors::of_call(const Node& node, std::int64_t column) const {
  Numbers x = {}, errors = {};
  for (std::size_t i = 0; i < node.count; ++i) {
    x[i] = static_cast<double>(made_.value(node.arguments[i], column));
    errors[i] = error(node.arguments[i], column);
  }
  const Function& f = node.row();
  if (f.form == Form::rounding) {
    const auto dtype = static_cast<DType>(node.payload);
    return change([&](double value) { return common::round_float(dtype, value); }, x[0], errors[0]);
  }
  const double off = spread(f, x, errors) + formula_error(f, x[0], x[1], x[2]);
  if (off == 0 || f.result == 'c') return off;
  return off + unit(std::abs(f.reference(x[0], x[1], x[2])) + off);  // another rounding
}

}  // namespace quern::expression
