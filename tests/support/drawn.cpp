#include "support/drawn.h"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

#include "base/text.h"

namespace quern::test::expressions {
namespace {

using DrawnForm = Drawn::Form;

DrawnPointer leaf(DrawnForm form, std::string name, double value = 0) {
  return std::make_shared<const Drawn>(Drawn{form, std::move(name), value, {}});
}
DrawnPointer number(double value) { return leaf(DrawnForm::number, "", value); }
DrawnPointer constant(double value) { return leaf(DrawnForm::constant, "", value); }
DrawnPointer made(DrawnForm form, std::string name, std::vector<DrawnPointer> arguments) {
  return std::make_shared<const Drawn>(Drawn{form, std::move(name), 0, std::move(arguments)});
}
DrawnPointer call(const char* name, std::vector<DrawnPointer> arguments) {
  return made(DrawnForm::call, name, std::move(arguments));
}
DrawnPointer infix(const char* name, DrawnPointer x, DrawnPointer y) {
  return made(DrawnForm::infix, name, {std::move(x), std::move(y)});
}

template <class T, std::size_t N>
T one_of(Random& random, const T (&all)[N]) {
  return all[random.below(N)];
}

DrawnPointer above_zero(const DrawnPointer& x) { return infix("+", call("abs", {x}), constant(0.5)); }
DrawnPointer limited(const DrawnPointer& x, double limit) {
  return call("clamp", {x, constant(-limit), number(limit)});
}

DrawnPointer draw_leaf(Random& random, const Vocabulary& words) {
  constexpr double kNumbers[] = {2, 0.5, -1.5, 0.25, 3};
  if (random.below(4) == 0) return number(one_of(random, kNumbers));
  if (random.below(8) == 0) return constant(one_of(random, kNumbers));
  return leaf(DrawnForm::input, words.inputs[static_cast<std::size_t>(random.below(words.inputs.size()))]);
}

// A function of any number.
DrawnPointer draw_of_one(Random& random, const DrawnPointer& x) {
  constexpr const char* kNames[] = {"sin",  "cos",   "tanh", "atan",  "erf",  "erfc",    "abs",
                                    "sign", "floor", "ceil", "trunc", "rint", "identity"};
  constexpr const char* kActivations[] = {"relu",     "gelu",      "gelu_tanh", "silu",      "sigmoid",    "qgelu",
                                          "srelu",    "fatrelu",   "gelu_new",  "gelu_fast", "leaky_relu", "mish",
                                          "softplus", "hardswish", "elu",       "situ"};
  constexpr const char* kWithAlpha[] = {"qgelu", "fatrelu", "elu", "leaky_relu", "situ"};
  switch (random.below(5)) {
    case 0:
      return call(one_of(random, kActivations), {x});
    case 1:
      return call(one_of(random, kWithAlpha), {x, number(0.5)});
    case 2:
      return made(DrawnForm::slope, std::string(one_of(random, kActivations)) + "_slope", {x});
    default:
      return call(one_of(random, kNames), {x});
  }
}

// A function with a domain.
DrawnPointer draw_guarded(Random& random, const DrawnPointer& x) {
  constexpr const char* kOfPositive[] = {"log", "log2", "log1p", "sqrt", "rsqrt", "reciprocal"};
  constexpr const char* kSteep[] = {"exp", "exp2", "expm1", "sinh", "cosh", "square"};
  constexpr const char* kOfOne[] = {"tan", "asin", "acos"};
  const int which = random.below(3);
  if (which == 0) return call(one_of(random, kOfPositive), {above_zero(x)});
  if (which == 1) return call(one_of(random, kSteep), {limited(x, 3)});
  return call(one_of(random, kOfOne), {infix("*", call("tanh", {x}), constant(0.75))});
}

DrawnPointer draw_of_two(Random& random, const DrawnPointer& x, const DrawnPointer& y) {
  constexpr const char* kSigns[] = {"+", "-", "+", "-"};
  constexpr const char* kExtremes[] = {"min", "max"};
  switch (random.below(6)) {
    case 0:
      return infix("*", limited(x, 3), y);
    case 1:
      return infix("/", x, above_zero(y));
    case 2:
      return call(one_of(random, kExtremes), {x, y});
    case 3:
      return call("pow", {above_zero(limited(x, 3)), limited(y, 3)});
    case 4:
      return call("atan2", {x, above_zero(y)});
    default:
      return infix(one_of(random, kSigns), x, y);
  }
}

}  // namespace

std::uint64_t seed_of_run() {
  const char* const given = std::getenv("QUERN_TEST_SEED");  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("QUERN_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

DrawnPointer draw(Random& random, const Vocabulary& words, int depth) {
  if (depth == 0 || random.below(8) == 0) return draw_leaf(random, words);
  const DrawnPointer x = draw(random, words, depth - 1);
  switch (random.below(10)) {
    case 0:
    case 1:
      return draw_of_one(random, x);
    case 2:
      return draw_guarded(random, x);
    case 3:
      return call("where", {draw_condition(random, words, depth - 1), x, draw(random, words, depth - 1)});
    case 4:
      return call("fma", {limited(x, 2), draw(random, words, depth - 1), draw(random, words, depth - 1)});
    case 5:
      return words.rounds ? made(DrawnForm::round, "", {x}) : made(DrawnForm::prefix, "-", {x});
    case 6:
      return made(DrawnForm::prefix, "-", {x});
    default:
      return draw_of_two(random, x, draw(random, words, depth - 1));
  }
}

DrawnPointer draw_condition(Random& random, const Vocabulary& words, int depth) {
  constexpr const char* kCompares[] = {"<", "<=", ">", ">=", "==", "!="};
  if (depth <= 1 || random.below(2) == 0)
    return infix(one_of(random, kCompares), draw(random, words, depth / 2), draw(random, words, depth / 2));
  if (random.below(3) == 0) return made(DrawnForm::prefix, "not", {draw_condition(random, words, depth - 1)});
  return infix(random.below(2) == 0 ? "and" : "or", draw_condition(random, words, depth - 1),
               draw_condition(random, words, depth - 1));
}

std::string plain_text(const Drawn& drawn) {
  std::vector<std::string> arguments;
  for (const DrawnPointer& argument : drawn.arguments) arguments.push_back(plain_text(*argument));
  switch (drawn.form) {
    case DrawnForm::input:
      return drawn.name;
    case DrawnForm::number:
      return shortest(drawn.value);
    case DrawnForm::constant:
      return "const " + shortest(drawn.value);
    case DrawnForm::infix:
      return cat("(", arguments[0], " ", drawn.name, " ", arguments[1], ")");
    case DrawnForm::prefix:
      return cat("(", drawn.name, " ", arguments[0], ")");
    case DrawnForm::round:
      return cat("round(", arguments[0], ", bf16)");
    default:
      return cat(drawn.name, "(", join(arguments, ", "), ")");
  }
}

std::string OtherSpelling::space() {
  constexpr const char* kSpaces[] = {"", " ", "  ", "\t", " "};
  return one_of(random_, kSpaces);
}

std::string OtherSpelling::separator() {
  constexpr const char* kSeparators[] = {";", "\n", " ; ", "  # a comment; with = signs (\n", ";;\n\n", "\r\n"};
  return one_of(random_, kSeparators);
}

std::string OtherSpelling::arguments(const Drawn& drawn, const char* between) {
  std::string all;
  for (const DrawnPointer& argument : drawn.arguments) {
    if (!all.empty()) all += space() + between + space();
    all += text(*argument);
  }
  return all;
}

std::string OtherSpelling::text(const Drawn& drawn) {
  const bool is_word = drawn.name == "and" || drawn.name == "or" || drawn.name == "not";
  std::string all;
  switch (drawn.form) {
    case DrawnForm::input:
      all = drawn.name;
      break;
    case DrawnForm::number:
    case DrawnForm::constant:
      all = cat(drawn.form == DrawnForm::constant ? "const " : "", shortest(drawn.value),
                drawn.value == 0.5 ? "00" : "e0");
      break;
    case DrawnForm::infix:
      all = cat("(", arguments(drawn, is_word ? cat(" ", drawn.name, " ").c_str() : drawn.name.c_str()), ")");
      break;
    case DrawnForm::prefix:
      all = cat("(", drawn.name, is_word ? " " : space(), arguments(drawn, ""), ")");
      break;
    case DrawnForm::round:
      all = cat("round(", arguments(drawn, ""), space(), ",", space(), "bf16)");
      break;
    default:
      all = cat(drawn.name, "(", arguments(drawn, ","), ")");
  }
  if (random_.below(4) == 0) all = cat("(", space(), all, random_.below(8) == 0 ? "\n" : "", ")");
  if (random_.below(4) != 0) return all;
  const std::string local = cat("local_", ++locals_, "x");
  statements += cat("let ", local, space(), "=", space(), all, separator());
  return local;
}

bool reads(const Drawn& drawn, const std::string& input) {
  if (drawn.form == DrawnForm::input) return drawn.name == input;
  for (const DrawnPointer& argument : drawn.arguments) {
    if (reads(*argument, input)) return true;
  }
  return false;
}

}  // namespace quern::test::expressions
