#include "expression/gradient.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "expression/chain_rule.h"

namespace quern::expression {
namespace {

// The gradient of a node that is not full is a sum over the elements that use it. A value in memory is used at each
// element of [rows, width], or at each row by what is computed once a row. Either part is -1 if there is none.
struct Sums {
  Id full = -1;
  Id column = -1;
};

class ReverseMode {
 public:
  ReverseMode(const Program& program, std::span<const std::string> names)
      : p_(program),
        tree_(program.tree),
        inputs_(program.inputs),
        sums_(static_cast<std::size_t>(program.tree.size())) {
    for (const std::string& name : names) wanted_.push_back(place_of(name));
  }

  Program made() {
    find_dependents();
    for (const Output& output : p_.outputs) seed(output);
    for (Id id = p_.tree.size() - 1; id >= 0; --id) {
      if (depends_[static_cast<std::size_t>(id)] && p_.tree[id].op == Op::call) propagate(id);
    }
    std::vector<Output> outputs;
    for (const int input : wanted_) outputs.push_back(output_of(input));
    std::vector<Given> given;
    for (const Output& output : p_.outputs) {
      if (output.saved) given.push_back({output.value, new_input(output.name, output)});
    }
    return in_order(tree_, inputs_, outputs, given);
  }

 private:
  [[noreturn]] static void refuse(std::string message) { throw Refused{0, std::move(message)}; }

  int place_of(const std::string& name) const {
    for (std::size_t i = 0; i < p_.inputs.size(); ++i) {
      if (p_.inputs[i].name == name) return static_cast<int>(i);
    }
    std::vector<std::string> known;
    for (const Operand& input : p_.inputs) known.push_back(input.name);
    refuse(cat("the program has no input ", name, "; its inputs are ", join(known, ", ")));
  }

  void find_dependents() {
    std::vector<bool> on(sums_.size());
    for (std::size_t id = 0; id < on.size(); ++id) {
      const Node& node = p_.tree.nodes()[id];
      on[id] =
          node.op == Op::operand && std::count(wanted_.begin(), wanted_.end(), static_cast<int>(node.payload)) != 0;
    }
    depends_ = dependents(p_.tree, on);
  }

  void seed(const Output& output) {
    if (!depends_[static_cast<std::size_t>(output.value)]) return;
    const Id gradient = tree_.operand(new_input("d_" + output.name, output), output.kind);
    add(output.value, output.kind == Kind::column, gradient);
  }

  // Of the type and kind of an output.
  int new_input(const std::string& name, const Output& output) {
    for (const Operand& input : inputs_) {
      if (input.name == name) refuse(cat("the name ", name, " is taken; give that input another name"));
    }
    inputs_.push_back({name, output.dtype, output.kind});
    return static_cast<int>(inputs_.size()) - 1;
  }

  // `by_row`: from what is computed once a row.
  void add(Id to, bool by_row, Id part) {
    if (part < 0) return;
    Sums& sums = sums_[static_cast<std::size_t>(to)];
    Id& sum = by_row ? sums.column : sums.full;
    sum = sum < 0 ? part : tree_.call(kAdd, {sum, part});
  }

  // A column's gradient as one value a row.
  Id of_column(const Sums& sums) {
    if (sums.full < 0) return sums.column;
    const Id sum = tree_.call(kSum, {sums.full});
    return sums.column < 0 ? sum : tree_.call(kAdd, {sums.column, sum});
  }

  void propagate(Id id) {
    const Node node = p_.tree[id];
    const Sums sums = sums_[static_cast<std::size_t>(id)];
    if (node.is_reduction()) {
      pass_down(id, node.row().form == Form::along_row ? of_column(sums) : sums.full, false);
    } else if (node.kind == Kind::column) {
      pass_down(id, of_column(sums), true);
    } else {
      pass_down(id, sums.full, false);
      pass_down(id, sums.column, true);
    }
  }

  void pass_down(Id id, Id gradient, bool by_row) {
    if (gradient < 0) return;
    const Node node = p_.tree[id];
    for (int i = 0; i < node.count; ++i) {
      const Id argument = node.arguments[static_cast<std::size_t>(i)];
      if (depends_[static_cast<std::size_t>(argument)]) add(argument, by_row, contribution(tree_, id, i, gradient));
    }
  }

  Output output_of(int input) {
    const Operand& operand = p_.inputs[static_cast<std::size_t>(input)];
    Output output;
    output.name = "d_" + operand.name;
    output.dtype = operand.in_memory() ? operand.dtype : f32;
    output.kind = operand.in_memory() ? operand.kind : Kind::scalar;
    output.value = total(tree_.operand(input, operand.kind), output.kind);
    return output;
  }

  Id total(Id leaf, Kind kind) {
    Sums sums = leaf < static_cast<Id>(sums_.size()) ? sums_[static_cast<std::size_t>(leaf)] : Sums{};
    if (sums.full < 0 && sums.column < 0) sums.full = tree_.constant(0);
    if (kind == Kind::full) return sums.full;
    if (kind == Kind::row) return tree_.call(kSumRows, {sums.full});
    if (kind == Kind::column) return of_column(sums);
    if (sums.column >= 0) {  // spread over the row, whose sum it is then
      const Id spread = tree_.call(kDivide, {sums.column, tree_.call(kWidth, {})});
      sums.full = sums.full < 0 ? spread : tree_.call(kAdd, {sums.full, spread});
    }
    return tree_.call(kSumAll, {sums.full});
  }

  const Program& p_;
  Tree tree_;
  std::vector<Operand> inputs_;
  std::vector<Sums> sums_;  // of the program's nodes
  std::vector<int> wanted_;
  std::vector<bool> depends_;
};

void check_names(const std::vector<Output>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (outputs[i].name == outputs[j].name) throw Refused{0, cat(outputs[i].name.substr(2), " is named twice")};
    }
  }
}

}  // namespace

Parsed gradient(const Program& program, std::span<const std::string> names) {
  Parsed parsed;
  try {
    if (names.empty()) throw Refused{0, "a gradient is of one name or more"};
    parsed.program = ReverseMode(program, names).made();
    check_names(parsed.program.outputs);
    if (const std::string why = too_large(parsed.program); !why.empty()) throw Refused{0, "the gradient has " + why};
  } catch (const Refused& refused) {
    parsed.error.message = refused.message;
  }
  return parsed;
}

}  // namespace quern::expression
