// Known problems and their plans. A look-up takes one hash and no lock, and writes no cache line that another thread
// writes.
#ifndef QUERN_API_PLAN_TABLE_H_
#define QUERN_API_PLAN_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/fork_barrier.h"
#include "base/read_mostly_table.h"
#include "base/striped.h"
#include "plan/plan_state.h"
#include "plan/problem.h"

namespace quern {

// Family, problem, and the context that the plan is loaded in. Large: constructed on the stack for a look-up.
struct PlanKey {
  PlanKey(const Family& key_family, const void* problem, std::uint64_t context_id);
  friend bool operator==(const PlanKey& left, const PlanKey& right);

  std::uint64_t hash;
  const Family* family;
  std::uint64_t context;
  PackedProblem packed;
};

// The same key as stored in the table. The small members come first: a look-up that meets another plan's key reads no
// further.
class KeptPlanKey {
 public:
  explicit KeptPlanKey(const PlanKey& key);
  friend bool operator==(const KeptPlanKey& kept, const PlanKey& key);

  bool is_of(const Family& family, const PackedProblem& packed) const;
  std::uint64_t context() const { return context_; }

 private:
  // Most problems have few fields that differ from their defaults.
  static constexpr std::size_t kInside = 64;
  const unsigned char* bytes() const { return outside_ != nullptr ? outside_.get() : inside_.data(); }

  std::uint64_t hash_;
  const Family* family_;
  std::uint64_t context_;
  std::size_t size_;
  std::array<unsigned char, kInside> inside_;
  std::unique_ptr<unsigned char[]> outside_;  // for a larger problem
};

struct PlanKeyHash {
  std::size_t operator()(const PlanKey& key) const { return static_cast<std::size_t>(key.hash); }
};

// Thread-safe.
class PlanTable {
 public:
  using Pointer = std::shared_ptr<const PlanState>;
  PlanTable() = default;
  ~PlanTable();
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  // Null if the problem is new. COST: one slot of the table and one node, which lie close together.
  Pointer find(const PlanKey& key) const;
  // Returns the plan that the table has afterwards: another thread's if that was inserted first.
  Pointer add(const PlanKey& key, Pointer plan);

  // Remove plans and return their number: those of one problem in every context, those of one context, those without
  // copies outside the table. A plan that nothing else holds is destroyed here.
  std::size_t forget(const Family& family, const PackedProblem& problem);
  std::size_t forget_context(std::uint64_t context);
  std::size_t forget_unused();

  std::size_t size() const;
  // The number of plans with a reference count per stripe.
  std::size_t striped() const { return striped_; }

 private:
  // Only the data that a look-up reads. Copies of the plan's pointer are counted in the node.
  struct Node : std::enable_shared_from_this<Node> {
    Node(const PlanKey& node_key, Pointer node_plan) : plan(std::move(node_plan)), key(node_key) {}
    // Members are in the order in which a look-up reads the cache lines; the end of the key is rarely read.
    mutable std::atomic<const StripedPointer<PlanState>*> striped{nullptr};  // null: few threads look the plan up
    mutable std::atomic<unsigned> visits{0};                                 // by threads of other stripes than `home`
    const unsigned home = static_cast<unsigned>(this_stripe());
    const Pointer plan;
    const KeptPlanKey key;
  };
  static Pointer pointer(const Node& node) { return {node.shared_from_this(), node.plan.get()}; }
  static bool is_shared(const Node& node);

  std::size_t remove_if(const std::function<bool(const Node&)>& goes);
  bool collect();
  void unstripe(const Node& node);
  void stripe(const PlanKey& key) const;

  ReadMostlyTable<Node> table_;
  mutable ForkSafeMutex writing_;
  mutable std::atomic<std::size_t> striped_{0};
};

}  // namespace quern

#endif  // QUERN_API_PLAN_TABLE_H_
