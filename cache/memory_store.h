// The images this process has: a table that is read far more often than written.
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

// Thread-safe. Reading takes no lock and writes no cache line that another thread writes. A key whose entry was
// rejected stays known, without it, and so do the images that were rejected under it: what is on disk may be one of
// them.
class MemoryStore {
 public:
  // Null if not here. Counts a hit.
  EntryPointer find(const Key& key);
  // The images that were rejected under the key.
  Rejected rejected(const Key& key);

  // Unless there is one under the key, or this one was rejected. What is then there; null for a rejected one.
  EntryPointer add(const Key& key, const EntryPointer& entry);
  // Whatever is there, and whatever was rejected.
  void replace(const Key& key, const EntryPointer& entry);
  // Takes out what is there, and notes it as rejected; `expected` where nothing is there. False, with nothing done, if
  // `expected` is given and something else is there. `was` gets what was there.
  bool reject(const Key& key, const EntryPointer& expected, EntryPointer* was);
  void clear();
  // Drops the entries of which there are no copies outside.
  void drop_unused();

  // All that are there, in no particular order.
  std::vector<EntryPointer> entries();

  std::uint64_t hits() const { return hits_.total(); }

 private:
  // What is known under a key.
  struct Known {
    Known(const Key& known_key, const EntryPointer& known_entry, Rejected known_rejected)
        : key(known_key), entry(known_entry), rejected(std::move(known_rejected)) {}
    Key key;
    StripedPointer<Entry> entry;  // empty: there is none
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
