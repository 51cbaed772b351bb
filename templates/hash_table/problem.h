// What a hash_table problem may be.
#ifndef QUERN_HASH_TABLE_PROBLEM_H_
#define QUERN_HASH_TABLE_PROBLEM_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/text.h"
#include "common/geometry.h"
#include "hash_table/hash_table.h"

namespace quern::hash_table {

inline constexpr std::int64_t kMostKeys = (std::int64_t{1} << 31) - 1;  // of a table
inline constexpr std::int64_t kMostSlots = std::int64_t{1} << 32;

inline std::int64_t least_capacity(std::int64_t count) {
  return common::power_of_two_from(std::max<std::int64_t>(1, 2 * count));
}

// kOpen while it follows from an open count. A search has no least capacity.
inline std::int64_t capacity_of(const HashTable& p) {
  if (p.capacity != 0 || p.op == HashTableOp::find) return p.capacity;
  return p.count == kOpen ? kOpen : least_capacity(p.count);
}

inline std::string check_build(const HashTable& p) {
  if (p.count == kOpen) return {};
  if (p.count > kMostKeys) return "count must be fewer than 2^31: while a table is built, slots hold 32 bits";
  if (p.capacity == 0 || p.capacity >= 2 * p.count) return {};
  return cat("capacity must be at least 2 * count: ", least_capacity(p.count), ", or 0, which means the least");
}

// The rules between fields: a sentence, or "".
inline std::string check(const HashTable& p) {
  if ((p.capacity & (p.capacity - 1)) != 0)
    return cat("capacity must be a power of two: ", common::power_of_two_from(p.capacity));
  if (p.capacity > kMostSlots) return "capacity must be at most 2^32";
  if (p.op == HashTableOp::build) return check_build(p);
  return p.capacity != 0 ? "" : "op=find needs capacity: as many as table has rows, such as capacity=2048";
}

}  // namespace quern::hash_table

#endif  // QUERN_HASH_TABLE_PROBLEM_H_
