#include "cache/budget.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "cache/codec.h"
#include "cache/modes.h"
#include "cache/removal.h"

namespace quern::cache {
namespace {

constexpr std::string_view kUsageMagic = "\x89QUERNU\n";
constexpr std::uint32_t kUsageSchema = 2;
constexpr std::size_t kUsageBytes = 88;
constexpr std::chrono::seconds kLongestWait{2};
constexpr std::uint64_t kAdmittedBetweenLooks = 4096;
constexpr std::int64_t kBetweenLooks = kSecond * 3600 * 24;

// One eviction step scans and removes this much, so that another writer waits for it only briefly: a scan of 100,000
// files takes seconds. Folders are named by hashes, so consecutive ones are a random sample.
constexpr std::size_t kFoldersInAStep = 512;
constexpr std::size_t kRemovedInAStep = 64;
constexpr int kMostSteps = 16;  // per write; lowered limits are reached over several writes

// Eviction keeps a tenth free, so that not every new file triggers it. The newest file always fits.
Limits low_water(const Limits& limits, std::uint64_t newest_bytes) {
  return {std::max(limits.bytes - limits.bytes / 10, newest_bytes), limits.entries - limits.entries / 10};
}

std::uint64_t less(std::uint64_t from, std::uint64_t amount) { return from - std::min(from, amount); }

// Staging files count too: they may never be renamed.
std::uint64_t bytes_of(const std::vector<StoredFile>& files) {
  std::uint64_t bytes = 0;
  for (const StoredFile& file : files) bytes += disk_bytes(file.bytes);
  return bytes;
}

bool over(const Usage& usage, const Limits& limits) {
  return usage.bytes > limits.bytes || usage.entries > limits.entries;
}

// Whether a full scan is due.
bool is_stale(const Usage& usage, std::int64_t now) {
  return less(usage.admitted, usage.admitted_at_look) >= kAdmittedBetweenLooks ||
         apart(now, usage.looked_unix_ns) > kBetweenLooks;
}

}  // namespace

std::uint64_t disk_bytes(std::uint64_t file_bytes) {
  constexpr std::uint64_t kBlock = 4096;
  return (file_bytes / kBlock + (file_bytes % kBlock != 0 ? 1 : 0) + 1) * kBlock;
}

bool is_staging(std::string_view name) { return name.substr(0, kStagingPrefix.size()) == kStagingPrefix; }

bool is_failure(std::string_view name) {
  return name.ends_with(kFailureSuffix) && is_hash(name.substr(0, name.size() - kFailureSuffix.size()));
}

std::string serialize(const Usage& usage) {
  std::string out(kUsageMagic);
  put_number(out, kUsageSchema);
  put_number(out, std::uint32_t{0});
  put_number(out, usage.bytes);
  put_number(out, usage.entries);
  put_number(out, usage.newest_stamp);
  put_number(out, usage.looked_unix_ns);
  put_number(out, usage.admitted);
  put_number(out, usage.admitted_bytes);
  put_number(out, usage.admitted_at_look);
  put_checksum(out);
  return out;
}

std::optional<Usage> parse_usage(std::string_view bytes) {
  if (bytes.size() != kUsageBytes || bytes.substr(0, kUsageMagic.size()) != kUsageMagic || !checksum_holds(bytes))
    return std::nullopt;
  Reader reader(bytes.substr(kUsageMagic.size()));
  if (reader.number<std::uint32_t>() != kUsageSchema || reader.number<std::uint32_t>() != 0) return std::nullopt;
  Usage usage;
  usage.bytes = reader.number<std::uint64_t>();
  usage.entries = reader.number<std::uint64_t>();
  usage.newest_stamp = reader.number<std::int64_t>();
  usage.looked_unix_ns = reader.number<std::int64_t>();
  usage.admitted = reader.number<std::uint64_t>();
  usage.admitted_bytes = reader.number<std::uint64_t>();
  usage.admitted_at_look = reader.number<std::uint64_t>();
  return usage;
}

// The usage file, locked during the lifetime of this object. Works without the lock if the file system has no locks.
class Budget::Account {
 public:
  // `stuck`: the last attempt to lock timed out; then only one attempt is made.
  Account(Services& services, const std::string& path, std::atomic<bool>& stuck) : services_(services), path_(path) {
    open();
    if (leads_elsewhere_too() && error_of(services_.files.remove(path_)) == 0) open();
    error_ = file_->error() != 0 ? file_->error() : lock(stuck);
    if (error_ != 0) services_.failed(cat("cannot lock ", path_, ": ", error_text(error_)));
  }
  ~Account() {
    if (file_->error() == 0) services_.files.unlock(file_->get());
  }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  int error() const { return error_; }

