#include "cache/directory_layer.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "cache/modes.h"

namespace quern::cache {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;  // more than any image; an upper bound for reads
constexpr std::size_t kWhole = std::numeric_limits<std::size_t>::max();
// A hit updates the stamp only if it is older than this: one more system call per hour and entry, not one per hit.
constexpr std::int64_t kStampAge = 3600 * kSecond;

// Absolute, so that the cache survives a chdir of the host; without a trailing "/" or "/.", which would follow a link.
std::string clean(const std::string& dir) {
  if (dir.empty()) return dir;
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(dir, failed);
  std::string path = failed ? dir : absolute.string();
  while (path.size() > 1 && (path.ends_with('/') || path.ends_with("/."))) path.pop_back();
  return path;
}

MissReason miss_reason_of(int error) {
  if (error == ENOENT) return MissReason::absent;
  if (error == ELOOP || error == EINVAL) return MissReason::untrusted;
  if (error == ENXIO || error == ENODEV) return MissReason::untrusted;  // a socket or a device
  return error == EFBIG ? MissReason::damaged : MissReason::unreadable;
}

}  // namespace

DirectoryLayer::DirectoryLayer(const std::string& dir, DirectoryRole role, CacheMatch match, const Trust& trust,
                               Services& services)
    : Layer(clean(dir), services),
      role_(role),
      match_(match),
      trust_(role == DirectoryRole::written ? Trust{Trust::Owners::user, {}, trust.owners == Trust::Owners::any}
                                            : trust) {}

// ---- the directory

// The log is written after the lock is released: its sink may call this store.
DirectoryLayer::Access DirectoryLayer::access() {
  if (opened_.load(std::memory_order_acquire)) return access_;
  std::string warning;
  Access found = Access::none;
  {
    const std::lock_guard lock(opening_);
    if (!opened_.load(std::memory_order_relaxed)) warning = open();
    found = access_;
  }
  if (!warning.empty()) services_.log.warning(warning);
  return found;
}

// Returns a warning for a new problem. Transient failures (no free descriptor, a server that is not mounted yet) are
// retried at the next use.
std::string DirectoryLayer::open() {
  bool passing = false;
  unusable_.clear();
  std::string why = look(&passing);
  opened_.store(!passing, std::memory_order_release);
  return why.empty() ? why : refuse(why);
}

std::string DirectoryLayer::look(bool* passing) {
  if (path_.empty() && role_ == DirectoryRole::maybe) return {};
  if (path_.empty())
    return "no cache directory is known: QUERN_CACHE_DIR, XDG_CACHE_HOME and HOME are unset, or HOME is another user's "
           "and this is root; set QUERN_CACHE_DIR";
  FileStatus status;
  const int error = open_directory(&status);
  if (error == ENOENT && role_ == DirectoryRole::maybe) return {};
  *passing = may_pass(error);
  if (error != 0) return cat(path_, ": ", error_text(error));
  int denied = 0;
  std::string why = why_not_trusted(status, &denied);
  *passing = may_pass(denied);
  if (!why.empty()) return why;
  access_ = Access::read;
  if (role_ != DirectoryRole::written) return {};
  denied = error_of(services_.files.can_write(path_));
  *passing = may_pass(denied);
  if (denied != 0) return cat(path_, ": not writable: ", error_text(denied));
  access_ = Access::write;
  return {};
}

int DirectoryLayer::open_directory(FileStatus* status) {
  const int error = error_of(services_.files.status(path_, status));
  if (error != ENOENT || role_ != DirectoryRole::written) return error;
  const int made = make_directories(services_.files, path_, kDirectoryMode);
  return made != 0 ? made : error_of(services_.files.status(path_, status));
}

std::string DirectoryLayer::why_not_trusted(const FileStatus& status, int* error) {
  const std::string why = why_untrusted(status, FileKind::directory, trust_, services_.files.user());
  if (!why.empty()) return cat(path_, ": ", why);
  return role_ == DirectoryRole::written ? std::string() : why_path_untrusted(services_.files, path_, trust_, error);
}

std::string DirectoryLayer::refuse(const std::string& why) {
  unusable_ = why;
  if (std::exchange(refused_, true)) return {};
  ++services_.counters.refused;
  if (role_ == DirectoryRole::shipped) return cat("a cache layer is not used: ", why);
  return cat(access_ == Access::none ? "images are kept in memory only: " : "new images are kept in memory only: ",
             why);
}

