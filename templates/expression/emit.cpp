#include "expression/emit.h"

#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "base/text.h"
#include "common/host_types.h"
#include "expression/print.h"
#include "expression/stages.h"

namespace quern::expression {
namespace {

bool is_word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; }

// The formula of a row, of x, y and z, with these in their places.
std::string with_arguments(std::string_view formula, const std::vector<std::string>& arguments) {
  std::string out;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    const bool stands_alone =
        (i == 0 || !is_word_letter(formula[i - 1])) && (i + 1 == formula.size() || !is_word_letter(formula[i + 1]));
    const auto argument = static_cast<std::size_t>(formula[i] - 'x');
    out += stands_alone && argument < arguments.size() ? arguments[argument] : std::string(1, formula[i]);
  }
  return out;
}

// A constant of the program. Parentheses keep two signs apart.
std::string constant_text(float value) {
  if (!std::isfinite(value)) {
    std::array<char, 40> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "bit_cast<float>(0x%08xu)", std::bit_cast<std::uint32_t>(value));
    return buffer.data();
  }
  std::string text = print(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return std::signbit(value) ? cat("(", text, "f)") : text + "f";
}

class Emitter {
 public:
  Emitter(const Program& program, DType dtype)
      : p_(program), dtype_(dtype), stages_(stages(program)), reductions_(stages_.reductions()) {
    name_leaves();
    for (const Node& node : p_.tree.nodes()) inexact_.push_back(node.is_inexact());
    inexact_ = dependents(p_.tree, inexact_);
  }

  std::string header() {
    std::string functions;
    for (std::size_t round = 0; round < stages_.rounds.size(); ++round) functions += terms_of(round);
    functions += computed();
    return cat(includes(functions), "\nnamespace quern::generated {\n\nusing namespace common;\n\n", functions,
               "}  // namespace quern::generated\n");
  }

 private:
  static std::string includes(const std::string& functions) {
    std::string text = "#include \"common/numbers.cuh\"\n#include \"common/elementwise.cuh\"\n";
    if (functions.find("Activation::") != std::string::npos) text += "#include \"common/activations.cuh\"\n";
    return text;
  }

  void name_leaves() {
    const std::vector<Number> all = numbers(p_);
    for (std::size_t i = 0; i < all.size(); ++i) leaves_[all[i].node] = cat("numbers[", i, "]");
    const std::vector<int> places = memory_places(p_);
    for (Id id = 0; id < p_.tree.size(); ++id) {
      const Node& node = p_.tree[id];
      if (node.op == Op::constant) leaves_[id] = constant_text(node.value());
      if (node.op == Op::operand && node.kind != Kind::constant) leaves_[id] = cat("in[", places[node.payload], "]");
    }
    for (std::size_t i = 0; i < reductions_.size(); ++i) leaves_[reductions_[i]] = cat("reduced[", i, "]");
  }

  // ---- functions

  static std::string array(const char* type, const char* name, std::size_t count) {
    return cat("[[maybe_unused]] ", type, " (&", name, ")[", count == 0 ? 1 : count, "]");
  }

  std::string function(const std::string& name, const char* result, std::size_t results,
                       const std::string& body) const {
    std::size_t in = 0;
    for (const Operand& input : p_.inputs) in += input.in_memory() ? 1 : 0;
    std::string reduced = reductions_.empty() ? "" : ", " + array("const float", "reduced", reductions_.size());
    if (!stages_.kept.empty())
      reduced += ", " + array("float", "kept", stages_.kept.size()) + ", [[maybe_unused]] bool has_kept";
    return cat("QUERN_DEVICE void ", name, "(", array("const float", "numbers", numbers(p_).size()), ", ",
               array("const float", "in", in), reduced, ", ", array("float", result, results), ") {\n", body, "}\n\n");
  }

