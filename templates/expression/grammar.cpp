#include "expression/grammar.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/text.h"

namespace quern::expression {
namespace {

// Infix operators that are not comparisons, loosest first.
constexpr std::string_view kLevels[][2] = {{"or", "or"}, {"and", "and"}, {"", ""}, {"+", "-"}, {"*", "/"}};
constexpr int kLevelCount = static_cast<int>(std::size(kLevels));
constexpr int kNotLevel = 2;  // where `not` and comparisons are

bool is_comparison(const Token& token) {
  if (token.kind != Token::Kind::symbol) return false;
  const int function = find_function(token.text, 2);
  return function >= 0 && kFunctions[function].precedence == kComparisonPrecedence;
}

}  // namespace

// One more level of nesting, for as long as it exists.
class Grammar::Deeper {
 public:
  explicit Deeper(Grammar& grammar) : grammar_(grammar) {
    if (++grammar.depth_ > kMostNesting)
      refuse(grammar.here().at,
             cat("more than ", kMostNesting, " levels of parentheses, calls and signs; name a part with let"));
  }
  ~Deeper() { --grammar_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Grammar& grammar_;
};

int nesting_of(const std::vector<Token>& tokens) {
  int open = 0, signs = 0, most = 0;
  for (const Token& token : tokens) {
    const bool is_sign = token.is("-") || token.is("not");
    signs = is_sign || token.is("(") ? signs + 1 : 0;  // in a row
    open += token.is("(") ? 1 : token.is(")") ? -1 : 0;
    most = std::max(most, open + signs);
  }
  return most;
}

bool Grammar::take_if(std::string_view symbol) {
  if (!here().is(symbol)) return false;
  ++next_;
  return true;
}

void Grammar::expect(std::string_view symbol, const char* why) {
  if (!take_if(symbol)) refuse(here().at, cat(symbol, " is missing", why));
}

Part Grammar::number(const char* where) {
  const Part part = expression();
  if (tree_[part.id].type == Type::condition)
    refuse(part.at, cat(where, " is a number; this is a condition: write where(…, 1, 0)"));
  return part;
}

Part Grammar::binary(int level) {
  if (level == kLevelCount) return unary();
  if (level == kNotLevel) return comparison();
  Part left = binary(level + 1);
  while (here().is(kLevels[level][0]) || here().is(kLevels[level][1])) {
    const Token sign = take();
    const Part right = binary(level + 1);
    left = {make(find_function(sign.text, 2), {left, right}, sign), left.at};
  }
  return left;
}

Part Grammar::comparison() {
  if (here().is("not")) return prefix(find_function("not", 1));
  const Part left = binary(kNotLevel + 1);
  if (!is_comparison(here())) return left;
  const Token sign = take();
  const Part right = binary(kNotLevel + 1);
  if (is_comparison(here())) refuse(here().at, "comparisons are not chained; write a < b and b < c");
  return {make(find_function(sign.text, 2), {left, right}, sign), left.at};
}

Part Grammar::prefix(int function) {
  const Deeper deeper(*this);
  const Token sign = take();
  const Part operand = function == kNegate ? unary() : comparison();
  return {make(function, {operand}, sign), sign.at};
}

Part Grammar::unary() { return here().is("-") ? prefix(kNegate) : primary(); }

Part Grammar::primary() {
  const Token& token = here();
  if (token.is("(")) return parenthesized();
  if (token.is("const")) return constant();
  if (token.kind == Token::Kind::number || token.is("inf") || token.is("nan")) return literal();
  if (token.is("not")) refuse(token.at, "not binds loosely; write (not …)");
  if (token.is("+")) refuse(token.at, "a number has no sign +; leave it out");
  if (token.kind != Token::Kind::name || token.is("and") || token.is("or") || token.is("let"))
    refuse(token.at, cat("a name, a number or a call is missing here",
                         token.kind == Token::Kind::separator ? "; a line goes on only inside parentheses" : ""));
  if (here(1).is("(")) return call();
  const Token name = take();
  return {names_.read(name), name.at};
}

float float_of(const Token& number) {
  if (number.text == "inf") return HUGE_VALF;
  if (number.text == "nan") return std::numeric_limits<float>::quiet_NaN();
  float value = 0;
  const auto [end, status] = std::from_chars(number.text.data(), number.text.data() + number.text.size(), value);
  if (status == std::errc::result_out_of_range) throw Refused{number.at, "no float has this value; write inf, or 0"};
  if (status != std::errc() || end != number.text.data() + number.text.size())
    throw Refused{number.at, "not a number; write 2, 0.5 or 1e-5"};
  return value;
}

Part Grammar::literal() {
  const Token token = take();
  return {names_.literal(float_of(token), token), token.at};
}

Part Grammar::constant() {
  const Token word = take();
  const bool negative = take_if("-");
  const Token token = here();
  if (token.kind != Token::Kind::number && !token.is("inf") && !token.is("nan"))
    refuse(token.at, "a number follows const: const 0.5; other values are arguments of the launch");
  take();
  const float value = float_of(token);
  return {tree_.constant(negative ? -value : value), word.at};
}

Part Grammar::parenthesized() {
  const Deeper deeper(*this);
  const Token open = take();
  const Part inside = expression();
  expect(")", " after this expression");
  return {inside.id, open.at};
}

std::vector<Part> Grammar::arguments() {
  std::vector<Part> parts;
  expect("(", "");
  if (take_if(")")) return parts;
  do {
    parts.push_back(expression());
  } while (take_if(","));
  expect(")", ", or a comma, after this argument");
  return parts;
}

DType Grammar::dtype() {
  const Token name = take();
  for (const DType type : {f32, f16, bf16, e4m3, e5m2}) {
    if (name.is(quern::name(type))) return type;
  }
  refuse(name.at, "the name of a type is missing: round(x, bf16); there are f32, f16, bf16, e4m3 and e5m2");
}

Part Grammar::call() {
  const Deeper deeper(*this);
  const Token name = take();
  if (name.is("d")) return derivative(name);
  if (!name.is("round")) return special(name, arguments());
  expect("(", "");
  const Part value = expression();
  expect(",", " and the name of a type: round(x, bf16)");
  const DType type = dtype();
  expect(")", " after the type");
  return {make(kRound, {value}, name, type), name.at};
}

// Alpha that is left out is a constant of the kernel.
Part Grammar::special(const Token& name, const std::vector<Part>& given) {
  const int function = function_of_call(name, given.size(), names_.takes_any_alpha());
  const Function& f = kFunctions[function];
  std::vector<Part> all = given;
  if (takes_default_alpha(f) && given.size() == 1) all.push_back({tree_.constant(f.alpha), name.at});
  return {make(function, all, name), name.at};
}

Part Grammar::derivative(const Token& name) {
  expect("(", "");
  const Part value = number("what is derived");
  expect(",", " and the name by which to derive: d(x * x, x)");
  const Token by = take();
  if (by.kind != Token::Kind::name) refuse(by.at, "the name of an input is missing: d(x * x, x)");
  expect(")", " after the name; d takes 2 arguments");
  const Id id = names_.derivative(value.id, by, name.at);
  names_.check_size(name);
  return {id, name.at};
}

Id Grammar::make(int function, const std::vector<Part>& parts, const Token& at, DType dtype) {
  check_arguments(kFunctions[function], parts);
  std::array<Id, 3> ids = {-1, -1, -1};
  for (std::size_t i = 0; i < parts.size(); ++i) ids[i] = parts[i].id;
  const Id made = tree_.call(function, std::span<const Id>(ids.data(), parts.size()), dtype);
  names_.check_size(at);
  return made;
}

void Grammar::check_arguments(const Function& f, const std::vector<Part>& parts) const {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Node& node = tree_[parts[i].id];
    const bool condition = f.arguments[i] == 'c';
    if (condition && node.type == Type::number)
      refuse(parts[i].at, cat(f.name, " takes a condition here; this is a number: write … != 0"));
    if (!condition && node.type == Type::condition)
      refuse(parts[i].at, cat(f.name, " takes a number here; this is a condition: write where(…, 1, 0)"));
    if (node.op == Op::call && node.row().form == Form::over_rows)
      refuse(parts[i].at,
             cat(node.row().name, " must be the whole of an output; write what is done with each term inside, ",
                 node.row().name, "(x * 0.5)"));
  }
}

}  // namespace quern::expression
