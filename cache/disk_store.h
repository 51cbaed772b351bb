// One directory of entries: DIR/hex(what)/hex(who), a file each.
#ifndef QUERN_CACHE_DISK_STORE_H_
#define QUERN_CACHE_DISK_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/log.h"
#include "cache/counters.h"
#include "cache/entry.h"
#include "cache/key.h"
#include "quern/options.h"

namespace quern::cache {

// One entry on disk, for people.
struct Item {
  std::string key;  // hex(what)/hex(who)
  std::string path;
  std::uint64_t bytes = 0;
  std::string damage;  // why it serves nobody; the fields below are then empty
  std::int64_t created_unix_ns = 0;
  bool prewarmed = false;
  std::string compiler;
  std::string kernel;
  std::string what, who;  // see parse_key_text: family, target and the rest
};

// Thread-safe. Whatever is odd is a miss and counts. The directory is looked at, and made if it may be written, on
// first use; one that is refused costs one warning.
class DiskStore {
 public:
  // `files` and `counters` must outlive the store.
  DiskStore(const std::string& dir, bool writable, CacheMatch match, const Log& log, FileSystem& files,
            AtomicCounters& counters);

  // The exact entry, else the best that `match` allows, else null.
  std::shared_ptr<const Entry> find(const Key& key);
  // REQUIRES: `entry` holds the texts of `key`. Nothing is written for a key without `who`.
  void put(const Key& key, const Entry& entry);
  // The key's own entry, and `served`, where given, which may lie under another compiler's name.
  void remove(const Key& key, const Entry* served);

  std::vector<Item> list();
  std::shared_ptr<const Entry> load(const std::string& item_key, std::string* why_not);
  std::size_t clear();

  const std::string& directory() const { return dir_; }
  std::string unusable();

 private:
  enum class Access { none, read, write };
  enum class Oddity { absent, unreadable, untrusted, damaged, foreign };
  struct Reading {
    std::optional<Entry> entry;
    std::uint64_t bytes = 0;
    Oddity oddity = Oddity::absent;  // where there is no entry
    std::string why;
  };

  Access access();
  void open();
  int open_directory(FileStatus* status);
  void refuse(const std::string& why);
  void failed(const std::string& why);

  Reading read(const std::string& path);
  Reading read_trusted(std::string_view bytes, const FileStatus& status) const;
  void pass_over(const std::string& path, const Reading& reading);
  std::shared_ptr<const Entry> read_for(const std::string& path, const std::string& what, const std::string* who);
  std::shared_ptr<const Entry> look_up(const Key& key);
  std::shared_ptr<const Entry> find_match(const std::string& folder, const Key& key);

  bool folder_is_ours(const std::string& folder);
  bool make_folder(const std::string& folder);
  bool remove_file(const std::string& path);
  std::vector<std::string> names(const std::string& directory);
  std::vector<std::string> folders();
  std::size_t clear_folder(const std::string& folder);
  Item item(const std::string& key);

  std::string dir_;
  const bool writable_;
  const CacheMatch match_;
  const Log log_;
  FileSystem& files_;
  AtomicCounters& counters_;

  std::mutex opening_;  // no call_once: thread sanitizer's hangs after an exception
  std::atomic<bool> opened_{false};
  Access access_ = Access::none;  // after `opened_`
  std::string unusable_;
  std::atomic<bool> warned_{false};
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_DISK_STORE_H_
