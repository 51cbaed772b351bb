// Queries of a problem's text for the tests of families.
#ifndef QUERN_TESTS_UNIT_FAMILIES_SUPPORT_H_
#define QUERN_TESTS_UNIT_FAMILIES_SUPPORT_H_

#include <string>
#include <string_view>

#include "support/has.h"
#include "unit/plan/support.h"

namespace quern::test {

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

// Both, of mxfp8 with these fields.
inline std::string mxfp8_refusal(const std::string& fields) { return refusal("mxfp8 " + fields); }
inline std::int64_t mxfp8_span(const std::string& fields, std::string_view operand) {
  return span("mxfp8 " + fields, operand);
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

// "vector:16:16 ragged:16:2": name, value of the second parameter and alignment of each variant.
inline std::string summary(const std::string& text, const Target& target = {90, "a"}) {
  const AnyProblem p = problem(text);
  std::string all;
  for (const Variant& v : variants_of(p, target))
    all += std::string(all.empty() ? "" : " ") + v.name + ":" + std::to_string(v.config[1]) + ":" +
           std::to_string(alignment_of(p, v.config));
  return all;
}

}  // namespace quern::test

#endif  // QUERN_TESTS_UNIT_FAMILIES_SUPPORT_H_
