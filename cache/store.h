// The image store: memory above one directory. Rule 7 of the house: a failure here never fails a launch.
#ifndef QUERN_CACHE_STORE_H_
#define QUERN_CACHE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/log.h"
#include "cache/counters.h"
#include "cache/disk_store.h"
#include "cache/entry.h"
#include "cache/key.h"
#include "cache/memory_store.h"
#include "cache/single_flight.h"
#include "quern/options.h"

namespace quern::cache {

enum class Origin : std::uint8_t { memory, disk, built };
const char* name(Origin origin);

struct Found {
  std::shared_ptr<const Entry> entry;  // never null
  Origin origin = Origin::memory;      // memory too for a caller who waited while another thread built
};

// Thread-safe. Nothing here throws but what `build` throws and std::bad_alloc for the caller's own copy. The directory
// is looked at, and in read_write mode made, on first use; one that is refused costs one warning and images then live
// in memory alone.
class Store {
 public:
  struct Settings {
    std::string dir;  // empty: memory only
    CacheMode mode = CacheMode::read_write;
    CacheMatch match = CacheMatch::standard;
  };
  // `files` must outlive the store.
  Store(const Settings& settings, const Log& log, FileSystem& files = real_file_system());

  using Build = std::function<Entry()>;
  // From memory, from disk, or else from `build`, which runs at most once at a time for a key: the others wait for it
  // and get what it returns or throws. After an exception the next caller builds again. A hit never waits for another
  // key. The entry is in memory, for all, before it is written to disk. `build` must not ask for the same key.
  Found get_or_build(const Key& key, const Build& build);

  // From memory or disk, else null. There is no `contains`: what it says could be untrue a moment later.
  std::shared_ptr<const Entry> find(const Key& key);

  // In place of what memory and disk have under this key. For entries that were made elsewhere, and to mark one that is
  // there as prewarmed.
  std::shared_ptr<const Entry> put(const Key& key, Entry entry);

  // The driver rejected it: removed from memory and from disk, and the disk is not asked for this key again before a
  // build. Does nothing if `rejected` is given and another thread has replaced it already.
  void forget(const Key& key, const std::shared_ptr<const Entry>& rejected = nullptr);

  Counters counters() const;

  // For the command line. Every entry is read and checked.
  std::vector<Item> list();
  // The entry of an Item, by its key. Null with a reason in `why_not`.
  std::shared_ptr<const Entry> load(const std::string& item_key, std::string* why_not);
  // Empties memory and disk, staging files that were left behind included. How many entries were removed from disk.
  std::size_t clear();

  // Absolute; empty without a disk layer.
  std::string directory() const;
  // Why nothing is kept on disk, in one line; empty if it is, and in mode off.
  std::string unusable();

 private:
  Found lead(const Key& key, const Build& build);
  EntryPointer keep(const Key& key, Entry entry);
  EntryPointer from_disk(const Key& key);
  template <class Operation>
  void on_disk(const Operation& operation);

  AtomicCounters counters_;  // memory hits are counted in memory_
  MemoryStore memory_;
  std::unique_ptr<DiskStore> disk_;  // null in mode off
  SingleFlight<Key, Found, KeyHash> flights_;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_STORE_H_
