#include "cache/budget.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "cache/codec.h"
#include "cache/removal.h"

namespace quern::cache {
namespace {

constexpr std::string_view kMagic = "\x89QUERNU\n";
constexpr std::uint32_t kSchema = 1;
constexpr std::size_t kUsageBytes = 72;
constexpr std::uint32_t kFileMode = 0600;
constexpr std::chrono::seconds kLongestWait{2};
constexpr std::uint64_t kAdmittedBetweenLooks = 4096;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBetweenLooks = std::int64_t{24} * 3600 * kSecond;

// What to keep so that a file of `bytes` finds room, and a tenth stays free: not every file that comes shall cost a
// look at all of them.
Limits low_water(const Limits& limits, std::uint64_t bytes) {
  return {std::min(limits.bytes - limits.bytes / 10, limits.bytes - bytes), limits.entries - limits.entries / 10 - 1};
}

std::uint64_t less(std::uint64_t from, std::uint64_t amount) { return from - std::min(from, amount); }

// Whether a file of `bytes` more keeps within the limits.
bool fits(const Usage& usage, std::uint64_t bytes, const Limits& limits) {
  return bytes <= limits.bytes && usage.bytes <= limits.bytes - bytes && usage.entries < limits.entries;
}

}  // namespace

bool is_staging(std::string_view name) { return name.substr(0, kStagingPrefix.size()) == kStagingPrefix; }

bool is_failure(std::string_view name) {
  return name.ends_with(kFailureSuffix) && is_hash(name.substr(0, name.size() - kFailureSuffix.size()));
}

std::string serialize(const Usage& usage) {
  std::string out(kMagic);
  put_number(out, kSchema);
  put_number(out, std::uint32_t{0});
  put_number(out, usage.bytes);
  put_number(out, usage.entries);
  put_number(out, usage.newest_stamp);
  put_number(out, usage.looked_unix_ns);
  put_number(out, usage.admitted);
  put_checksum(out);
  return out;
}

std::optional<Usage> parse_usage(std::string_view bytes) {
  if (bytes.size() != kUsageBytes || bytes.substr(0, kMagic.size()) != kMagic || !checksum_holds(bytes))
    return std::nullopt;
  Reader reader(bytes.substr(kMagic.size()));
  if (reader.number<std::uint32_t>() != kSchema || reader.number<std::uint32_t>() != 0) return std::nullopt;
  Usage usage;
  usage.bytes = reader.number<std::uint64_t>();
  usage.entries = reader.number<std::uint64_t>();
  usage.newest_stamp = reader.number<std::int64_t>();
  usage.looked_unix_ns = reader.number<std::int64_t>();
  usage.admitted = reader.number<std::uint64_t>();
  return usage;
}

// The usage file, locked while it lives. Locks that the file system does not have are done without.
class Budget::Account {
 public:
  // `stuck`: the lock could not be had the last time; then one try must do.
  Account(Services& services, const std::string& path, std::atomic<bool>& stuck)
      : services_(services),
        path_(path),
        file_(services.files, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, kFileMode) {
    error_ = file_.error() != 0 ? file_.error() : lock(stuck);
    if (error_ != 0) services_.failed(cat("cannot lock ", path_, ": ", error_text(error_)));
  }
  ~Account() {
    if (file_.error() == 0) services_.files.unlock(file_.get());
  }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  int error() const { return error_; }

  std::optional<Usage> read() {
    std::string bytes(kUsageBytes, '\0');
    if (read_exactly(services_.files, file_.get(), 0, bytes.size(), bytes.data()) != 0) return std::nullopt;
    return parse_usage(bytes);
  }

  int write(const Usage& usage) {
    const std::string bytes = serialize(usage);
    const long wrote =
        uninterrupted([&] { return services_.files.write_at(file_.get(), bytes.data(), bytes.size(), 0); });
    if (wrote == static_cast<long>(bytes.size())) return 0;
    const int error = wrote < 0 ? error_of(wrote) : ENOSPC;
    services_.failed(cat("cannot write ", path_, ": ", error_text(error)));
    return error;
  }

  // By the clock that stamps new files, which may be another machine's: a clock that is wrong here must not make a file
  // look old that is being written.
  std::int64_t now(const Usage& usage) {
    FileStatus status;
    const bool known = write(usage) == 0 && services_.files.status(file_.get(), &status) == 0;
    return known ? status.modified_ns : services_.files.now_unix_ns();
  }

 private:
  // Who holds it may be stopped, or dead with a child that lives on: then the account is kept without, and the limits
  // hold less exactly until the next look.
  int lock(std::atomic<bool>& stuck) {
    const auto end = std::chrono::steady_clock::now() + (stuck ? std::chrono::seconds{0} : kLongestWait);
    for (std::chrono::milliseconds nap{1};; nap = std::min(2 * nap, std::chrono::milliseconds{16})) {
      const int error = error_of(uninterrupted([&] { return services_.files.try_lock(file_.get()); }));
      if (error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP) return 0;
      if (error != EWOULDBLOCK) {
        stuck = false;
        return error;
      }
      if (std::chrono::steady_clock::now() > end) {
        stuck = true;
        return 0;
      }
      std::this_thread::sleep_for(nap);
    }
  }