  std::optional<Usage> read() {
    std::string bytes(kUsageBytes, '\0');
    if (read_exactly(services_.files, file_->get(), 0, bytes.size(), bytes.data()) != 0) return std::nullopt;
    return parse_usage(bytes);
  }

  int write(const Usage& usage) {
    const int error = write_exactly(services_.files, file_->get(), 0, serialize(usage));
    if (error != 0) services_.failed(cat("cannot write ", path_, ": ", error_text(error)));
    return error;
  }

  // By the clock that stamps new files, which may be another machine's: a wrong local clock must not make a file that
  // is being written look old.
  std::int64_t now(const Usage& usage) {
    FileStatus status;
    const bool known = write(usage) == 0 && services_.files.status(file_->get(), &status) == 0;
    return known ? status.modified_ns : services_.files.now_unix_ns();
  }

 private:
  void open() { file_.emplace(services_.files, path_, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, kFileMode); }

  // The usage file is written in place, so a hard link to it would have its bytes overwritten.
  bool leads_elsewhere_too() {
    FileStatus status;
    return file_->error() == 0 && services_.files.status(file_->get(), &status) == 0 && status.links > 1;
  }

  // The owner of the lock may be stopped, or dead with a child that inherited the lock. Then the account is kept
  // without the lock, and the limits are less exact until the next scan.
  int lock(std::atomic<bool>& stuck) {
    const auto end = std::chrono::steady_clock::now() + (stuck ? std::chrono::seconds{0} : kLongestWait);
    for (std::chrono::milliseconds nap{1};; nap = std::min(2 * nap, std::chrono::milliseconds{16})) {
      const int error = error_of(uninterrupted([&] { return services_.files.try_lock(file_->get()); }));
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
  std::optional<OpenFile> file_;
  int error_ = 0;
};

std::string Budget::path() const { return cat(layer_.path(), "/", kUsageName); }

int Budget::admit(std::uint64_t bytes, const std::function<int(std::int64_t)>& place) {
  const std::uint64_t takes = disk_bytes(bytes);
  if (takes > limits_.bytes || limits_.entries == 0) return EFBIG;
  Account account(services_, path(), stuck_);
  if (account.error() != 0) return account.error();
  const std::int64_t now = services_.files.now_unix_ns();
  Usage usage = account.read().value_or(Usage{});
  if (over(usage, limits_)) {  // an earlier writer has yet to make room, or died before that
    std::vector<StoredFile> files = look_at_some();
    shrink(files, low_water(limits_, 0), usage, kRemovedInAStep);
  }
  usage.bytes += takes;
  usage.entries += 1;
  usage.admitted += 1;
  usage.admitted_bytes += takes;
  usage.newest_stamp = is_ahead(usage.newest_stamp, now) ? now : std::max(now, just_after(usage.newest_stamp));
  if (const int error = account.write(usage)) return error;
  if (over(usage, limits_) || is_stale(usage, now)) newest_bytes_.store(takes);
  return place(usage.newest_stamp);
}

bool Budget::make_room() {
  bool all = false;
  const std::uint64_t newest_bytes = newest_bytes_.exchange(kNothing);
  if (newest_bytes == kNothing) return all;
  for (int steps = 0; steps < kMostSteps && make_room_once(newest_bytes, &all); ++steps) {
  }
  return all;
}

bool Budget::make_room_once(std::uint64_t newest_bytes, bool* looked_at_all) {
  Usage before;
  {
    Account account(services_, path(), stuck_);
    if (account.error() != 0) return false;
    before = account.read().value_or(Usage{});
  }
  const bool all = is_stale(before, services_.files.now_unix_ns());
  if (!all && !over(before, limits_)) return false;
  std::vector<StoredFile> files = all ? look() : look_at_some();
  Account account(services_, path(), stuck_);
  if (account.error() != 0) return false;
  Usage usage = account.read().value_or(before);
  sweep(files, account.now(usage));
  if (all) count(files, before, usage);
  *looked_at_all = *looked_at_all || all;
  const std::size_t removed =
      over(usage, limits_) ? shrink(files, low_water(limits_, newest_bytes), usage, kRemovedInAStep) : 0;
  account.write(usage);
  return removed > 0 && over(usage, limits_);
}

bool Budget::give_back(std::uint64_t bytes) {
  Account account(services_, path(), stuck_);
  if (account.error() != 0) return false;
  Usage usage = account.read().value_or(Usage{});
  std::vector<StoredFile> files = look_at_some();
  usage.bytes = std::max(usage.bytes, bytes_of(files));
  const bool some = shrink(files, {less(usage.bytes, disk_bytes(bytes)), usage.entries}, usage, kRemovedInAStep) > 0;
  account.write(usage);
  return some;
}

std::size_t Budget::tidy(const Limits& limits) {
  Account account(services_, path(), stuck_);
  if (account.error() != 0) return 0;
  Usage usage = account.read().value_or(Usage{});
  std::vector<StoredFile> files = look();
  std::size_t removed = sweep(files, account.now(usage));
  count(files, usage, usage);
  removed += shrink(files, limits, usage, files.size());
  account.write(usage);
  return removed;
}

// Files that arrived during the scan count too, seen or not: `before` is from its start, `usage` from now.
void Budget::count(const std::vector<StoredFile>& files, const Usage& before, Usage& usage) {
  usage.bytes = bytes_of(files) + less(usage.admitted_bytes, before.admitted_bytes);
  usage.entries = less(usage.admitted, before.admitted);
  usage.admitted_at_look = usage.admitted;
  const std::int64_t now = usage.looked_unix_ns = services_.files.now_unix_ns();
  if (is_ahead(usage.newest_stamp, now)) usage.newest_stamp = now;
  for (const StoredFile& file : files) {
    if (file.kind == StoredFile::Kind::staging) continue;
    usage.entries += 1;
    if (!is_ahead(file.stamp, now)) usage.newest_stamp = std::max(usage.newest_stamp, file.stamp);
  }
}

std::vector<StoredFile> Budget::look() {
  std::vector<StoredFile> files;
  for (const std::string& folder : layer_.folders()) look_at(cat(layer_.path(), "/", folder), files);
  return files;
}

std::vector<StoredFile> Budget::look_at_some() {
  std::vector<StoredFile> files;
  std::vector<std::string> folders = layer_.names(layer_.path());
  std::erase_if(folders, [](const std::string& name) { return !is_hash(name); });
  if (folders.empty()) return files;
  const std::int64_t now = services_.files.now_unix_ns();
  const std::size_t begin = hash64(&now, sizeof now) % folders.size();
  for (std::size_t i = 0; i < std::min(folders.size(), kFoldersInAStep); ++i) {
    const std::string folder = cat(layer_.path(), "/", folders[(begin + i) % folders.size()]);
    if (layer_.is_trusted(folder, FileKind::directory)) look_at(folder, files);
  }
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

// Files are scanned without the lock: one may have been used since, or replaced by one of another size.
bool Budget::is_as_seen(const StoredFile& file) {
  FileStatus status;
  return services_.files.status(file.path, &status) == 0 && status.bytes == file.bytes &&
         status.modified_ns == file.stamp;
}

bool Budget::remove(const StoredFile& file) {
  const int error = error_of(services_.files.remove(file.path));
  if (error != 0 && error != ENOENT) services_.failed(cat("cannot remove ", file.path, ": ", error_text(error)));
  return error == 0;
}

// In either direction: a clock that was ahead leaves files from the future.
std::size_t Budget::sweep(std::vector<StoredFile>& files, std::int64_t now) {
  const std::size_t removed = std::erase_if(files, [&](const StoredFile& file) {
    const bool old = apart(now, file.stamp) >= staging_age_.count() * kSecond;
    return old && file.kind == StoredFile::Kind::staging && remove(file);
  });
  services_.counters.swept += removed;
  return removed;
}

void Budget::sweep(const std::string& folder) {
  std::vector<StoredFile> files;
  look_at(folder, files);
  FileStatus account;  // just written, by the clock that stamps new files
  if (services_.files.status(path(), &account) == 0) sweep(files, account.modified_ns);
}

// LRU: the least recently used go first. A stamp from the future counts as oldest: any use since the clock was
// corrected would have corrected the stamp.
std::size_t Budget::shrink(std::vector<StoredFile>& files, const Limits& to, Usage& usage, std::size_t most) {
  std::size_t removed = 0;
  const std::int64_t now = services_.files.now_unix_ns();
  const auto use = [&](const StoredFile& file) { return std::pair(!is_ahead(file.stamp, now), file.stamp); };
  std::sort(files.begin(), files.end(), [&](const StoredFile& a, const StoredFile& b) { return use(a) < use(b); });
  for (const StoredFile& file : files) {
    if (removed == most || !over(usage, to)) break;
    if (file.kind == StoredFile::Kind::staging || !is_as_seen(file)) continue;
    const Removal gone = remove_own(services_, file.path);
    if (gone != Removal::done && gone != Removal::kept) continue;
    usage.bytes = less(usage.bytes, disk_bytes(file.bytes));  // a file that the store did not write stops counting
    usage.entries = less(usage.entries, 1);
    if (gone == Removal::kept) continue;
    services_.files.remove_directory(parent_directory(file.path));  // if this was its last file
    services_.counters.evictions += 1;
    services_.counters.evicted_bytes += file.bytes;
    ++removed;
  }
  return removed;
}

}  // namespace quern::cache
