// How much the written directory may hold, and what goes when it is full.
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

// What a file of so many bytes takes on a disk: whole blocks of 4 KiB, and one for the folder that it lies in.
std::uint64_t disk_bytes(std::uint64_t file_bytes);

// What is known of the directory between two looks at all of it. Never less than there is, but for what others put
// there by hand and for what a loss of power took from the account: a file counts from before it is published. The
// bytes are described in FORMAT.md.
struct Usage {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  std::int64_t newest_stamp = 0;  // no stamp is older than the one before, even when the clock is set back
  std::int64_t looked_unix_ns = 0;
  std::uint64_t admitted = 0;  // files that ever came, and their bytes
  std::uint64_t admitted_bytes = 0;
  std::uint64_t admitted_at_look = 0;

  friend bool operator==(const Usage&, const Usage&) = default;
};
std::string serialize(const Usage& usage);
std::optional<Usage> parse_usage(std::string_view bytes);

// A file in the directory that is the store's own.
struct StoredFile {
  enum class Kind : std::uint8_t { image, failure, staging };
  std::string path;
  Kind kind = Kind::image;
  std::uint64_t bytes = 0;
  std::int64_t stamp = 0;
};

// Thread-safe, and safe beside other processes.
class Budget {
 public:
  Budget(DirectoryLayer& layer, const Limits& limits, std::chrono::seconds staging_age, Services& services)
      : layer_(layer), limits_(limits), staging_age_(staging_age), services_(services) {}

  // Counts one more file of a size of `bytes`, and calls `place` with the stamp that the file shall bear. Other
  // processes wait meanwhile (two seconds at most), so that what was counted is what is there: `place` is a rename, and
  // what takes long is done before, or by make_room. So there may be one file more than the limits allow, and where
  // there is already, some that were not used for long go first. 0, what `place` returns, or the errno value of what
  // stands in the way: EFBIG for a file that is larger than all that may be kept.
  int admit(std::uint64_t bytes, const std::function<int(std::int64_t stamp)>& place);

  // Brings what `admit` let in back to the limits, in steps that other processes need not wait for, and now and then
  // looks at everything: whether it did now. To be called when nobody waits for the file any more.
  bool make_room();
  // Removes staging files that were left behind in one folder.
  void sweep(const std::string& folder);

  // Removes at least `bytes`, if so much is there, of what was not used for longest: the disk is full. Whether anything
  // went.
  bool give_back(std::uint64_t bytes);

  // Looks at everything now, removes staging files that were left behind and what is beyond `limits`. How many files
  // went.
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
  std::atomic<std::uint64_t> newest_bytes_{kNothing};  // of the file after which room is to be made
};

inline constexpr std::string_view kFailureSuffix = ".failed";
bool is_staging(std::string_view name);
bool is_failure(std::string_view name);

}  // namespace quern::cache

#endif  // QUERN_CACHE_BUDGET_H_
