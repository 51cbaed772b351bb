// The images this process has: a sharded map that is read far more often than written.
#ifndef QUERN_CACHE_MEMORY_STORE_H_
#define QUERN_CACHE_MEMORY_STORE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "cache/entry.h"
#include "cache/key.h"

namespace quern::cache {

using EntryPointer = std::shared_ptr<const Entry>;

struct KeyHash {
  std::size_t operator()(const Key& key) const;
};

// Thread-safe. A key that was forgotten stays known, without an entry, until it is replaced: it says that what is on
// disk is not to be believed.
class MemoryStore {
 public:
  // Null if not here. Counts a hit.
  EntryPointer find(const Key& key);
  bool forgotten(const Key& key);

  // Unless something is known under the key. What is then there, null for a forgotten one.
  EntryPointer add(const Key& key, const EntryPointer& entry);
  void replace(const Key& key, EntryPointer entry);
  // False, with nothing done, if `expected` is given and something else is there. `was` gets what was there.
  bool forget(const Key& key, const EntryPointer& expected, EntryPointer* was);
  void clear();

  std::uint64_t hits() const;

 private:
  // Each on cache lines of its own; nothing is shared between shards, so that reads scale.
  struct alignas(64) Shard {
    std::shared_mutex mutex;
    std::atomic<std::uint64_t> hits{0};
    std::unordered_map<Key, EntryPointer, KeyHash> map;
  };
  static constexpr std::size_t kShards = 32;
  Shard& shard(const Key& key);

  std::array<Shard, kShards> shards_;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_MEMORY_STORE_H_
