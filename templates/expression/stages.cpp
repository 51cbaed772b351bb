#include "expression/stages.h"

#include <algorithm>

namespace quern::expression {

std::vector<Id> Stages::reductions() const {
  std::vector<Id> all;
  for (const std::vector<Id>& round : rounds) all.insert(all.end(), round.begin(), round.end());
  return all;
}

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
  return made;
}

}  // namespace quern::expression
