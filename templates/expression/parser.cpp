// Statements: declarations, locals and outputs.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/large_stack.h"
#include "base/text.h"
#include "expression/chain_rule.h"
#include "expression/grammar.h"
#include "expression/program.h"

namespace quern::expression {
namespace {

constexpr std::size_t kMostBytes = 1 << 18;           // of a text: more than a canonical one may have
constexpr Id kMostWithDerivatives = 16 * kMostNodes;  // what d() makes is more than what it leaves

constexpr int kMostOnOwnStack = 6;  // levels of nesting: the caller may be a fiber, with 64 KiB

// What a name is.
struct Symbol {
  std::size_t at = 0;  // where it was declared or first stood
  bool is_declared = false;
  bool is_saved = false;
  DType dtype = DType::none;
  std::optional<Kind> kind = {};
  Id local = -1;     // let
  int operand = -1;  // it was read as an input
  bool is_used = false;
  std::optional<std::size_t> written = {};
};

bool is_reserved(std::string_view name) {
  for (const std::string_view word : {"let", "const", "and", "or", "not", "inf", "nan"}) {
    if (name == word) return true;
  }
  return false;
}

std::optional<Kind> kind_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Kind::full); ++i) {
    if (name == kKindNames[i]) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

DType dtype_named(std::string_view name) {
  for (const DType type : {f32, f16, bf16, e4m3, e5m2}) {
    if (name == quern::name(type)) return type;
  }
  return DType::none;
}

class StatementParser : private Names {
 public:
  // `tokens` of the text must outlive it.
  StatementParser(std::string_view text, const std::vector<Token>& tokens)
      : text_(text), grammar_(tokens, tree_, *this) {}

  Program program() {
    while (grammar_.here().kind != Token::Kind::end) {
      if (grammar_.here().kind != Token::Kind::separator) statement();
      if (!grammar_.ended())
        refuse(grammar_.here().at, cat("the statement ends before this; write an operator, ; or a new line"));
      if (grammar_.here().kind == Token::Kind::separator) grammar_.take();
    }
    if (outputs_.empty()) refuse(text_.size(), "the program has no output; write one: y = …");
    check_used();
    check_saved();
    Program made = in_order(tree_, inputs_, outputs_);
    if (const std::string why = too_large(made); !why.empty()) refuse(symbols_.at(outputs_.back().name).at, why);
    return made;
  }

 private:
  [[noreturn]] static void refuse(std::size_t at, std::string message) { throw Refused{at, std::move(message)}; }

  void statement() {
    const Token& first = grammar_.here();
    if (grammar_.take_if("let")) return local();
    if (first.kind != Token::Kind::name || !(grammar_.here(1).is("=") || grammar_.here(1).is(":"))) refuse_statement();
    if (grammar_.here(1).is(":")) return declaration();
    output();
  }

  [[noreturn]] void refuse_statement() {
    if (grammar_.here(1).is("==")) refuse(grammar_.here(1).at, "write = for an output; == compares");
    refuse(grammar_.here().at, "a statement is y = …, let t = …, or a declaration such as bias: f32 row");
  }

  Token new_name() {
    const Token name = grammar_.take();
    if (name.kind != Token::Kind::name || is_reserved(name.text))
      refuse(name.at, name.kind == Token::Kind::name ? cat(name.text, " cannot be a name") : "a name is missing here");
    if (is_too_long(name.text)) refuse(name.at, cat("a name has more than ", kMostLetters, " letters"));
    return name;
  }

  // ---- NAME: [dtype] [kind] [saved]

  void declaration() {
    const Token name = new_name();
    grammar_.take();
    const auto [place, is_new] = symbols_.try_emplace(std::string(name.text));
    if (!is_new)
      refuse(name.at,
             cat(name.text, place->second.is_declared ? " is declared twice" : " is declared after it was used"));
    Symbol& symbol = place->second;
    symbol.at = name.at;
    symbol.is_declared = true;
    while (!grammar_.ended()) declared_word(symbol, grammar_.take());
    if (symbol.kind == Kind::constant && symbol.dtype != DType::none)
      refuse(name.at, "a number has no type: it is a float of the launch");
  }

  static void declared_word(Symbol& symbol, const Token& word) {
    const DType dtype = dtype_named(word.text);
    const std::optional<Kind> kind = kind_named(word.text);
    if (dtype != DType::none && symbol.dtype == DType::none) {
      symbol.dtype = dtype;
    } else if (kind && !symbol.kind) {
      symbol.kind = kind;
    } else if (word.is("saved") && !symbol.is_saved) {
      symbol.is_saved = true;
    } else if (dtype != DType::none || kind || word.is("saved")) {
      refuse(word.at, "a declaration has one type and one kind: bias: f32 row");
    } else {
      refuse(
          word.at,
          "a type (f32, f16, bf16, e4m3, e5m2), a kind (full, row, column, scalar, number) or saved is missing here");
    }
  }

  // ---- let NAME = EXPR

  void local() {
    const Token name = new_name();
    if (symbols_.count(std::string(name.text)) != 0)
      refuse(name.at, cat(name.text, " is taken; give the local another name"));
    grammar_.expect("=", ": let t = …");
    const Id value = grammar_.expression().id;
    if (symbols_.count(std::string(name.text)) != 0)
      refuse(name.at, cat(name.text, " stands in its own value; give the local another name"));
    Symbol& symbol = symbols_[std::string(name.text)];
    symbol.at = name.at;
    symbol.local = value;
  }

  // ---- NAME = EXPR

  void output() {
    const Token name = new_name();
    grammar_.take();
    const std::size_t at = grammar_.here().at;
    const Part value = grammar_.number("an output");
    Symbol& symbol = symbols_[std::string(name.text)];
    if (symbol.at == 0) symbol.at = name.at;
    check_writable(name, symbol);
    symbol.written = name.at;
    symbol.is_used = true;
    outputs_.push_back(described(name, symbol, value.id, at));
    if (outputs_.size() > static_cast<std::size_t>(kMostOutputs))
      refuse(name.at, cat("more than ", kMostOutputs, " outputs"));
  }

  void check_writable(const Token& name, const Symbol& symbol) const {
    if (symbol.local >= 0) refuse(name.at, cat(name.text, " is a local; an output needs another name"));
    if (symbol.written) refuse(name.at, cat(name.text, " is written twice; first in line ", line_of(*symbol.written)));
    if (symbol.kind == Kind::constant)
      refuse(name.at, cat(name.text, " is a number of the launch; it has no memory to write to"));
    if (symbol.operand >= 0 && symbol.is_saved)
      refuse(name.at, cat(name.text,
                          " is saved, so it cannot replace an input: a gradient reads both; "
                          "give the output another name"));
    if (symbol.operand >= 0 && symbol.kind.value_or(Kind::full) != Kind::full)
      refuse(name.at, cat(name.text, " is a ", expression::name(*symbol.kind),
                          ", which other elements read too; only a full operand is written in place"));
  }

  Output described(const Token& name, const Symbol& symbol, Id value, std::size_t at) const {
    const Node& node = tree_[value];
    Output output;
    output.name = name.text;
    output.dtype = symbol.dtype;
    output.value = value;
    output.kind = symbol.kind.value_or(symbol.operand >= 0 ? Kind::full : default_kind(node));
    const bool whole = node.op == Op::call && node.row().form == Form::over_rows;
    if (whole ? output.kind != node.kind : !fits(node.kind, output.kind))
      refuse(at, cat("this is of kind ", expression::name(node.kind), " and ", name.text, " is a ",
                     expression::name(output.kind)));
    output.saved = symbol.is_saved;
    if (output.saved && whole) refuse(at, cat(name.text, " is saved, but no gradient reads what is over the rows"));
    if (output.saved && output.kind != node.kind)
      refuse(at, cat("this is of kind ", expression::name(node.kind), " and ", name.text, " is a saved ",
                     expression::name(output.kind), "; a gradient can read only what has the kind of the value"));
    if (!whole && (output.kind == Kind::row || output.kind == Kind::scalar))
      refuse(at, cat("a ", expression::name(output.kind), " is written only by ",
                     output.kind == Kind::row ? "sum_rows" : "sum_all"));
    return output;
  }

  // ---- Names

  Id read(const Token& name) override {
    Symbol& symbol = symbols_[std::string(name.text)];
    if (symbol.written)
      refuse(name.at, cat(name.text, " was written in line ", line_of(*symbol.written),
                          "; name the value with let before, and read that"));
    symbol.is_used = true;
    if (symbol.local >= 0) return symbol.local;
    if (symbol.operand < 0) symbol.operand = new_input(name, symbol);
    return tree_.operand(symbol.operand, symbol.kind.value_or(Kind::full));
  }

  int new_input(const Token& name, Symbol& symbol) {
    if (!symbol.is_declared) {
      symbol.at = name.at;
      check_undeclared(name);
    }
    const Kind kind = symbol.kind.value_or(Kind::full);
    if (kind == Kind::constant)
      count_number(name);
    else if (++operand_count_ > kMostOperands)
      refuse(name.at, cat("more than ", kMostOperands, " operands"));
    inputs_.push_back({std::string(name.text), symbol.dtype, kind});
    return static_cast<int>(inputs_.size()) - 1;
  }

  static void check_undeclared(const Token& name) {
    if (is_too_long(name.text)) refuse(name.at, cat("a name has more than ", kMostLetters, " letters"));
    const std::vector<std::string> functions = callable_names();
    if (name.text != "d" && std::binary_search(functions.begin(), functions.end(), name.text))
      refuse(name.at, cat(name.text, " is a function: ", name.text, "(…)"));
  }

  void count_number(const Token& at) {
    if (++number_count_ > kMostNumbers)
      refuse(at.at, cat("more than ", kMostNumbers, " numbers; write const before those that never change"));
  }

  Id literal(float value, const Token& at) override {
    const Id before = tree_.size(), id = tree_.literal(value);
    if (id == before) count_number(at);
    return id;
  }

  Id derivative(Id value, const Token& name, std::size_t at) override {
    const auto symbol = symbols_.find(std::string(name.text));
    if (symbol == symbols_.end() || symbol->second.operand < 0 || symbol->second.written)
      refuse(name.at, cat("d() takes an input that the program has read, which ", name.text, " is not"));
    if (tree_[value].reduces)
      refuse(at, "d is for what is computed element by element; the gradient of a whole program has reductions");
    const Id operand =
        tree_.operand(symbol->second.operand, inputs_[static_cast<std::size_t>(symbol->second.operand)].kind);
    std::vector<bool> on(static_cast<std::size_t>(tree_.size()));
    on[static_cast<std::size_t>(operand)] = true;
    if (!dependents(tree_, on)[static_cast<std::size_t>(value)])
      refuse(name.at, cat("the expression does not depend on ", name.text));
    derives_ = true;
    return expression::derivative(tree_, value, operand);
  }

  void check_size(const Token& at) override {
    if (tree_.size() > (derives_ ? kMostWithDerivatives : kMostNodes))
      refuse(at.at, cat("more than ", kMostNodes, " operations, numbers and names"));
  }

  // ---- at the end

  // The first in the text.
  void check_used() const {
    const std::pair<const std::string, Symbol>* unused = nullptr;
    for (const auto& each : symbols_) {
      if (!each.second.is_used && (unused == nullptr || each.second.at < unused->second.at)) unused = &each;
    }
    if (unused == nullptr) return;
    refuse(unused->second.at, cat(unused->first, " is never used"));
  }

  void check_saved() const {
    for (const auto& [name, symbol] : symbols_) {
      if (symbol.is_saved && !symbol.written) refuse(symbol.at, cat(name, " is saved, but no output: ", name, " = …"));
    }
  }

  std::size_t line_of(std::size_t at) const {
    return 1 +
           static_cast<std::size_t>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  std::string_view text_;
  Tree tree_;
  std::map<std::string, Symbol> symbols_;
  std::vector<Operand> inputs_;
  std::vector<Output> outputs_;
  int operand_count_ = 0;
  int number_count_ = 0;
  bool derives_ = false;
  Grammar grammar_;
};

}  // namespace

Parsed parse(std::string_view text) {
  Parsed parsed;
  try {
    if (text.size() > kMostBytes) throw Refused{0, cat("a text of ", text.size(), " bytes; at most ", kMostBytes)};
    const std::vector<Token> tokens = tokens_of(text);
    const auto run = [&] { parsed.program = StatementParser(text, tokens).program(); };
    if (nesting_of(tokens) > kMostOnOwnStack)
      run_on_large_stack(run);
    else
      run();
  } catch (const Refused& refused) {
    parsed.error = diagnostic_at(text, refused.at, refused.message);
  }
  return parsed;
}

}  // namespace quern::expression