LayerReport DirectoryLayer::report() {
  access();
  const std::lock_guard lock(opening_);
  return {path_, "directory", access_ == Access::write, hits_, unusable_};
}

std::string DirectoryLayer::folder_of(const Key& key) const { return cat(path_, "/", key.what_hash.hex()); }
std::string DirectoryLayer::entry_path(const Key& key) const { return cat(path_, "/", key.path()); }

Reading DirectoryLayer::examine(const std::string& path, FileKind kind) {
  FileStatus status;
  Reading reading;
  const int error = error_of(services_.files.status(path, &status));
  if (error == ENOENT) return reading;
  reading.why = error != 0 ? error_text(error) : why_untrusted(status, kind, trust_, services_.files.user());
  reading.miss = error != 0 ? MissReason::unreadable : reading.why.empty() ? MissReason::none : MissReason::untrusted;
  note_skipped(path, reading);
  return reading;
}

// One warning in all: a directory restored with another umask would give one per image.
void DirectoryLayer::on_untrusted(const std::string& path, const std::string& why) {
  if (warned_of_untrusted_.exchange(true)) return;
  services_.log.warning(cat("cache: ", path, " is not used: ", why, "; `quern cache verify` lists all such files, ",
                            untrusted_remedy(path_, role_ != DirectoryRole::shipped)));
}

std::vector<std::string> DirectoryLayer::names(const std::string& directory) {
  std::vector<std::string> found;
  const int error = error_of(services_.files.list(directory, &found));
  if (error != 0 && error != ENOENT) services_.failed(cat("cannot list ", directory, ": ", error_text(error)));
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> DirectoryLayer::folders() {
  std::vector<std::string> found;
  if (!readable()) return found;
  for (const std::string& name : names(path_)) {
    if (is_hash(name) && is_trusted(cat(path_, "/", name), FileKind::directory)) found.push_back(name);
  }
  return found;
}

// ---- reading

Reading DirectoryLayer::read_other(const std::string& path, std::string* bytes) {
  return read_bytes(path, kWhole, bytes);
}

Reading DirectoryLayer::read_bytes(const std::string& path, std::size_t most, std::string* bytes) {
  FileStatus status;
  Reading reading;
  FileSystem& files = services_.files;
  if (const int error = most == kWhole ? read_whole(files, path, kMostBytes, bytes, &status)
                                       : read_beginning(files, path, most, bytes, &status)) {
    reading.miss = miss_reason_of(error);
    reading.why = error_text(error);
    if (reading.miss == MissReason::untrusted && files.status(path, &status) == 0)
      reading.why = why_untrusted(status, FileKind::regular, trust_, services_.files.user());
    return reading;
  }
  reading.bytes = most == kWhole ? bytes->size() : status.bytes;
  reading.modified_ns = status.modified_ns;
  reading.owner = status.owner;
  reading.why = why_untrusted(status, FileKind::regular, trust_, services_.files.user());
  reading.miss = reading.why.empty() ? MissReason::none : MissReason::untrusted;
  return reading;
}

Reading DirectoryLayer::read(const std::string& path, Check check) {
  if (check == Check::header)
    return if_trusted(
        read_description([&](std::size_t most, std::string* bytes) { return read_bytes(path, most, bytes); }), trust_,
        services_.files.user());
  std::string bytes;
  Reading reading = read_other(path, &bytes);
  if (reading.miss != MissReason::none) return reading;
  parse_into(reading, bytes);
  return if_trusted(std::move(reading), trust_, services_.files.user());
}

EntryPointer DirectoryLayer::read_for(const std::string& path, const Wanted& wanted, std::int64_t* modified_ns) {
  Reading reading = read(path);
  *modified_ns = reading.modified_ns;
  return accept(path, std::move(reading), wanted);
}

// Updates the stamp for LRU eviction. The stamp is the file's modification time, which only the store sets; access
// times are unreliable. A stamp from a clock that was ahead is corrected.
void DirectoryLayer::stamp(const std::string& path, std::int64_t modified_ns) {
  const std::int64_t now = services_.files.now_unix_ns();
  const bool recent = elapsed(modified_ns, now) < kStampAge && !is_ahead(modified_ns, now);
  if (role_ != DirectoryRole::written || recent) return;
  const int error = error_of(services_.files.set_modified(path, now));
  if (error != 0 && error != ENOENT) services_.failed(cat("cannot stamp ", path, ": ", error_text(error)));
}

EntryPointer DirectoryLayer::find_exact(const Key& key, const Rejected& rejected) {
  if (!readable() || !is_trusted(folder_of(key), FileKind::directory)) return nullptr;
  std::int64_t modified_ns = 0;
  EntryPointer entry = read_for(entry_path(key), {key.what, &key.who, rejected}, &modified_ns);
  if (entry) stamp(entry_path(key), modified_ns);
  return entry;
}

bool DirectoryLayer::serves(const Entry& entry) const {
  return match_ == CacheMatch::any || role_ == DirectoryRole::shipped || entry.prewarmed;
}

// Newest compiler first. Sets `others` if there is an entry that must not serve this key.
std::vector<std::string> DirectoryLayer::newest_first(const std::vector<std::string>& paths, const Wanted& wanted,
                                                      bool* others) {
  std::vector<std::pair<Entry, std::string>> candidates;
  for (const std::string& path : paths) {
    Reading reading = read(path, Check::header);
    expect(reading, wanted);
    note_skipped(path, reading);
    if (!reading.entry) continue;
    *others = *others || !serves(*reading.entry);
    if (serves(*reading.entry)) candidates.emplace_back(*std::move(reading.entry), path);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& left, const auto& right) { return newer(left.first, right.first); });
  std::vector<std::string> sorted;
  for (auto& [description, path] : candidates) sorted.push_back(std::move(path));
  return sorted;
}

