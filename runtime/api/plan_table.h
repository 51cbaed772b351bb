// Known problems and their plans. Looking one up takes one hash and no lock, and writes no cache line that another
// thread writes.
#ifndef QUERN_API_PLAN_TABLE_H_
#define QUERN_API_PLAN_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/fork_barrier.h"
#include "base/read_mostly_table.h"
#include "base/striped.h"
#include "plan/plan_key.h"
#include "plan/plan_state.h"

namespace quern {

// Thread-safe.
class PlanTable {
 public:
  using Pointer = std::shared_ptr<const PlanState>;
  PlanTable() = default;
  ~PlanTable();
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  // Null if the problem is new. COST: one slot of the table and the plan's own first cache lines.
  Pointer find(const PlanKey& key) const;
  // The plan that is there then: another thread's, where one was quicker.
  Pointer add(const Pointer& plan);

  // Takes plans out and returns them: those of one problem in every context, those of one context, those of which there
  // are no copies outside.
  std::vector<Pointer> forget(const Family& family, const PackedProblem& problem);
  std::vector<Pointer> forget_context(std::uint64_t context);
  std::vector<Pointer> forget_unused();

  std::size_t size() const;

 private:
  std::vector<Pointer> remove_if(const std::function<bool(const PlanState&)>& goes);
  bool collect();
  void stripe(const PlanState& plan) const;

  ReadMostlyTable<PlanState> table_;
  mutable ForkSafeMutex writing_;
};

}  // namespace quern

#endif  // QUERN_API_PLAN_TABLE_H_
