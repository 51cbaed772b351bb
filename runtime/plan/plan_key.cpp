#include "plan/plan_key.h"

#include <cstring>

#include "base/hash.h"

namespace quern {

PlanKey::PlanKey(const Family& key_family, const void* problem, std::uint64_t context_id)
    : family(&key_family), context(context_id) {
  pack(key_family, problem, packed);
  hash = hash64(packed.bytes.data(), packed.size) ^ (context * 0x9e3779b97f4a7c15u) ^
         (reinterpret_cast<std::uintptr_t>(family) >> 4);
}

bool operator==(const PlanKey& left, const PlanKey& right) {
  return left.hash == right.hash && left.family == right.family && left.context == right.context &&
         left.packed.size == right.packed.size &&
         std::memcmp(left.packed.bytes.data(), right.packed.bytes.data(), left.packed.size) == 0;
}

}  // namespace quern
