// The table of hash/table.cuh on the host, made in another way: keys in ascending order, each to the first empty slot.
#ifndef QUERN_HASH_REFERENCE_H_
#define QUERN_HASH_REFERENCE_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "hash/table.cuh"

namespace quern::hash {

// Of keys key_at(0) to key_at(count - 1), in `capacity` entries. REQUIRES: no more different keys than entries.
template <class KeyAt>
void build_reference(std::int64_t count, const KeyAt& key_at, std::int64_t capacity, Entry* entries) {
  std::vector<std::pair<std::int64_t, std::int64_t>> keys(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) keys[static_cast<std::size_t>(i)] = {key_at(i), i};
  std::sort(keys.begin(), keys.end());
  const auto same_key = [](const auto& a, const auto& b) { return a.first == b.first; };
  keys.erase(std::unique(keys.begin(), keys.end(), same_key), keys.end());  // keeps the smallest position
  std::fill_n(entries, capacity, Entry{0, kNoPosition});
  const auto mask = static_cast<u32>(capacity - 1);
  for (const auto& [key, position] : keys) {
    u32 slot = home(key, mask);
    while (entries[slot].position != kNoPosition) slot = slot_after(slot, mask);
    entries[slot] = {key, position};
  }
}

}  // namespace quern::hash

#endif  // QUERN_HASH_REFERENCE_H_
