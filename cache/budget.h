// The size limits of the written directory, and LRU eviction.
#ifndef QUERN_CACHE_BUDGET_H_
#define QUERN_CACHE_BUDGET_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/directory_layer.h"
#include "cache/lease.h"
#include "cache/services.h"

namespace quern::cache {

struct Limits {
  std::uint64_t bytes = std::uint64_t{2} << 30;  // see disk_bytes
  std::uint64_t entries = 100'000;
};

// The disk usage of a file: whole blocks of 4 KiB, and one more for its folder.
std::uint64_t disk_bytes(std::uint64_t file_bytes);

// The account of the directory between two full scans. Never less than the actual usage, because a file counts before
// it is published; except for files put there by hand and for account updates lost in a power failure. The bytes are
// described in FORMAT.md.
struct Usage {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  std::int64_t newest_stamp = 0;  // stamps never decrease, even if the clock is set back
  std::int64_t looked_unix_ns = 0;
  std::uint64_t admitted = 0;  // files ever admitted, and their bytes
  std::uint64_t admitted_bytes = 0;
  std::uint64_t admitted_at_look = 0;

  friend bool operator==(const Usage&, const Usage&) = default;
};
std::string serialize(const Usage& usage);
std::optional<Usage> parse_usage(std::string_view bytes);

// A file of the store in the directory.
struct StoredFile {
  enum class Kind : std::uint8_t { image, failure, staging };
  std::string path;
  Kind kind = Kind::image;
  std::uint64_t bytes = 0;
  std::int64_t stamp = 0;
};

// Thread-safe, and safe with concurrent processes.
class Budget {
 public:
  Budget(DirectoryLayer& layer, const Limits& limits, std::chrono::seconds staging_age, Services& services)
      : layer_(layer), limits_(limits), staging_age_(staging_age), services_(services) {}

  // Counts one more file of `bytes` bytes and calls `place` with its stamp, under the lock of the account, so that the
  // count matches the directory. Other processes wait for that lock (two seconds at most), so `place` is only a rename;
  // slow work is done before, or in make_room. So the directory may exceed its limits by one file; if it already does,
  // some least recently used files are evicted first. Returns 0, the result of `place`, or an errno value: EFBIG for a
  // file larger than the limit.
  int admit(std::uint64_t bytes, const std::function<int(std::int64_t stamp)>& place);

  // Evicts down to the limits after `admit`, in steps between which other processes can take the lock, and sometimes
  // scans everything; returns whether it did. Call it when no caller waits for the file any more.
  bool make_room();
  // Removes abandoned staging files in one folder.
  void sweep(const std::string& folder);

  // Evicts at least `bytes`, if there are that many, because the disk is full. Returns whether anything was removed.
  bool give_back(std::uint64_t bytes);

  // Scans everything now, removes abandoned staging files and evicts down to `limits`. Returns the number of removed
  // files.
  std::size_t tidy(const Limits& limits);

 private:
  class Account;
  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};
  std::vector<StoredFile> look();
  std::vector<StoredFile> look_at_some();
  void look_at(const std::string& folder, std::vector<StoredFile>& files);
  std::size_t sweep(std::vector<StoredFile>& files, std::int64_t now);
  void count(const std::vector<StoredFile>& files, const Usage& before, Usage& usage);
  std::size_t shrink(std::vector<StoredFile>& files, const Limits& to, Usage& usage, std::size_t most);
  bool make_room_once(std::uint64_t newest_bytes, bool* all);
  bool is_as_seen(const StoredFile& file);
  bool remove(const StoredFile& file);
  std::string path() const;

  DirectoryLayer& layer_;
  const Limits limits_;
  const std::chrono::seconds staging_age_;
  Services& services_;
  std::atomic<bool> stuck_{false};
  std::atomic<std::uint64_t> newest_bytes_{kNothing};  // the file that make_room makes room for
};

inline constexpr std::string_view kFailureSuffix = ".failed";
bool is_staging(std::string_view name);
bool is_failure(std::string_view name);

}  // namespace quern::cache

#endif  // QUERN_CACHE_BUDGET_H_
