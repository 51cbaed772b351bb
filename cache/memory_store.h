// The in-memory images of this process: a table with many reads and few writes.
#ifndef QUERN_CACHE_MEMORY_STORE_H_
#define QUERN_CACHE_MEMORY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/fork_barrier.h"
#include "base/read_mostly_table.h"
#include "base/striped.h"
#include "cache/entry.h"
#include "cache/key.h"
#include "cache/layer.h"

namespace quern::cache {

struct KeyHash {
  std::size_t operator()(const Key& key) const;
};

// Thread-safe. Readers are lock-free and write no shared cache line. A key with a rejected entry stays known, without
// the entry, and so do the images rejected under it: the one on disk may be one of them.
class MemoryStore {
 public:
  // Null on a miss. Counts a hit.
  EntryPointer find(const Key& key);
  // The images that were rejected under the key.
  Rejected rejected(const Key& key);

  // Adds unless the key has an entry, or this one was rejected. Returns the resident entry; null for a rejected one.
  EntryPointer add(const Key& key, const EntryPointer& entry);
  // Replaces any entry, also a rejected one.
  void replace(const Key& key, const EntryPointer& entry);
  // Removes the resident entry and marks it as rejected; `expected` if there is none. Returns false without a change if
  // `expected` is given and another entry is resident. `was` gets the previous entry.
  bool reject(const Key& key, const EntryPointer& expected, EntryPointer* was);
  void clear();
  // Drops the entries without copies outside.
  void drop_unused();

  // All resident entries, in no particular order.
  std::vector<EntryPointer> entries();

  std::uint64_t hits() const { return hits_.total(); }

 private:
  // The state of a key.
  struct Known {
    Known(const Key& known_key, const EntryPointer& known_entry, Rejected known_rejected)
        : key(known_key), entry(known_entry), rejected(std::move(known_rejected)) {}
    Key key;
    StripedPointer<Entry> entry;  // empty: no entry
    Rejected rejected;
  };
  using Table = ReadMostlyTable<Known>;

  const Known* known(const Key& key) const;
  void set(const Key& key, const EntryPointer& entry, Rejected rejected);

  Table table_;
  StripedCounter hits_;
  alignas(kCacheLine) ForkSafeMutex writing_;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_MEMORY_STORE_H_