  std::string terms_of(std::size_t round) {
    begin(round);
    std::string results;
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
      const Node& node = p_.tree[reductions_[i]];
      if (stages_.needs[static_cast<std::size_t>(reductions_[i])] != static_cast<int>(round) + 1) continue;
      results += cat("  terms[", i, "] = ", value(node.arguments[0]), ";\n");
    }
    for (std::size_t i = 0; i < stages_.kept.size(); ++i) {
      if (stages_.kept[i].round == round) results += cat("  kept[", i, "] = ", names_.at(stages_.kept[i].node), ";\n");
    }
    return function(cat("terms_", round), "terms", reductions_.size(), body_ + results);
  }

  std::string computed() {
    begin(stages_.rounds.size());
    std::string results;
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) {
      const Output& output = p_.outputs[i];
      const Node& node = p_.tree[output.value];
      const bool adds = node.op == Op::call && node.row().form == Form::over_rows;
      const std::string text = is_narrow(output) ? narrow(node)
                               : is_near(output) ? "nearly_" + formula(node)
                                                 : value(adds ? node.arguments[0] : output.value);
      results += cat("  out[", i, "] = ", text, ";  // ", output.name, "\n");
    }
    return function("compute", "out", p_.outputs.size(), body_ + results);
  }

  bool is_narrow(const Output& output) const {
    return stores_narrow(p_.tree[output.value], output.dtype == DType::none ? dtype_ : output.dtype);
  }

  // A quotient that is not exact anyway, of which few bits are stored.
  bool is_near(const Output& output) const {
    const DType dtype = output.dtype == DType::none ? dtype_ : output.dtype;
    const Node& node = p_.tree[output.value];
    return (bytes(dtype) <= 2 || output.quantized) && divides_by_same(node) && is_inexact(output.value);
  }

  std::string narrow(const Node& node) {
    std::string text = formula(node);
    const std::string_view exact = "NoRounding()";
    return text.replace(text.rfind(exact), exact.size(), "NarrowStore()");
  }

  // ---- statements

  void begin(std::size_t round) {
    names_ = leaves_;
    body_.clear();
    locals_ = 0;
    round_ = round;
  }

  // What computes the node where it has not been computed. Arguments precede a node: no recursion.
  std::string value(Id root) {
    std::vector<bool> wanted(static_cast<std::size_t>(root) + 1);
    wanted.back() = true;
    for (Id id = root; id >= 0; --id) {
      if (!wanted[static_cast<std::size_t>(id)] || names_.count(id) != 0) continue;
      for (const Id argument : p_.tree[id].used()) wanted[static_cast<std::size_t>(argument)] = true;
    }
    for (Id id = 0; id <= root; ++id) {
      if (wanted[static_cast<std::size_t>(id)]) name(id);
    }
    return names_.at(root);
  }

  // Operands in memory and results get a name, at their first use.
  void name(Id id) {
    const Node& node = p_.tree[id];
    const bool is_operand = node.op == Op::operand && node.kind != Kind::constant;
    if (names_.count(id) != 0 && !(is_operand && names_.at(id).back() == ']')) return;
    const std::string local = is_operand ? "in_" + p_.inputs[node.payload].name : cat("t", ++locals_);
    body_ += cat("  const ", node.type == Type::condition ? "bool " : "float ", local, " = ",
                 is_operand ? names_.at(id) : kept(id) + formula(node), ";\n");
    names_[id] = local;
  }

  // Before the formula of what an earlier round has kept.
  std::string kept(Id id) const {
    for (std::size_t i = 0; i < stages_.kept.size(); ++i) {
      if (stages_.kept[i].node == id && stages_.kept[i].round < round_) return cat("has_kept ? kept[", i, "] : ");
    }
    return {};
  }

  // Whether many elements have the divisor.
  bool divides_by_same(const Node& node) const {
    if (!node.is(kDivide) || (node.kind != Kind::row && node.kind != Kind::full)) return false;
    const Node& divisor = p_.tree[node.arguments[1]];
    return divisor.op != Op::constant &&
           (divisor.kind <= Kind::scalar || (divisor.kind == Kind::column && !reductions_.empty()));
  }
  bool is_inexact(Id id) const { return inexact_[static_cast<std::size_t>(id)]; }

  std::string formula(const Node& node) {
    std::vector<std::string> arguments;
    for (const Id argument : node.used()) arguments.push_back(value(argument));
    if (divides_by_same(node)) return cat("divided_by_same(", arguments[0], ", ", arguments[1], ")");
    if (node.row().form == Form::rounding)
      return cat("round_to<", common::spec_type(static_cast<DType>(node.payload)), ">(", arguments[0], ")");
    return with_arguments(node.row().value, arguments);
  }

  const Program& p_;
  DType dtype_;
  Stages stages_;
  std::vector<Id> reductions_;
  std::vector<bool> inexact_;  // nodes that devices may compute to other bits
  std::map<Id, std::string> leaves_;
  std::map<Id, std::string> names_;  // of what is computed, in the function that is being written
  std::string body_;
  std::size_t round_ = 0;  // of that function; the number of rounds: the one that computes the outputs
  int locals_ = 0;
};

}  // namespace

bool stores_narrow(const Node& root, DType dtype) {
  return root.op == Op::call && root.row().form == Form::activation && bytes(dtype) <= 2;
}

std::string emit(const Program& program, DType dtype) { return Emitter(program, dtype).header(); }

}  // namespace quern::expression
