// The image store: memory above a directory that is written to, above any number of layers that are only read. Rule 7
// of the house: a failure here never fails a launch.
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
  Origin origin = Origin::memory;      // memory too for a caller who waited while another thread built
};

struct StoreSettings {
  std::string dir;  // empty: no directory of the user's own
  CacheMode mode = CacheMode::read_write;
  CacheMatch match = CacheMatch::standard;
  std::vector<std::string> layers;        // packs and directories that are only read, the first one first
  Trust trust{Trust::Owners::owner, {}};  // whom they may belong to
  WriterSettings writer;
  bool write_behind = true;  // false: what is built is on disk when the call returns
};

// Thread-safe. Nothing here throws but what `build` throws and std::bad_alloc for the caller's own copy. A layer is
// looked at, and the directory made in read_write mode, on first use; one that is refused costs one warning.
class Store {
 public:
  using Settings = StoreSettings;
  // `files` must outlive the store.
  Store(const Settings& settings, const Log& log, FileSystem& files = real_file_system());

  using Build = std::function<Entry()>;
  // From memory, from a layer, or else from `build`, which runs at most once at a time for a key on this machine: other
  // threads wait for it and get what it returns or throws; other processes wait for what it writes, for as long as it
  // shows signs of life (see LeaseTimes), then build themselves. After an exception the next caller builds again,
  // unless the Error is `lasting`: that one is kept, here and for a while on disk, and comes back marked `remembered`.
  // A hit never waits for another key. The entry is in memory, for all, before it is written, which happens after the
  // call (see `flush`), as a disk may be slow. `build` must not ask for the same key. Other processes are waited for as
  // long as `patience` says at most.
  Found get_or_build(const Key& key, const Build& build, const Patience& patience = {});

  // From memory or a layer, else null. There is no `contains`: what it says could be untrue a moment later.
  EntryPointer find(const Key& key);
  // The entry with its ptx, source and log, if these were left in its pack; null if they cannot be had.
  EntryPointer whole(const EntryPointer& entry);
  // Whether a layer has it, whatever memory holds: then a process that starts now needs no compile.
  bool is_kept(const Key& key);

  // Waits until what was built, put and remembered is on disk, or has failed to get there. The store's end does so too.
  void flush();

  // Kept in memory under `key`, and written under the entry's own texts, which are the key's where they are empty. For
  // entries that were made elsewhere, and to mark one that is there as prewarmed.
  EntryPointer put(const Key& key, Entry entry);

  // Written to the directory under its own texts, and not kept in memory. Does nothing where nothing is written.
  // With Sync::later it may be lost or damaged by a loss of power before `sync`.
  void write(const Entry& entry, Sync sync = Sync::now);
  void sync();
  // Whether the directory has it, sound and made ahead of time.
  bool keeps_for_all(const std::string& item_key);

  // The driver rejected it: removed from memory and from the directory, and passed over in all layers from now on, so
  // that the next candidate is found, or it is built. Does nothing if `rejected` is given and another thread has
  // replaced it already.
  void reject(const Key& key, const EntryPointer& rejected = nullptr);

  Counters counters() const;
  // The directory first, then the others, each looked at now if it was not yet.
  std::vector<LayerReport> layers();

  // For the command line. Every entry of every layer.
  std::vector<Item> list(Check check = Check::whole);
  // The keys of Items that start like this, sorted: names are looked at and no file is opened.
  std::vector<std::string> keys(const std::string& start);
  // What is not trusted below the top of a directory, besides entries of `list`: see Layer::untrusted.
  std::vector<Item> untrusted();
  // The entry of an Item, by its key, from the first layer that has it. Null with a reason in `why_not`.
  EntryPointer load(const std::string& item_key, std::string* why_not);
  // The compiles that failed and are not tried again for a while, as the directory has them.
  std::vector<Item> failures();
  // Lets them be tried again: one, or all; how many the directory had.
  void forget_failure(const Key& key);
  std::size_t forget_failures();
  // Drops from memory what has no user outside.
  void drop_unused();
  // What is in memory, in no order.
  std::vector<EntryPointer> resident();
  // Empties memory and the directory, what was left behind included. How many images were removed from the directory.
  std::size_t clear();
  // Removes one image from the directory, or one thing that is not trusted, by its name. False if it is still there, or
  // was not.
  bool remove(const std::string& item_key);
  // Removes what was left behind in the directory and what is beyond `limits`, oldest use first. How many files went.
  std::size_t tidy(const Limits& limits);
  Limits limits() const;

  // Absolute; empty without one.
  std::string directory() const;
  // Why nothing is kept in the directory, in one line; empty if it is, and in mode off.
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
  WriteBehind writes_;  // last: its jobs use all the rest
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_STORE_H_
