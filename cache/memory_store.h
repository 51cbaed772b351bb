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

// Thread-safe. Reading takes no lock and writes no cache line that another thread writes. A key that was forgotten
// stays known, without an entry, until it is replaced: it says that what is on disk is not to be believed.
class MemoryStore {
 public:
  // Null if not here. Counts a hit.
  EntryPointer find(const Key& key);
  bool forgotten(const Key& key);

  // Unless something is known under the key. What is then there, null for a forgotten one.
  EntryPointer add(const Key& key, const EntryPointer& entry);
  void replace(const Key& key, const EntryPointer& entry);
  // False, with nothing done, if `expected` is given and something else is there. `was` gets what was there.
  bool forget(const Key& key, const EntryPointer& expected, EntryPointer* was);
  void clear();
  // Drops the entries of which there are no copies outside.
  void drop_unused();

  // All that are there, in no particular order.
  std::vector<EntryPointer> entries();

  std::uint64_t hits() const { return hits_.total(); }

 private:
  // What is known under a key.
  struct Known {
    Known(const Key& known_key, const EntryPointer& known_entry) : key(known_key), entry(known_entry) {}
    Key key;
    StripedPointer<Entry> entry;  // empty: forgotten
  };
  using Table = ReadMostlyTable<Known>;

  void set(const Key& key, const EntryPointer& entry);

  Table table_;
  StripedCounter hits_;
  alignas(kCacheLine) ForkSafeMutex writing_;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_MEMORY_STORE_H_
