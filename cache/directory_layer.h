// A directory of entries: DIR/hex(what)/hex(who), one file each. This class reads; Writer writes.
#ifndef QUERN_CACHE_DIRECTORY_LAYER_H_
#define QUERN_CACHE_DIRECTORY_LAYER_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/fork_barrier.h"
#include "cache/layer.h"
#include "cache/trust.h"
#include "quern/options.h"

namespace quern::cache {

// The store's own files next to the folders of entries.
inline constexpr const char* kUsageName = ".usage";
inline constexpr const char* kLeasesName = ".leases";
inline constexpr const char* kTagName = "CACHEDIR.TAG";  // https://bford.info/cachedir: backups skip the directory

enum class DirectoryRole : std::uint8_t {
  written,  // the user's own, which quern creates and writes to
  read,     // the same, but read-only
  maybe,    // the same, if other layers serve too: no warning if it does not exist
  shipped,  // made for others: entries that were made on demand there serve every compiler too
};

class DirectoryLayer : public Layer {
 public:
  // `trust` is for read-only directories; a written one must belong to the user.
  DirectoryLayer(const std::string& dir, DirectoryRole role, CacheMatch match, const Trust& trust, Services& services);

  EntryPointer find_exact(const Key& key, const Rejected& rejected) override;
  EntryPointer find_match(const Key& key, const Rejected& rejected, bool* others) override;
  std::vector<Item> list(Check check) override;
  std::vector<std::string> keys(const std::string& start) override;
  Reading load(const std::string& item_key) override;
  LayerReport report() override;
  std::vector<Item> untrusted() override;

  // Opens the directory at the first call, and creates it if it may be written.
  bool readable() { return access() != Access::none; }
  bool writable() { return access() == Access::write; }

  // Reads an entry file; with Check::header only its description.
  Reading read(const std::string& path, Check check = Check::whole);
  // A remembered failure's bytes, if there are any to trust.
  Reading read_other(const std::string& path, std::string* bytes);
  std::string folder_of(const Key& key) const;
  std::string entry_path(const Key& key) const;
  // Whether this file or folder exists and is trusted: its `miss` and `why`. Updates the counters.
  Reading examine(const std::string& path, FileKind kind);
  bool is_trusted(const std::string& path, FileKind kind) { return examine(path, kind).miss == MissReason::none; }
  // The folders of entries, and the names in one directory; sorted, so that ties are resolved the same way everywhere.
  std::vector<std::string> folders();
  std::vector<std::string> names(const std::string& directory);

 protected:
  void on_untrusted(const std::string& path, const std::string& why) override;

 private:
  enum class Access { none, read, write };
  Access access();
  std::string open();
  std::string look(bool* passing);
  int open_directory(FileStatus* status);
  std::string why_not_trusted(const FileStatus& status, int* error);
  std::string refuse(const std::string& why);

  Reading read_bytes(const std::string& path, std::size_t most, std::string* bytes);
  std::vector<std::string> newest_first(const std::vector<std::string>& paths, const Wanted& wanted, bool* others);
  EntryPointer read_for(const std::string& path, const Wanted& wanted, std::int64_t* modified_ns);
  void stamp(const std::string& path, std::int64_t modified_ns);
  bool serves(const Entry& entry) const;

  const DirectoryRole role_;
  const CacheMatch match_;
  const Trust trust_;

  ForkSafeMutex opening_;  // no call_once: ThreadSanitizer's hangs after an exception
  std::atomic<bool> opened_{false};
  Access access_ = Access::none;  // valid once `opened_` is set
  std::string unusable_;
  bool refused_ = false;
  std::atomic<bool> warned_of_untrusted_{false};
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_DIRECTORY_LAYER_H_
