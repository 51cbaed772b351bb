#include "expression/stages.h"

#include <algorithm>

namespace quern::expression {

std::vector<Id> Stages::reductions() const {
  std::vector<Id> all;
  for (const std::vector<Id>& round : rounds) all.insert(all.end(), round.begin(), round.end());
  return all;
}

namespace {

// Which nodes are computed for these, from the inputs, the results of reductions, and what is `given`.
std::vector<bool> computed_for(const Tree& tree, const std::vector<Id>& roots, const std::vector<bool>& given) {
  std::vector<bool> computed(tree.nodes().size());
  for (const Id root : roots) computed[static_cast<std::size_t>(root)] = true;
  for (Id id = tree.size() - 1; id >= 0; --id) {
    const auto at = static_cast<std::size_t>(id);
    const bool is_along_row = tree[id].op == Op::call && tree[id].row().form == Form::along_row;
    if (!computed[at] || given[at] || is_along_row) continue;
    for (const Id argument : tree[id].used()) computed[static_cast<std::size_t>(argument)] = true;
  }
  return computed;
}

// What the terms of each round are, and then the outputs.
std::vector<std::vector<Id>> roots_of(const Program& program, const Stages& stages) {
  std::vector<std::vector<Id>> roots;
  for (const std::vector<Id>& round : stages.rounds) {
    roots.emplace_back();
    for (const Id id : round) roots.back().push_back(program.tree[id].arguments[0]);
  }
  roots.emplace_back();
  for (const Output& output : program.outputs) roots.back().push_back(output.value);
  return roots;
}

bool takes_long(const Node& node) { return node.kind == Kind::full && !node.is_reduction() && node.is_inexact(); }

bool needs_inputs_beside_kept(const Program& program, const Stages& stages, const std::vector<std::vector<Id>>& roots) {
  std::vector<bool> given(program.tree.nodes().size());
  std::size_t last = 0;
  for (const Stages::Kept& kept : stages.kept) {
    given[static_cast<std::size_t>(kept.node)] = true;
    last = std::max(last, kept.round);
  }
  for (std::size_t stage = last + 1; stage < roots.size(); ++stage) {
    const std::vector<bool> computed = computed_for(program.tree, roots[stage], given);
    for (Id id = 0; id < program.tree.size(); ++id) {
      const Node& node = program.tree[id];
      if (computed[static_cast<std::size_t>(id)] && node.op == Op::operand && node.kind == Kind::full) return true;
    }
  }
  return false;
}

void find_kept(const Program& program, Stages& stages) {
  const std::vector<std::vector<Id>> roots = roots_of(program, stages);
  const std::vector<bool> none_given(program.tree.nodes().size());
  std::vector<std::vector<bool>> computed;
  for (const std::vector<Id>& of_stage : roots) computed.push_back(computed_for(program.tree, of_stage, none_given));
  for (Id id = 0; id < program.tree.size(); ++id) {
    const auto needs_it = [&](const std::vector<bool>& stage) { return stage[static_cast<std::size_t>(id)]; };
    if (!takes_long(program.tree[id]) || std::count_if(computed.begin(), computed.end(), needs_it) < 2) continue;
    const auto first = std::find_if(computed.begin(), computed.end(), needs_it);
    stages.kept.push_back({id, static_cast<std::size_t>(first - computed.begin())});
  }
  if (stages.kept.size() > kMostKept) stages.kept.erase(stages.kept.begin(), stages.kept.end() - kMostKept);
  stages.needs_inputs_beside_kept = needs_inputs_beside_kept(program, stages, roots);
}

}  // namespace

Stages stages(const Program& program) {
  Stages made;
  for (Id id = 0; id < program.tree.size(); ++id) {
    const Node& node = program.tree[id];
    int needs = 0;
    for (const Id argument : node.used()) needs = std::max(needs, made.needs[static_cast<std::size_t>(argument)]);
    if (node.op == Op::call && node.row().form == Form::along_row) {
      if (made.rounds.size() == static_cast<std::size_t>(needs)) made.rounds.emplace_back();
      made.rounds[static_cast<std::size_t>(needs)].push_back(id);
      ++needs;
    }
    made.needs.push_back(needs);
  }
  find_kept(program, made);
  return made;
}

}  // namespace quern::expression
