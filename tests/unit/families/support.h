// Queries of a problem's text for the tests of families.
#ifndef QUERN_TESTS_UNIT_FAMILIES_SUPPORT_H_
#define QUERN_TESTS_UNIT_FAMILIES_SUPPORT_H_

#include <string>
#include <string_view>

#include "unit/plan/support.h"

namespace quern::test {

inline bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

// The error of the family's rules between fields; "" if there is none.
inline std::string refusal(const std::string& text) {
  const AnyProblem p = problem(text);
  return p.family().check(p.data());
}

// The bytes of an operand, by name.
inline std::int64_t span(const std::string& text, std::string_view operand) {
  const AnyProblem p = problem(text);
  for (const Operand& each : p.family().operands) {
    if (each.name == operand) return each.layout(p.data()).span_bytes();
  }
  return -1;
}

// The error of parsing the text.
inline std::string parse_error(const std::string& text) {
  try {
    problem(text);
  } catch (const Error& error) {
    return error.sentence;
  }
  return "";
}

// "vector:16:16 element:2:1 ": name, value of the parameter `vector` and alignment of each variant.
inline std::string variant_summary(const std::string& text) {
  const AnyProblem p = problem(text);
  const auto& parameters = step_of(p).parameters;
  int vector = 0;
  while (std::string_view(parameters[vector].name) != "vector") ++vector;
  std::string all;
  for (const Variant& v : variants_of(p))
    all += std::string(v.name) + ":" + std::to_string(v.config[vector]) + ":" +
           std::to_string(alignment_of(p, v.config)) + " ";
  return all;
}

}  // namespace quern::test

#endif  // QUERN_TESTS_UNIT_FAMILIES_SUPPORT_H_
