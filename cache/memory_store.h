// The images this process has: a table that is read far more often than written.
#ifndef QUERN_CACHE_MEMORY_STORE_H_
#define QUERN_CACHE_MEMORY_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/fork_barrier.h"
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
  MemoryStore();
  ~MemoryStore();
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  // Null if not here. Counts a hit.
  EntryPointer find(const Key& key);
  bool forgotten(const Key& key);

  // Unless something is known under the key. What is then there, null for a forgotten one.
  EntryPointer add(const Key& key, const EntryPointer& entry);
  void replace(const Key& key, const EntryPointer& entry);
  // False, with nothing done, if `expected` is given and something else is there. `was` gets what was there.
  bool forget(const Key& key, const EntryPointer& expected, EntryPointer* was);
  void clear();

  // All that are there, in no particular order.
  std::vector<EntryPointer> entries();

  std::uint64_t hits() const { return hits_.total(); }

 private:
  // What is known under a key; never changed once it is in a table.
  struct Known {
    Key key;
    StripedPointer<Entry> entry;  // empty: forgotten
  };
  using Slot = std::atomic<const Known*>;

  // Open addressing: a key lies in the first free slot from its hash on. At least half of the slots stay free.
  struct Table {
    explicit Table(std::size_t count) : slots(count) {}
    Slot& slot(const Key& key);  // of the key, or the free one where it belongs
    std::vector<Slot> slots;     // a power of two
    std::size_t used = 0;
  };

  const Known* look_up(const Key& key);
  void set(const Key& key, const EntryPointer& entry);
  void publish(std::unique_ptr<Table> table);
  std::unique_ptr<Table> grown() const;
  void retire(const Known* known);
  void drop_retired();

  StripedReaders readers_;
  StripedCounter hits_;
  std::atomic<Table*> table_;  // owned_

  // The rest is for writers, on lines that no reader looks at. What they take out of the table is kept until no reader
  // is left that may have seen it.
  alignas(kCacheLine) ForkSafeMutex writing_;
  std::unique_ptr<Table> owned_;
  std::vector<std::unique_ptr<Table>> retired_tables_;
  std::vector<std::unique_ptr<const Known>> retired_;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_MEMORY_STORE_H_
