#include "expression/functions.h"

#include <algorithm>
#include <iterator>

namespace quern::expression {
namespace {

// Each activation is a function of the language, under its own name.
constexpr bool all_activations_are_functions() {
  for (const common::ActivationRow& row : common::kActivationRows) {
    if (find_function(row.name, 1) < 0 && find_function(row.name, 2, Form::activation) < 0) return false;
  }
  return true;
}
static_assert(all_activations_are_functions(), "a new activation needs a row in common/expression_table.h");

}  // namespace

bool takes_alpha(const Function& f) {
  if (!takes_default_alpha(f)) return false;
  const std::string_view name = f.name;
  const std::string_view activation =
      f.form == Form::slope ? name.substr(0, name.size() - std::string_view("_slope").size()) : name;
  for (std::size_t i = 0; i < std::size(common::kActivationRows); ++i) {
    if (activation == common::kActivationRows[i].name) return common::takes_alpha(static_cast<int>(i));
  }
  return false;
}

bool is_exact(const Function& f) {
  constexpr std::string_view kExact[] = {"abs",  "sqrt",   "reciprocal", "square", "sign", "floor", "ceil", "trunc",
                                         "rint", "detach", "min",        "max",    "fma",  "clamp", "where"};
  if (f.form == Form::activation) {
    for (const common::ActivationRow& row : common::kActivationRows) {
      if (std::string_view(row.name) == f.name) return row.ulps == 0;
    }
  }
  if (f.form != Form::call) return f.form != Form::slope;
  return std::find(std::begin(kExact), std::end(kExact), f.name) != std::end(kExact);
}

std::vector<std::string> callable_names() {
  std::vector<std::string> names;
  for (const Function& f : kFunctions) {
    if (is_call(f)) names.emplace_back(f.name);
  }
  names.emplace_back("d");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace quern::expression
