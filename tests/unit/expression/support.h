// Programs from texts that are right, on one element.
#ifndef QUERN_TESTS_UNIT_EXPRESSION_SUPPORT_H_
#define QUERN_TESTS_UNIT_EXPRESSION_SUPPORT_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/sanitizers.h"
#include "expression/evaluate.h"
#include "expression/gradient.h"
#include "expression/print.h"

namespace quern::test::expressions {

// How many programs are drawn. Under AddressSanitizer, where those of the unit tier take most of a minute, a fifth.
constexpr int kRandomPrograms = QUERN_ADDRESS_SANITIZER ? 100 : 500;

inline expression::Program parsed(const std::string& text) {
  expression::Parsed result = expression::parse(text);
  EXPECT_TRUE(result) << text << "\n" << result.error.text();
  return std::move(result.program);
}

inline expression::Program gradient_of(const expression::Program& program, const std::vector<std::string>& names) {
  expression::Parsed result = expression::gradient(program, names);
  EXPECT_TRUE(result) << expression::print(program) << "\n" << result.error.text();
  return std::move(result.program);
}

// The first output, of inputs of one element.
template <class T>
T value_at(const expression::Program& program, const std::map<std::string, T>& inputs) {
  std::vector<std::vector<T>> arrays;
  for (const expression::Operand& input : program.inputs) arrays.push_back({inputs.at(input.name)});
  return expression::evaluate<T>(program, {1, 1}, arrays)[0][0];
}
inline double value_at(const std::string& text, double x, double y = 0, double z = 0) {
  return value_at<double>(parsed(text), {{"x", x}, {"y", y}, {"z", z}});
}
inline float float_at(const std::string& text, float x, float y = 0, float z = 0) {
  return value_at<float>(parsed(text), {{"x", x}, {"y", y}, {"z", z}});
}

}  // namespace quern::test::expressions

#endif  // QUERN_TESTS_UNIT_EXPRESSION_SUPPORT_H_
