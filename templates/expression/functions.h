// The operators and functions of the language: one row each.
#ifndef QUERN_EXPRESSION_FUNCTIONS_H_
#define QUERN_EXPRESSION_FUNCTIONS_H_

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "common/elementwise.cuh"
#include "common/expression_table.h"
#include "expression/slope_reference.h"

namespace quern::expression {

enum class Form : std::uint8_t {
  infix,
  prefix,
  call,
  activation,  // a call whose last argument, alpha, may be left out
  slope,       // the same, of an activation's derivative
  along_row,   // a reduction along a row
  over_rows,   // a reduction over the rows, too: the whole of an output
  rounding,    // a call with the name of a type
  extent,      // an extent of the problem, as a number
};

struct Function {
  const char* name;
  const char* arguments;  // of each, n: a number, c: a condition
  char result;            // the same
  Form form;
  int precedence;     // of an operator; larger ones bind tighter
  const char* value;  // as C++, of x, y and z
  float (*compute)(float x, float y, float z);
  double (*reference)(double x, double y, double z);
  const char* gradient[3];  // what it adds to the gradient of each argument; "": nothing
  float alpha;              // the default

  constexpr int arity() const { return static_cast<int>(std::string_view(arguments).size()); }
};

// The precedence of `not`, of unary minus, and of what needs no parentheses.
inline constexpr int kNotPrecedence = 3;
inline constexpr int kComparisonPrecedence = 4;
inline constexpr int kMinusPrecedence = 7;
inline constexpr int kPrimaryPrecedence = 8;

// An argument where formulas have it: a condition, which interpreters keep as a number, is a bool.
template <char Letter, class T>
constexpr auto as_argument(T value) {
  if constexpr (Letter == 'c')
    return value != 0;
  else
    return value;
}
constexpr char letter(std::string_view arguments, std::size_t i) { return i < arguments.size() ? arguments[i] : 'n'; }

#define QUERN_EXPRESSION_ARGUMENTS(arguments)                                \
  [[maybe_unused]] const auto x = as_argument<letter(arguments, 0)>(first);  \
  [[maybe_unused]] const auto y = as_argument<letter(arguments, 1)>(second); \
  [[maybe_unused]] const auto z = as_argument<letter(arguments, 2)>(third);
#define QUERN_EXPRESSION_VALUE(arguments, VALUE)        \
  [](float first, float second, float third) -> float { \
    using namespace common;                             \
    QUERN_EXPRESSION_ARGUMENTS(arguments)               \
    return static_cast<float>(VALUE);                   \
  }
#define QUERN_EXPRESSION_REFERENCE(arguments, REFERENCE)    \
  [](double first, double second, double third) -> double { \
    QUERN_EXPRESSION_ARGUMENTS(arguments)                   \
    return REFERENCE;                                       \
  }

#define QUERN_EXPRESSION_OPERATOR(name, arguments, result, form, precedence, VALUE, OF_X, OF_Y) \
  Function{name,                                                                                \
           arguments,                                                                           \
           result,                                                                              \
           Form::form,                                                                          \
           precedence,                                                                          \
           #VALUE,                                                                              \
           QUERN_EXPRESSION_VALUE(arguments, VALUE),                                            \
           QUERN_EXPRESSION_REFERENCE(arguments, VALUE),                                        \
           {OF_X, OF_Y, ""},                                                                    \
           0},
#define QUERN_EXPRESSION_CALL(name, arguments, VALUE, REFERENCE, OF_X, OF_Y, OF_Z) \
  Function{#name,                                                                  \
           arguments,                                                              \
           'n',                                                                    \
           Form::call,                                                             \
           kPrimaryPrecedence,                                                     \
           #VALUE,                                                                 \
           QUERN_EXPRESSION_VALUE(arguments, VALUE),                               \
           QUERN_EXPRESSION_REFERENCE(arguments, REFERENCE),                       \
           {OF_X, OF_Y, OF_Z},                                                     \
           0},

// Of an activation and of its slope. Where the operators of PyTorch select a gradient of 0, so does the language.
#define QUERN_EXPRESSION_SELECTS(name) common::selects_zero(Activation::name)
#define QUERN_EXPRESSION_OF_ACTIVATION(name)                                                         \
  QUERN_EXPRESSION_SELECTS(name) ? "where(" #name "_slope(x, y) == 0, 0, g * " #name "_slope(x, y))" \
                                 : "g * " #name "_slope(x, y)"
#define QUERN_EXPRESSION_ACTIVATION(name, SLOPE, OF_ALPHA, SLOPE_OF_X, SLOPE_OF_ALPHA)                  \
  Function{#name,                                                                                       \
           "nn",                                                                                        \
           'n',                                                                                         \
           Form::activation,                                                                            \
           kPrimaryPrecedence,                                                                          \
           "activate<Activation::" #name ">(x, y, NoRounding())",                                       \
           QUERN_EXPRESSION_VALUE("nn", activate<Activation::name>(x, y, NoRounding())),                \
           [](double x, double a, double) { return reference_of(Activation::name)(x, a); },             \
           {QUERN_EXPRESSION_OF_ACTIVATION(name), OF_ALPHA, ""},                                        \
           alpha_of(Activation::name)},                                                                 \
      Function{#name "_slope",                                                                          \
               "nn",                                                                                    \
               'n',                                                                                     \
               Form::slope,                                                                             \
               kPrimaryPrecedence,                                                                      \
               "activate_derivative<Activation::" #name ">(x, y, NoRounding())",                        \
               QUERN_EXPRESSION_VALUE("nn", activate_derivative<Activation::name>(x, y, NoRounding())), \
               [](double x, [[maybe_unused]] double a, double) -> double { return SLOPE; },             \
               {SLOPE_OF_X, SLOPE_OF_ALPHA, ""},                                                        \
               alpha_of(Activation::name)},

// What is not computed element by element.
#define QUERN_EXPRESSION_SPECIAL(name, arguments, form, OF_X) \
  Function{name, arguments, 'n', Form::form, kPrimaryPrecedence, "", nullptr, nullptr, {OF_X, "", ""}, 0},

constexpr float alpha_of(Activation a) { return common::kActivationRows[static_cast<int>(a)].alpha; }
constexpr auto reference_of(Activation a) { return common::kActivationRows[static_cast<int>(a)].reference; }

// clang-format off
inline constexpr Function kFunctions[] = {
  QUERN_EXPRESSION_OPERATOR("or", "cc", 'c', infix, 1, x || y, "", "")
  QUERN_EXPRESSION_OPERATOR("and", "cc", 'c', infix, 2, x && y, "", "")
  QUERN_EXPRESSION_OPERATOR("not", "c", 'c', prefix, kNotPrecedence, !x, "", "")
  QUERN_EXPRESSION_OPERATOR("<", "nn", 'c', infix, kComparisonPrecedence, x < y, "", "")
  QUERN_EXPRESSION_OPERATOR("<=", "nn", 'c', infix, kComparisonPrecedence, x <= y, "", "")
  QUERN_EXPRESSION_OPERATOR(">", "nn", 'c', infix, kComparisonPrecedence, x > y, "", "")
  QUERN_EXPRESSION_OPERATOR(">=", "nn", 'c', infix, kComparisonPrecedence, x >= y, "", "")
  QUERN_EXPRESSION_OPERATOR("==", "nn", 'c', infix, kComparisonPrecedence, x == y, "", "")
  QUERN_EXPRESSION_OPERATOR("!=", "nn", 'c', infix, kComparisonPrecedence, x != y, "", "")
  QUERN_EXPRESSION_OPERATOR("+", "nn", 'n', infix, 5, x + y, "g", "g")
  QUERN_EXPRESSION_OPERATOR("-", "nn", 'n', infix, 5, x - y, "g", "-g")
  QUERN_EXPRESSION_OPERATOR("*", "nn", 'n', infix, 6, x * y, "g * y", "g * x")
  QUERN_EXPRESSION_OPERATOR("/", "nn", 'n', infix, 6, x / y, "g / y", "-g * (r / y)")
  QUERN_EXPRESSION_OPERATOR("-", "n", 'n', prefix, kMinusPrecedence, -x, "-g", "")
  QUERN_EXPRESSION_UNARY(QUERN_EXPRESSION_CALL)
  QUERN_EXPRESSION_BINARY(QUERN_EXPRESSION_CALL)
  QUERN_EXPRESSION_TERNARY(QUERN_EXPRESSION_CALL)
  QUERN_EXPRESSION_ACTIVATIONS(QUERN_EXPRESSION_ACTIVATION)
  QUERN_EXPRESSION_SPECIAL("identity", "n", call, "g")
  QUERN_EXPRESSION_SPECIAL("sum", "n", along_row, "g")
  QUERN_EXPRESSION_SPECIAL("mean", "n", along_row, "g / width()")
  // Shared evenly among equals.
  QUERN_EXPRESSION_SPECIAL("max", "n", along_row, "where(x == r, g / sum(where(x == r, 1, 0)), 0)")
  QUERN_EXPRESSION_SPECIAL("sum_rows", "n", over_rows, "g")
  QUERN_EXPRESSION_SPECIAL("sum_all", "n", over_rows, "g")
  QUERN_EXPRESSION_SPECIAL("round", "n", rounding, "g")
  QUERN_EXPRESSION_SPECIAL("width", "", extent, "")
  QUERN_EXPRESSION_SPECIAL("rows", "", extent, "")
};
// clang-format on
inline constexpr int kFunctionCount = static_cast<int>(std::size(kFunctions));

#undef QUERN_EXPRESSION_ARGUMENTS
#undef QUERN_EXPRESSION_VALUE
#undef QUERN_EXPRESSION_REFERENCE
#undef QUERN_EXPRESSION_OPERATOR
#undef QUERN_EXPRESSION_CALL
#undef QUERN_EXPRESSION_SELECTS
#undef QUERN_EXPRESSION_OF_ACTIVATION
#undef QUERN_EXPRESSION_ACTIVATION
#undef QUERN_EXPRESSION_SPECIAL

// The row of a name with that many arguments, alpha included; -1: there is none.
constexpr int find_function(std::string_view name, int arity) {
  for (int i = 0; i < kFunctionCount; ++i) {
    if (name == kFunctions[i].name && kFunctions[i].arity() == arity) return i;
  }
  return -1;
}
constexpr int find_function(std::string_view name, int arity, Form form) {
  for (int i = 0; i < kFunctionCount; ++i) {
    if (name == kFunctions[i].name && kFunctions[i].arity() == arity && kFunctions[i].form == form) return i;
  }
  return -1;
}

// Rows that code names.
inline constexpr int kAdd = find_function("+", 2);
inline constexpr int kSubtract = find_function("-", 2);
inline constexpr int kMultiply = find_function("*", 2);
inline constexpr int kDivide = find_function("/", 2);
inline constexpr int kNegate = find_function("-", 1);
inline constexpr int kWhere = find_function("where", 3);
inline constexpr int kIdentity = find_function("identity", 1);
inline constexpr int kSum = find_function("sum", 1);
inline constexpr int kMean = find_function("mean", 1);
inline constexpr int kRowMax = find_function("max", 1);
inline constexpr int kSumRows = find_function("sum_rows", 1);
inline constexpr int kSumAll = find_function("sum_all", 1);
inline constexpr int kRound = find_function("round", 1);
inline constexpr int kWidth = find_function("width", 0);
inline constexpr int kRows = find_function("rows", 0);

constexpr bool is_call(const Function& f) { return f.form != Form::infix && f.form != Form::prefix; }
constexpr bool is_reduction(const Function& f) { return f.form == Form::along_row || f.form == Form::over_rows; }
constexpr bool takes_default_alpha(const Function& f) { return f.form == Form::activation || f.form == Form::slope; }

// Whether alpha may be written: only where the formula has it.
bool takes_alpha(const Function& f);

// Whether every device computes it to the same bit, as it does the operators; of activations those whose bound in the
// table is 0.
bool is_exact(const Function& f);

// The names that can be called, each once.
std::vector<std::string> callable_names();

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_FUNCTIONS_H_
