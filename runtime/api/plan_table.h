// Known problems and their plans. Looking one up takes one hash and no lock, and writes no cache line that another
// thread writes; nothing is ever removed.
#ifndef QUERN_API_PLAN_TABLE_H_
#define QUERN_API_PLAN_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/striped.h"
#include "plan/plan_state.h"
#include "plan/problem.h"

namespace quern {

// What a plan is for: family, problem, and the context it is loaded in.
struct PlanKey {
  PlanKey(const Family& key_family, const void* problem, std::uint64_t context_id);
  bool operator==(const PlanKey& other) const;

  const Family* family;
  std::uint64_t context;
  PackedProblem packed;
  std::uint64_t hash;
};

class PlanTable {
 public:
  PlanTable() = default;
  ~PlanTable();
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  // Null if the problem is new.
  std::shared_ptr<const PlanState> find(const PlanKey& key) const;
  // Two threads may add one key; the first one found serves.
  void add(const PlanKey& key, const std::shared_ptr<const PlanState>& plan);

 private:
  // A list a bucket, new nodes in front: readers only follow pointers that were published whole.
  struct Node {
    PlanKey key;
    StripedPointer<PlanState> plan;
    Node* next;
  };
  static constexpr std::size_t kBuckets = 1024;
  std::array<std::atomic<Node*>, kBuckets> buckets_{};
};

}  // namespace quern

#endif  // QUERN_API_PLAN_TABLE_H_
