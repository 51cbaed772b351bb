// What a plan is for.
#ifndef QUERN_PLAN_PLAN_KEY_H_
#define QUERN_PLAN_PLAN_KEY_H_

#include <cstdint>

#include "plan/problem.h"
#include "quern/family.h"

namespace quern {

// Family, problem, and the context that the plan is loaded in. The small members first: a look-up that finds another
// plan's key reads no further.
struct PlanKey {
  PlanKey(const Family& key_family, const void* problem, std::uint64_t context_id);
  friend bool operator==(const PlanKey& left, const PlanKey& right);

  std::uint64_t hash;
  const Family* family;
  std::uint64_t context;
  PackedProblem packed;
};

struct PlanKeyHash {
  std::size_t operator()(const PlanKey& key) const { return static_cast<std::size_t>(key.hash); }
};

}  // namespace quern

#endif  // QUERN_PLAN_PLAN_KEY_H_