// Reads one entry whole, and the next one if that is damaged or rejected. If there are several, their headers decide
// the order.
EntryPointer DirectoryLayer::find_match(const Key& key, const Rejected& rejected, bool* others) {
  const std::string folder = folder_of(key);
  if (!readable() || !is_trusted(folder, FileKind::directory)) return nullptr;
  const Wanted wanted{key.what, nullptr, rejected};
  const std::string own = key.who.empty() ? std::string() : key.who_hash.hex();
  std::vector<std::string> paths;
  for (const std::string& name : names(folder)) {
    if (is_hash(name) && name != own) paths.push_back(cat(folder, "/", name));
  }
  if (paths.size() > 1) paths = newest_first(paths, wanted, others);
  for (const std::string& path : paths) {
    std::int64_t modified_ns = 0;
    EntryPointer entry = read_for(path, wanted, &modified_ns);
    if (entry && serves(*entry)) return stamp(path, modified_ns), entry;
    *others = *others || entry != nullptr;
  }
  return nullptr;
}

// ---- for the command line

std::vector<std::string> DirectoryLayer::keys(const std::string& start) {
  std::vector<std::string> found;
  for (const std::string& folder : folders()) {
    const std::size_t same = std::min(start.size(), folder.size());
    if (folder.compare(0, same, start, 0, same) != 0) continue;
    for (const std::string& name : names(cat(path_, "/", folder))) {
      std::string key = cat(folder, "/", name);
      if (is_hash(name) && key.starts_with(start)) found.push_back(std::move(key));
    }
  }
  return found;
}

std::vector<Item> DirectoryLayer::list(Check check) {
  std::vector<Item> items;
  for (const std::string& folder : folders()) {
    for (const std::string& name : names(cat(path_, "/", folder))) {
      const std::string key = cat(folder, "/", name);
      if (!is_hash(name) && !is_newer_name(name)) continue;
      Reading reading = read(cat(path_, "/", key), check);
      const std::int64_t used = role_ == DirectoryRole::written ? reading.modified_ns : 0;
      items.push_back(describe(path_, key, std::move(reading)));
      items.back().used_unix_ns = used;
    }
  }
  return items;
}

std::vector<Item> DirectoryLayer::untrusted() {
  std::vector<Item> items;
  if (!readable()) return items;
  for (const std::string& name : names(path_)) {
    const bool ours = role_ != DirectoryRole::shipped && (name == kUsageName || name == kLeasesName);
    FileStatus status;
    if ((!ours && !is_hash(name)) || services_.files.status(cat(path_, "/", name), &status) != 0) continue;
    Item item;
    item.damage = why_untrusted(status, name == kUsageName ? FileKind::regular : FileKind::directory, trust_,
                                services_.files.user());
    item.key = name;
    item.layer = path_;
    item.untrusted = true;
    if (!item.damage.empty()) items.push_back(std::move(item));
  }
  return items;
}

Reading DirectoryLayer::load(const std::string& item_key) {
  if (readable()) return read(cat(path_, "/", item_key));
  Reading reading;
  reading.why = report().unusable;
  return reading;
}

}  // namespace quern::cache
