#include "expression/stages.h"

#include <algorithm>

namespace quern::expression {

std::vector<Id> Stages::reductions() const {
  std::vector<Id> all;
  for (const std::vector<Id>& round : rounds) all.insert(all.end(), round.begin(), round.end());
  return all;
}

namespace {

// Which nodes are computed for these, from the inputs and the results of reductions.
std::vector<bool> computed_for(const Tree& tree, const std::vector<Id>& roots) {
  std::vector<bool> computed(tree.nodes().size());
  for (const Id root : roots) computed[static_cast<std::size_t>(root)] = true;
  for (Id id = tree.size() - 1; id >= 0; --id) {
    const Node& node = tree[id];
    if (!computed[static_cast<std::size_t>(id)] || (node.op == Op::call && node.row().form == Form::along_row))
      continue;
    for (const Id argument : node.used()) computed[static_cast<std::size_t>(argument)] = true;
  }
  return computed;
}

bool takes_long(const Node& node) {
  return node.kind == Kind::full && !node.is_reduction() && node.is_inexact();
}

std::vector<Stages::Kept> kept_values(const Program& program, const Stages& stages) {
  std::vector<std::vector<bool>> computed;
  for (const std::vector<Id>& round : stages.rounds) {
    std::vector<Id> terms;
    for (const Id id : round) terms.push_back(program.tree[id].arguments[0]);
    computed.push_back(computed_for(program.tree, terms));
  }
  std::vector<Id> outputs;
  for (const Output& output : program.outputs) outputs.push_back(output.value);
  computed.push_back(computed_for(program.tree, outputs));
  std::vector<Stages::Kept> kept;
  for (Id id = 0; id < program.tree.size(); ++id) {
    const auto needs_it = [&](const std::vector<bool>& stage) { return stage[static_cast<std::size_t>(id)]; };
    if (!takes_long(program.tree[id]) || std::count_if(computed.begin(), computed.end(), needs_it) < 2) continue;
    const auto first = std::find_if(computed.begin(), computed.end(), needs_it);
    kept.push_back({id, static_cast<std::size_t>(first - computed.begin())});
  }
  if (kept.size() > kMostKept) kept.erase(kept.begin(), kept.end() - kMostKept);
  return kept;
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
  made.kept = kept_values(program, made);
  return made;
}

}  // namespace quern::expression
