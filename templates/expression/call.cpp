// Which function a call means.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "expression/grammar.h"

namespace quern::expression {
namespace {

// Other libraries' names.
constexpr Alias kOtherNames[] = {
    {"maximum", "max"},     {"fmax", "max"},         {"amax", "max"},       {"minimum", "min"},
    {"fmin", "min"},        {"select", "where"},     {"if", "where"},       {"iif", "where"},
    {"swish", "silu"},      {"logistic", "sigmoid"}, {"fabs", "abs"},       {"absolute", "abs"},
    {"ln", "log"},          {"power", "pow"},        {"cast", "round"},     {"to", "round"},
    {"sgn", "sign"},        {"sqr", "square"},       {"clip", "clamp"},     {"inverse", "reciprocal"},
    {"arctan", "atan"},     {"arcsin", "asin"},      {"arccos", "acos"},    {"arctan2", "atan2"},
    {"logical_and", "and"}, {"roundeven", "rint"},   {"nearbyint", "rint"}, {"sigma", "sigmoid"},
    {"grad", "d"},          {"diff", "d"},           {"relu6", "clamp"},    {"hardtanh", "clamp"},
    {"average", "mean"},    {"reduce_sum", "sum"},   {"reduce_max", "max"},
};

// The numbers of arguments that the name takes, in ascending order.
std::vector<int> arities(std::string_view name, bool takes_any_alpha) {
  std::vector<int> all;
  for (const Function& f : kFunctions) {
    if (name != f.name || !is_call(f)) continue;
    if (takes_default_alpha(f)) all.push_back(1);
    if (!takes_default_alpha(f) || takes_any_alpha || takes_alpha(f))
      all.push_back(f.arity() + (f.form == Form::rounding ? 1 : 0));
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string wrong_number(std::string_view name, const std::vector<int>& wanted, std::size_t got) {
  std::string text = cat(name, " takes ");
  for (std::size_t i = 0; i < wanted.size(); ++i) text += cat(i == 0 ? "" : " or ", wanted[i]);
  return cat(text, wanted.back() == 1 ? " argument" : " arguments", ", not ", got);
}

[[noreturn]] void refuse_unknown(const Token& name) {
  const std::string lowered = lower(name.text), meant = meant_by(name.text, kOtherNames);
  if (meant != lowered || !arities(lowered, false).empty())
    throw Refused{name.at, cat("unknown function ", name.text, "; write ", meant)};
  const std::string near = did_you_mean(name.text, callable_names());
  throw Refused{name.at, cat("unknown function ", name.text, ".",
                             near.empty() ? " docs/expressions.md lists them, and has a softmax and norms" : near)};
}

}  // namespace

int function_of_call(const Token& name, std::size_t arguments, bool takes_any_alpha) {
  const std::vector<int> wanted = arities(name.text, takes_any_alpha);
  if (wanted.empty()) refuse_unknown(name);
  const int count = static_cast<int>(arguments);
  if (std::find(wanted.begin(), wanted.end(), count) == wanted.end())
    throw Refused{name.at, wrong_number(name.text, wanted, arguments)};
  for (int i = 0; i < kFunctionCount; ++i) {
    const Function& f = kFunctions[i];
    if (name.text == f.name && is_call(f) && (takes_default_alpha(f) || f.arity() == count || f.form == Form::rounding))
      return i;
  }
  return -1;
}

}  // namespace quern::expression
