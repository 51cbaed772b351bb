#include "api/plan_table.h"

#include <cstring>

#include "base/hash.h"

namespace quern {

PlanKey::PlanKey(const Family& key_family, const void* problem, std::uint64_t context_id)
    : family(&key_family), context(context_id) {
  pack(key_family, problem, packed);
  hash = hash64(packed.bytes.data(), packed.size) ^ (context * 0x9e3779b97f4a7c15u) ^
         (reinterpret_cast<std::uintptr_t>(family) >> 4);
}

bool PlanKey::operator==(const PlanKey& other) const {
  return hash == other.hash && family == other.family && context == other.context && packed.size == other.packed.size &&
         std::memcmp(packed.bytes.data(), other.packed.bytes.data(), packed.size) == 0;
}

PlanTable::~PlanTable() {
  for (std::atomic<Node*>& bucket : buckets_) {
    for (Node* node = bucket.load(); node != nullptr;) delete std::exchange(node, node->next);
  }
}

std::shared_ptr<const PlanState> PlanTable::find(const PlanKey& key) const {
  const std::atomic<Node*>& bucket = buckets_[key.hash % kBuckets];
  for (const Node* node = bucket.load(std::memory_order_acquire); node != nullptr; node = node->next) {
    if (node->key == key) return node->plan.get();
  }
  return nullptr;
}

void PlanTable::add(const PlanKey& key, const std::shared_ptr<const PlanState>& plan) {
  std::atomic<Node*>& bucket = buckets_[key.hash % kBuckets];
  Node* node = new Node{key, StripedPointer<PlanState>(plan), bucket.load(std::memory_order_relaxed)};
  while (!bucket.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace quern
