// The image store: memory, above one writable directory, above any number of read-only layers. A failure here never
// fails a launch.
#ifndef QUERN_CACHE_STORE_H_
#define QUERN_CACHE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file_system.h"
#include "base/fork_barrier.h"
#include "base/log.h"
#include "base/single_flight.h"
#include "cache/directory_layer.h"
#include "cache/layer.h"
#include "cache/memory_store.h"
#include "cache/services.h"
#include "cache/trust.h"
#include "cache/write_behind.h"
#include "cache/writer.h"
#include "quern/error.h"
#include "quern/options.h"

namespace quern::cache {

enum class Origin : std::uint8_t { memory, disk, built };
const char* name(Origin origin);

struct Found {
  std::shared_ptr<const Entry> entry;  // never null
  Origin origin = Origin::memory;      // also memory for a caller that waited while another thread built
};

struct StoreSettings {
  std::string dir;  // empty: no directory of the user's own
  CacheMode mode = CacheMode::read_write;
  CacheMatch match = CacheMatch::standard;
  std::vector<std::string> layers;        // read-only packs and directories, in look-up order
  Trust trust{Trust::Owners::owner, {}};  // trusted owners of these layers
  WriterSettings writer;
  bool write_behind = true;  // false: write-through, so that built entries are on disk when the call returns
};

// Thread-safe. Throws only what `build` throws, and std::bad_alloc for the caller's own copy. A layer is opened, and in
// read_write mode the directory created, on first use; a refused layer logs one warning.
class Store {
 public:
  using Settings = StoreSettings;
  // `files` must outlive the store.
  Store(const Settings& settings, const Log& log, FileSystem& files = real_file_system());

  using Build = std::function<Entry()>;
  // Returns the entry from memory, from a layer, or from `build`. At most one `build` runs at a time per key and
  // machine: other threads wait for it and get its result or exception; other processes wait for its entry while it
  // shows signs of life (see LeaseTimes), at most as long as `patience` allows, then build themselves. After an
  // exception the next caller builds again, unless the Error is `lasting`: then the Error is cached, in memory and for
  // a while on disk, and returned marked as `remembered`. A hit never waits for another key. The entry is visible in
  // memory before it is written, which happens after the call (see `flush`), because a disk may be slow. `build` must
  // not request the same key.
  Found get_or_build(const Key& key, const Build& build, const Patience& patience = {});

  // From memory or a layer, else null. There is no `contains`: its result could be outdated a moment later.
  EntryPointer find(const Key& key);
  // The entry with its ptx, source and log, if these were left in its pack; null if they cannot be read.
  EntryPointer whole(const EntryPointer& entry);
  // Whether a layer has it, ignoring memory: then a new process needs no compile.
  bool is_kept(const Key& key);

  // Waits until everything built, put and remembered is on disk, or has failed to be written. The destructor does so
  // too.
  void flush();

  // Keeps the entry in memory under `key`, and writes it under its own texts, or the key's if those are empty. For
  // entries made elsewhere, and to mark an existing one as prewarmed.
  EntryPointer put(const Key& key, Entry entry);

  // Writes the entry to the directory under its own texts, without keeping it in memory. Does nothing unless the mode
  // is read_write.
  // With Sync::later a power failure before `sync` may lose or damage it.
  void write(const Entry& entry, Sync sync = Sync::now);
  void sync();
  // Whether the directory has a valid entry for it that was made ahead of time.
  bool keeps_for_all(const std::string& item_key);

  // The driver rejected the entry: removes it from memory and from the directory, and skips it in all layers from now
  // on, so that the next candidate is found, or it is rebuilt. Does nothing if `rejected` is given and another thread
  // has replaced it already.
  void reject(const Key& key, const EntryPointer& rejected = nullptr);

  Counters counters() const;
  // The directory first, then the others; opens those that have not been used yet.
  std::vector<LayerReport> layers();

  // For the command line. Every entry of every layer.
  std::vector<Item> list(Check check = Check::whole);
  // The keys of Items with this prefix, sorted; lists names without opening files.
  std::vector<std::string> keys(const std::string& start);
  // Untrusted files below the top of a directory, besides entries of `list`: see Layer::untrusted.
  std::vector<Item> untrusted();
  // The entry of an Item, by its key, from the first layer that has it. Null with a reason in `why_not`.
  EntryPointer load(const std::string& item_key, std::string* why_not);
  // The failed compiles in the directory that are not retried for a while.
  std::vector<Item> failures();
  // Forgets one failed compile, or all, so that they are retried; returns how many the directory had.
  void forget_failure(const Key& key);
  std::size_t forget_failures();
  // Drops entries from memory that have no user outside.
  void drop_unused();
  // The resident entries, in no particular order.
  std::vector<EntryPointer> resident();
  // Clears memory and the directory, including abandoned files. Returns the number of images removed from the
  // directory.
  std::size_t clear();
  // Removes one image from the directory, or one untrusted file, by its name. False if it is still there, or did not
  // exist.
  bool remove(const std::string& item_key);
  // Removes abandoned files in the directory and evicts down to `limits` (LRU). Returns the number of removed files.
  std::size_t tidy(const Limits& limits);
  Limits limits() const;

  // Absolute; empty if there is none.
  std::string directory() const;
  // Why the directory is not used, in one line; empty if it is used, and in mode off.
  std::string unusable();

 private:
  Found lead(const Key& key, const Build& build, const Patience& patience, std::unique_ptr<Lease>& lease);
  Entry build_once(const Key& key, const Build& build, std::unique_ptr<Lease>& lease);
  EntryPointer keep(const Key& key, Entry entry);
  void publish(const Key& key, const EntryPointer& entry, std::shared_ptr<Lease> lease);
  EntryPointer from_layers(const Key& key);
  EntryPointer look_up(const Key& key, const Rejected& rejected, bool* others);
  EntryPointer published_meanwhile(const Key& key, const FileStatus& before);
  FileStatus own_file(const Key& key);
  void remember(const Key& key, const Error& error, std::shared_ptr<Lease> lease);
  void throw_remembered(const Key& key, bool on_disk_too);

  template <class Operation>
  void guarded(const Operation& operation);

  const CacheMatch match_;
  const bool write_behind_;
  Services services_;
  MemoryStore memory_;
  std::vector<std::unique_ptr<Layer>> layers_;
  DirectoryLayer* directory_ = nullptr;  // one of the layers
  std::unique_ptr<Writer> writer_;       // null unless the mode is read_write
  SingleFlight<Key, Found, KeyHash> flights_;
  void later(std::function<void()> operation);

  ForkSafeMutex failed_mutex_;
  std::unordered_map<Key, Error, KeyHash> failed_;
  WriteBehind writes_;  // last: its jobs use all other members
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_STORE_H_
