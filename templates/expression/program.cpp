#include "expression/program.h"

#include <algorithm>

#include "base/text.h"

namespace quern::expression {
namespace {

// Copies what outputs need from one tree to another, in the order of a walk from the outputs.
class Walk {
 public:
  Walk(const Tree& from, const std::vector<Operand>& inputs, const std::vector<Given>& given, Program& to)
      : from_(from),
        inputs_(inputs),
        to_(to),
        places_(static_cast<std::size_t>(from.size()), -1),
        given_(places_),
        operands_(inputs.size(), -1) {
    for (const Given& each : given) given_[static_cast<std::size_t>(each.value)] = each.input;
  }

  Id copied(Id root) {
    std::vector<Id> open = {root};
    while (!open.empty()) {
      const Id id = open.back();
      const Id missing = place(id) >= 0 || given(id) >= 0 ? -1 : first_missing(from_[id]);
      if (missing >= 0) {
        open.push_back(missing);
      } else {
        if (place(id) < 0) place(id) = given(id) >= 0 ? read(given(id)) : copy(from_[id]);
        open.pop_back();
      }
    }
    return place(root);
  }

  int operand(int number) {
    int& place = operands_[static_cast<std::size_t>(number)];
    if (place >= 0) return place;
    place = static_cast<int>(to_.inputs.size());
    to_.inputs.push_back(inputs_[static_cast<std::size_t>(number)]);
    return place;
  }

 private:
  Id& place(Id id) { return places_[static_cast<std::size_t>(id)]; }
  int given(Id id) const { return given_[static_cast<std::size_t>(id)]; }
  Id read(int input) { return to_.tree.operand(operand(input), inputs_[static_cast<std::size_t>(input)].kind); }

  Id first_missing(const Node& node) {
    for (const Id id : node.used()) {
      if (place(id) < 0) return id;
    }
    return -1;
  }

  Id copy(const Node& node) {
    if (node.op == Op::literal) return to_.tree.literal(node.value());
    if (node.op == Op::constant) return to_.tree.constant(node.value());
    if (node.op == Op::operand) return read(static_cast<int>(node.payload));
    std::array<Id, 3> arguments = {-1, -1, -1};
    for (std::size_t i = 0; i < node.count; ++i) arguments[i] = place(node.arguments[i]);
    return to_.tree.call(node.function, std::span<const Id>(arguments.data(), node.count),
                         static_cast<DType>(node.payload));
  }

  const Tree& from_;
  const std::vector<Operand>& inputs_;
  Program& to_;
  std::vector<Id> places_;
  std::vector<int> given_;  // the input that a node is read from; -1: none
  std::vector<int> operands_;
};

}  // namespace

bool operator==(const Program& a, const Program& b) {
  return a.tree.nodes() == b.tree.nodes() && a.inputs == b.inputs && a.outputs == b.outputs;
}

Program in_order(const Tree& tree, const std::vector<Operand>& inputs, const std::vector<Output>& outputs,
                 const std::vector<Given>& given) {
  Program program;
  Walk walk(tree, inputs, given, program);
  for (const Output& output : outputs) {
    program.outputs.push_back(output);
    program.outputs.back().value = walk.copied(output.value);
  }
  // By name: inputs that nothing needs were removed, so an output may have lost the input that it was in place of.
  for (Output& output : program.outputs) {
    const auto found = std::find_if(program.inputs.begin(), program.inputs.end(),
                                    [&](const Operand& input) { return input.name == output.name; });
    output.in_place = found == program.inputs.end() ? -1 : static_cast<int>(found - program.inputs.begin());
  }
  return program;
}

std::vector<Number> numbers(const Program& program) {
  std::vector<Number> all;
  for (Id id = 0; id < program.tree.size(); ++id) {
    const Node& node = program.tree[id];
    if (node.op == Op::literal) all.push_back({Number::Source::literal, id, node.value()});
    if (node.op == Op::operand && node.kind == Kind::constant)
      all.push_back({Number::Source::operand, id, 0, static_cast<int>(node.payload)});
    if (node.is(kWidth)) all.push_back({Number::Source::width, id});
    if (node.is(kRows)) all.push_back({Number::Source::rows, id});
  }
  return all;
}

std::vector<int> memory_places(const Program& program) {
  std::vector<int> places;
  int next = 0;
  for (const Operand& input : program.inputs) places.push_back(input.in_memory() ? next++ : -1);
  return places;
}

Kind default_kind(const Node& value) { return value.reduces ? value.kind : Kind::full; }

std::string too_large(const Program& program) {
  const auto in_memory = std::count_if(program.inputs.begin(), program.inputs.end(),
                                       [](const Operand& input) { return input.in_memory(); });
  if (program.tree.size() > kMostNodes) return cat("more than ", kMostNodes, " operations, numbers and names");
  if (in_memory > kMostOperands) return cat("more than ", kMostOperands, " operands");
  if (program.outputs.size() > static_cast<std::size_t>(kMostOutputs))
    return cat("more than ", kMostOutputs, " outputs");
  if (numbers(program).size() > static_cast<std::size_t>(kMostNumbers))
    return cat("more than ", kMostNumbers, " numbers; write const before those that never change");
  const auto has_long_name = [](const auto& operand) { return is_too_long(operand.name); };
  if (std::any_of(program.inputs.begin(), program.inputs.end(), has_long_name) ||
      std::any_of(program.outputs.begin(), program.outputs.end(), has_long_name))
    return cat("a name of more than ", kMostLetters, " letters");
  return "";
}

}  // namespace quern::expression
