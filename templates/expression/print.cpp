#include "expression/print.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "expression/grammar.h"

namespace quern::expression {
namespace {

// Deeper parts become locals, so that the text can be parsed.
constexpr int kMostPrintedNesting = 100;
static_assert(kMostPrintedNesting + 2 <= kMostNesting);

// The text of a node where it is used.
struct Piece {
  std::string text;
  int precedence = kPrimaryPrecedence;
  int nesting = 0;          // as the grammar counts it
  std::uint64_t reads = 0;  // a bit for each input that the text names
};

class Printer {
 public:
  explicit Printer(const Program& program)
      : p_(program), uses_(static_cast<std::size_t>(program.tree.size())), pieces_(uses_.size()) {
    count_uses();
  }

  std::string text() {
    for (const Operand& input : p_.inputs) declare_input(input);
    for (const Output& output : p_.outputs) declare_output(output);
    for (Id id = 0; id < p_.tree.size(); ++id) write(id);
    keep_replaced_inputs();
    for (const Output& output : p_.outputs) statements_.push_back(cat(output.name, " = ", piece(output.value).text));
    return join(statements_, "; ");
  }

 private:
  Piece& piece(Id id) { return pieces_[static_cast<std::size_t>(id)]; }

  void count_uses() {
    for (const Node& node : p_.tree.nodes()) {
      for (const Id id : node.used()) ++uses_[static_cast<std::size_t>(id)];
    }
    for (const Output& output : p_.outputs) ++uses_[static_cast<std::size_t>(output.value)];
  }

  // Words that are not "".
  void declare(const std::string& name, std::initializer_list<const char*> words) {
    std::string all;
    for (const char* word : words) all += *word == 0 ? "" : cat(" ", word);
    if (!all.empty()) statements_.push_back(cat(name, ":", all));
  }
  static const char* word_of(DType dtype) { return dtype == DType::none ? "" : quern::name(dtype); }
  void declare_input(const Operand& input) {
    declare(input.name, {word_of(input.dtype), input.kind == Kind::full ? "" : name(input.kind)});
  }
  void declare_output(const Output& output) {
    if (output.in_place >= 0) return;
    const bool is_default = output.kind == default_kind(p_.tree[output.value]);
    declare(output.name, {word_of(output.dtype), is_default ? "" : name(output.kind), output.saved ? "saved" : ""});
  }

  void write(Id id) {
    const Node& node = p_.tree[id];
    Piece made = node.op == Op::call ? of_call(node) : of_leaf(node);
    const bool is_shared = uses_[static_cast<std::size_t>(id)] > 1;
    const bool is_deep = made.nesting > kMostPrintedNesting;
    piece(id) = node.op == Op::call && (is_shared || is_deep) ? local(made) : std::move(made);
  }

  Piece local(const Piece& value) {
    Piece name;
    do {
      name.text = cat("t", ++locals_);
    } while (is_taken(name.text));
    statements_.push_back(cat("let ", name.text, " = ", value.text));
    return name;
  }

  bool is_taken(const std::string& name) const {
    for (const Operand& input : p_.inputs) {
      if (input.name == name) return true;
    }
    for (const Output& output : p_.outputs) {
      if (output.name == name) return true;
    }
    return false;
  }

  // What an output names after an earlier one has replaced it, is named before.
  void keep_replaced_inputs() {
    std::uint64_t replaced = 0;
    for (const Output& output : p_.outputs) {
      if ((piece(output.value).reads & replaced) != 0) piece(output.value) = local(piece(output.value));
      if (output.in_place >= 0) replaced |= std::uint64_t{1} << output.in_place;
    }
  }

  Piece of_leaf(const Node& node) const {
    Piece made;
    if (node.op == Op::operand) {
      made.text = p_.inputs[node.payload].name;
      made.reads = std::uint64_t{1} << node.payload;
    } else {
      made.text = cat(node.op == Op::constant ? "const " : "", print(node.value()));
      if (made.text[0] == '-') made.precedence = kMinusPrecedence, made.nesting = 1;
    }
    return made;
  }

  Piece of_call(const Node& node) {
    const Function& f = node.row();
    if (f.form == Form::infix) return of_infix(node);
    if (f.form == Form::prefix) return of_prefix(node);
    std::size_t count = node.count;
    if (takes_default_alpha(f) && p_.tree[node.arguments[1]].is_constant(f.alpha)) count = 1;
    Piece made;
    for (std::size_t i = 0; i < count; ++i) {
      made.text += i == 0 ? "" : ", ";
      append(made, node.arguments[i], 0);
    }
    if (f.form == Form::rounding) made.text += cat(", ", quern::name(static_cast<DType>(node.payload)));
    made.text = cat(f.name, "(", made.text, ")");
    ++made.nesting;
    return made;
  }

  // A comparison has parentheses around another one on both sides, since it is not chained.
  Piece of_infix(const Node& node) {
    const Function& f = node.row();
    Piece made;
    append(made, node.arguments[0], f.precedence == kComparisonPrecedence ? f.precedence + 1 : f.precedence);
    made.text += cat(" ", f.name, " ");
    append(made, node.arguments[1], f.precedence + 1);
    made.precedence = f.precedence;
    return made;
  }

  Piece of_prefix(const Node& node) {
    const Function& f = node.row();
    Piece made;
    made.text = f.precedence == kNotPrecedence ? "not " : "-";
    append(made, node.arguments[0], f.precedence);
    made.precedence = f.precedence;
    ++made.nesting;
    return made;
  }

  // In parentheses if it binds looser than `least`.
  void append(Piece& to, Id id, int least) {
    const Piece& part = piece(id);
    const bool parenthesized = part.precedence < least;
    to.text += parenthesized ? cat("(", part.text, ")") : part.text;
    to.nesting = std::max(to.nesting, part.nesting + (parenthesized ? 1 : 0));
    to.reads |= part.reads;
  }

  const Program& p_;
  std::vector<int> uses_;
  std::vector<Piece> pieces_;
  std::vector<std::string> statements_;
  int locals_ = 0;
};

}  // namespace

std::string print(float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer{};
  const auto [end, status] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return status == std::errc() ? std::string(buffer.data(), end) : std::string("nan");
}

std::string print(const Program& program) { return Printer(program).text(); }

}  // namespace quern::expression