  Services& services_;
  const std::string path_;
  OpenFile file_;
  int error_ = 0;
};

std::string Budget::path() const { return cat(layer_.path(), "/", kUsageName); }

int Budget::admit(std::uint64_t bytes, const std::function<int(std::int64_t)>& place) {
  if (!fits({}, bytes, limits_)) return EFBIG;
  Account account(services_, path(), stuck_);
  if (account.error() != 0) return account.error();
  const std::int64_t now = services_.files.now_unix_ns();
  const auto known = account.read();
  Usage usage = known.value_or(Usage{});
  const bool old = apart(now, usage.looked_unix_ns) > kBetweenLooks;
  const bool stale = !known || usage.admitted >= kAdmittedBetweenLooks || old;
  if ((stale || !fits(usage, bytes, limits_)) && !make_room(bytes, account.now(usage), usage)) return EDQUOT;
  usage.bytes += bytes;
  usage.entries += 1;
  usage.admitted += 1;
  usage.newest_stamp = std::max(now, just_after(usage.newest_stamp));
  if (const int error = account.write(usage)) return error;
  return place(usage.newest_stamp);
}

bool Budget::make_room(std::uint64_t bytes, std::int64_t now, Usage& usage) {
  std::vector<StoredFile> files = look();
  sweep(files, now);
  count(files, usage);
  if (!fits(usage, bytes, limits_)) shrink(files, low_water(limits_, bytes), usage);
  return fits(usage, bytes, limits_);
}

std::size_t Budget::tidy(const Limits& limits) {
  Account account(services_, path(), stuck_);
  if (account.error() != 0) return 0;
  Usage usage = account.read().value_or(Usage{});
  std::vector<StoredFile> files = look();
  std::size_t removed = sweep(files, account.now(usage));
  count(files, usage);
  removed += shrink(files, limits, usage);
  account.write(usage);
  return removed;
}

void Budget::count(const std::vector<StoredFile>& files, Usage& usage) {
  usage.bytes = usage.entries = usage.admitted = 0;
  usage.looked_unix_ns = services_.files.now_unix_ns();
  for (const StoredFile& file : files) {
    if (file.kind == StoredFile::Kind::staging) continue;
    usage.bytes += file.bytes;
    usage.entries += 1;
    usage.newest_stamp = std::max(usage.newest_stamp, file.stamp);
  }
}

std::vector<StoredFile> Budget::look() {
  std::vector<StoredFile> files;
  for (const std::string& folder : layer_.folders()) look_at(cat(layer_.path(), "/", folder), files);
  return files;
}

void Budget::look_at(const std::string& folder, std::vector<StoredFile>& files) {
  for (const std::string& name : layer_.names(folder)) {
    StoredFile file;
    file.path = cat(folder, "/", name);
    if (is_staging(name)) {
      file.kind = StoredFile::Kind::staging;
    } else if (is_failure(name)) {
      file.kind = StoredFile::Kind::failure;
    } else if (!is_hash(name) && !is_newer_name(name)) {
      continue;
    }
    FileStatus status;
    if (services_.files.status(file.path, &status) != 0 || status.kind != FileKind::regular) continue;
    file.bytes = status.bytes;
    file.stamp = status.modified_ns;
    files.push_back(std::move(file));
  }
}

bool Budget::remove(const StoredFile& file) {
  const int error = error_of(services_.files.remove(file.path));
  if (error != 0 && error != ENOENT) services_.failed(cat("cannot remove ", file.path, ": ", error_text(error)));
  return error == 0;
}

// To either side: whose clock was ahead left a file from tomorrow.
std::size_t Budget::sweep(const std::vector<StoredFile>& files, std::int64_t now) {
  std::size_t removed = 0;
  for (const StoredFile& file : files) {
    const bool old = apart(now, file.stamp) >= staging_age_.count() * kSecond;
    if (old && file.kind == StoredFile::Kind::staging && remove(file)) ++removed;
  }
  services_.counters.swept += removed;
  return removed;
}

std::size_t Budget::shrink(std::vector<StoredFile>& files, const Limits& to, Usage& usage) {
  std::size_t removed = 0;
  std::sort(files.begin(), files.end(), [](const StoredFile& a, const StoredFile& b) { return a.stamp < b.stamp; });
  for (const StoredFile& file : files) {
    if (usage.bytes <= to.bytes && usage.entries <= to.entries) break;
    if (file.kind == StoredFile::Kind::staging) continue;
    const Removal gone = remove_own(services_, file.path);
    if (gone != Removal::done && gone != Removal::kept) continue;
    usage.bytes = less(usage.bytes, file.bytes);  // what is not the store's own does not count
    usage.entries = less(usage.entries, 1);
    if (gone == Removal::kept) continue;
    services_.files.remove_directory(parent_directory(file.path));  // where it was the last one
    services_.counters.evictions += 1;
    services_.counters.evicted_bytes += file.bytes;
    ++removed;
  }
  return removed;
}

}  // namespace quern::cache
