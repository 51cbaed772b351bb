// Writes to the store's own directory: images, remembered failures, and their removal.
#ifndef QUERN_CACHE_WRITER_H_
#define QUERN_CACHE_WRITER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/budget.h"
#include "cache/directory_layer.h"
#include "cache/failure.h"
#include "cache/lease.h"
#include "cache/removal.h"

namespace quern::cache {

struct WriterSettings {
  Limits limits;
  LeaseTimes lease;
  std::chrono::seconds staging_age{600};  // longer than any publication; older staging files are abandoned
  std::chrono::seconds failure_age{600};  // how long a failed compile is not retried
};

// When a write is synced to disk.
enum class Sync : std::uint8_t { now, later };

// Thread-safe. Failures are ignored and counted. Does nothing if the layer is not writable.
class Writer {
 public:
  Writer(DirectoryLayer& layer, const WriterSettings& settings, Services& services);

  // REQUIRES: `entry` has the texts of `key`. Writes nothing for a key without `who`. With Sync::later a power failure
  // before `sync` may lose or damage the entry; for many entries this saves some milliseconds each.
  void put(const Key& key, const Entry& entry, Sync sync = Sync::now);
  void sync();
  void put(const Key& key, const Failure& failure);
  // The deferred part of `put`: evicts down to the limits. Call it when no caller waits for the entry any more.
  void make_room();
  // A failure that has not expired.
  std::optional<Failure> failure(const Key& key);
  // All of these.
  std::vector<Item> failures();
  // Forgets them, so that they are retried; returns how many there were, including expired and damaged ones.
  void forget_failure(const Key& key);
  std::size_t forget_failures();
  // Removes the key's own entry, and `served`, if given, which may be under another compiler's name.
  void remove(const Key& key, const Entry* served);

  // The lease for building the key. Null if there is none; see Leases::take.
  std::unique_ptr<Lease> lease(const Key& key, const std::function<bool()>& done, const Patience& patience);

  // Removes one file of the layer, by its item key, or an untrusted one, by its name.
  bool remove(const std::string& item_key);
  // Removes abandoned files and evicts down to `limits` (LRU). Returns the number of removed files.
  std::size_t tidy(const Limits& limits);
  // Returns the number of removed images.
  std::size_t clear();
  const Limits& limits() const { return settings_.limits; }

 private:
  bool holds_newer(const std::string& path);
  void store(const Key& key, const std::string& path, std::string_view bytes, Sync sync);
  int store_once(const std::string& path, std::string_view bytes, Sync sync, std::string* why);
  void tag();
  int make_folder(const std::string& folder, Sync sync, std::string* why);
  int replace_folder(const std::string& folder, std::string* why);
  bool remove_file(const std::string& path);
  bool clear_place(const std::string& place, Bytes bytes, std::size_t* images = nullptr);
  void repair(const char* name, FileKind kind);
  std::string failure_path(const Key& key) const;
  std::optional<Failure> read_failure(const std::string& path, std::uint64_t* bytes);
  template <class Visitor>
  void for_each_failure(const Visitor& visit);

  DirectoryLayer& layer_;
  const WriterSettings settings_;
  Services& services_;
  Budget budget_;
  Leases leases_;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_WRITER_H_
