// What the store writes to its own directory: images, remembered failures, and their removal.
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
  std::chrono::seconds staging_age{600};  // a publication takes less; what is older was left behind
  std::chrono::seconds failure_age{600};  // how long a failed compile is not tried again
};

// When what was written is on the disk.
enum class Sync : std::uint8_t { now, later };

// Thread-safe. Every failure is passed over and counted. Does nothing where the layer may not be written.
class Writer {
 public:
  Writer(DirectoryLayer& layer, const WriterSettings& settings, Services& services);

  // REQUIRES: `entry` holds the texts of `key`. Nothing is written for a key without `who`. With Sync::later the entry
  // may be lost or damaged by a loss of power before `sync`, which is some milliseconds cheaper for each of many.
  void put(const Key& key, const Entry& entry, Sync sync = Sync::now);
  void sync();
  void put(const Key& key, const Failure& failure);
  // What a `put` leaves for later: keeping within the limits. To be called when nobody waits for the entry any more.
  void make_room();
  // A failure that is not too old.
  std::optional<Failure> failure(const Key& key);
  // All of these.
  std::vector<Item> failures();
  // So that it is tried again; how many there were, old ones and damaged ones included.
  void forget_failure(const Key& key);
  std::size_t forget_failures();
  // The key's own entry, and `served`, where given, which may lie under another compiler's name.
  void remove(const Key& key, const Entry* served);

  // Who builds the key now. Null where nobody can say; see Leases::take.
  std::unique_ptr<Lease> lease(const Key& key, const std::function<bool()>& done, const Patience& patience);

  // Removes one file of the layer, by its item key, or what is not trusted, by its name.
  bool remove(const std::string& item_key);
  // Removes what was left behind and what is beyond `limits`, oldest use first. How many files went.
  std::size_t tidy(const Limits& limits);
  // How many images were removed.
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
  void heal(const char* name, FileKind kind);
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
