#include "cache/disk_store.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "cache/trust.h"

namespace quern::cache {
namespace {

constexpr std::uint32_t kDirectoryMode = 0700;
constexpr std::uint32_t kFileMode = 0600;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  // more than any image; a bound for what is read
constexpr std::size_t kHashDigits = 2 * sizeof(Hash128::bytes);

bool is_hash(std::string_view name) {
  return name.size() == kHashDigits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_staging(std::string_view name) { return name.substr(0, kStagingPrefix.size()) == kStagingPrefix; }

bool is_item_key(std::string_view key) {
  return key.size() == 2 * kHashDigits + 1 && is_hash(key.substr(0, kHashDigits)) && key[kHashDigits] == '/' &&
         is_hash(key.substr(kHashDigits + 1));
}

// Absolute, so that a host that changes its directory keeps its cache; without an end that would follow a link.
std::string clean(const std::string& dir) {
  if (dir.empty()) return dir;
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(dir, failed);
  std::string path = failed ? dir : absolute.string();
  while (path.size() > 1 && (path.ends_with('/') || path.ends_with("/."))) path.pop_back();
  return path;
}

bool newer(const Entry& left, const Entry& right) {
  return std::tie(left.compiler_order, left.created_unix_ns) > std::tie(right.compiler_order, right.created_unix_ns);
}

}  // namespace

DiskStore::DiskStore(const std::string& dir, bool writable, CacheMatch match, const Log& log, FileSystem& files,
                     AtomicCounters& counters)
    : dir_(clean(dir)), writable_(writable), match_(match), log_(log), files_(files), counters_(counters) {}

// ---- the directory

DiskStore::Access DiskStore::access() {
  if (opened_.load(std::memory_order_acquire)) return access_;
  const std::lock_guard lock(opening_);
  if (!opened_.load(std::memory_order_relaxed)) open();
  opened_.store(true, std::memory_order_release);
  return access_;
}

std::string DiskStore::unusable() {
  access();
  return unusable_;
}

void DiskStore::open() {
  if (dir_.empty()) return refuse("no cache directory is known (QUERN_CACHE_DIR, XDG_CACHE_HOME and HOME are unset)");
  FileStatus status;
  if (const int error = open_directory(&status)) return refuse(cat(dir_, ": ", error_text(error)));
  const std::string why = why_untrusted(status, FileKind::directory, files_.user());
  if (!why.empty()) return refuse(cat(dir_, ": ", why));
  access_ = Access::read;
  if (!writable_) return;
  if (const int error = files_.can_write(dir_)) return refuse(cat(dir_, ": not writable: ", error_text(error)));
  access_ = Access::write;
}

int DiskStore::open_directory(FileStatus* status) {
  int error = files_.status(dir_, status);
  if (error != ENOENT || !writable_) return error;
  error = make_directories(files_, dir_, kDirectoryMode);
  return error != 0 ? error : files_.status(dir_, status);
}

void DiskStore::refuse(const std::string& why) {
  unusable_ = why;
  ++counters_.failures;
  const char* kept =
      access_ == Access::none ? "images are kept in memory only: " : "new images are kept in memory only: ";
  log_.warning(cat(kept, why));
}

// The first is worth a warning (a full disk, say), the others would be noise.
void DiskStore::failed(const std::string& why) {
  ++counters_.failures;
  log_.write(warned_.exchange(true) ? LogLevel::debug : LogLevel::warning, cat("cache: ", why));
}

bool DiskStore::folder_is_ours(const std::string& folder) {
  FileStatus status;
  const int error = files_.status(folder, &status);
  if (error == ENOENT) return false;
  Reading reading;
  reading.oddity = error != 0 ? Oddity::unreadable : Oddity::untrusted;
  reading.why = error != 0 ? error_text(error) : why_untrusted(status, FileKind::directory, files_.user());
  if (!reading.why.empty()) pass_over(folder, reading);
  return reading.why.empty();
}

// ---- reading

DiskStore::Reading DiskStore::read(const std::string& path) {
  std::string bytes;
  FileStatus status;
  const int error = files_.read(path, kMostBytes, &bytes, &status);
  if (error == 0) return read_trusted(bytes, status);
  Reading reading;
  if (error == ELOOP || error == EINVAL) reading.oddity = Oddity::untrusted;
  if (error == EFBIG) reading.oddity = Oddity::damaged;
  if (reading.oddity == Oddity::absent && error != ENOENT) reading.oddity = Oddity::unreadable;
  reading.why = error_text(error);
  return reading;
}

DiskStore::Reading DiskStore::read_trusted(std::string_view bytes, const FileStatus& status) const {
  Reading reading;
  reading.bytes = bytes.size();
  reading.oddity = Oddity::untrusted;
  reading.why = why_untrusted(status, FileKind::regular, files_.user());
  if (!reading.why.empty()) return reading;
  reading.oddity = Oddity::damaged;
  reading.entry = parse(bytes, &reading.why);
  return reading;
}

void DiskStore::pass_over(const std::string& path, const Reading& reading) {
  if (reading.oddity == Oddity::absent) return;
  std::atomic<std::uint64_t>* const counters[] = {nullptr, &counters_.unreadable, &counters_.untrusted,
                                                  &counters_.damaged, &counters_.foreign};
  ++*counters[static_cast<int>(reading.oddity)];
  if (reading.oddity == Oddity::unreadable) ++counters_.failures;
  log_.info(cat("cache: passed over ", path, ": ", reading.why));
}

// The entry at `path` if it is for `what` and, where that is not null, made by `who`.
std::shared_ptr<const Entry> DiskStore::read_for(const std::string& path, const std::string& what,
                                                 const std::string* who) {
  Reading reading = read(path);
  if (reading.entry && (reading.entry->what != what || (who != nullptr && reading.entry->who != *who))) {
    reading.entry.reset();
    reading.oddity = Oddity::foreign;
    reading.why = "holds another key's entry";
  }
  if (reading.entry) return std::make_shared<const Entry>(*std::move(reading.entry));
  pass_over(path, reading);
  return nullptr;
}

std::shared_ptr<const Entry> DiskStore::find(const Key& key) {
  if (access() == Access::none) return nullptr;
  auto entry = look_up(key);
  ++(entry ? counters_.disk_hits : counters_.disk_misses);
  return entry;
}

std::shared_ptr<const Entry> DiskStore::look_up(const Key& key) {
  const std::string folder = cat(dir_, "/", key.what_hash.hex());
  if (!folder_is_ours(folder)) return nullptr;
  if (!key.who.empty()) {
    if (auto exact = read_for(cat(dir_, "/", key.path()), key.what, &key.who)) return exact;
  }
  return match_ == CacheMatch::exact ? nullptr : find_match(folder, key);
}

// The newest compiler's among those that may serve.
std::shared_ptr<const Entry> DiskStore::find_match(const std::string& folder, const Key& key) {
  std::shared_ptr<const Entry> best;
  for (const std::string& name : names(folder)) {
    if (!is_hash(name) || name == key.who_hash.hex()) continue;
    auto entry = read_for(cat(folder, "/", name), key.what, nullptr);
    const bool serves = entry && (match_ == CacheMatch::any || entry->prewarmed);
    if (serves && (!best || newer(*entry, *best))) best = std::move(entry);
  }
  return best;
}

// Sorted, so that a tie falls the same way everywhere.
std::vector<std::string> DiskStore::names(const std::string& directory) {
  std::vector<std::string> found;
  const int error = files_.list(directory, &found);
  if (error != 0 && error != ENOENT) failed(cat("cannot list ", directory, ": ", error_text(error)));
  std::sort(found.begin(), found.end());
  return found;
}

// ---- writing

void DiskStore::put(const Key& key, const Entry& entry) {
  if (key.who.empty() || access() != Access::write) return;
  const std::string folder = cat(dir_, "/", key.what_hash.hex());
  const std::string bytes = serialize(entry);
  std::string why;
  int error = ENOENT;
  // Twice: another process that clears the store may take the folder away in between.
  for (int attempt = 0; attempt < 2 && error == ENOENT; ++attempt) {
    if (!make_folder(folder)) return;
    write_file_atomically(files_, cat(dir_, "/", key.path()), bytes, kFileMode, &why, &error);
  }
  if (error != 0) failed(why);
}

bool DiskStore::make_folder(const std::string& folder) {
  int error = files_.make_directory(folder, kDirectoryMode);
  if (error == EEXIST) return folder_is_ours(folder);
  if (error == 0) error = files_.sync_directory(dir_);
  if (error != 0) failed(cat("cannot make ", folder, ": ", error_text(error)));
  return error == 0;
}

void DiskStore::remove(const Key& key, const Entry* served) {
  if (access() != Access::write) return;
  const std::string folder = cat(dir_, "/", key.what_hash.hex(), "/");
  if (!key.who.empty()) remove_file(folder + key.who_hash.hex());
  if (served != nullptr && served->who != key.who) remove_file(folder + hash128(served->who).hex());
}

bool DiskStore::remove_file(const std::string& path) {
  const int error = files_.remove(path);
  if (error != 0 && error != ENOENT) failed(cat("cannot remove ", path, ": ", error_text(error)));
  return error == 0;
}

// ---- for the command line

std::vector<std::string> DiskStore::folders() {
  std::vector<std::string> found;
  if (access() == Access::none) return found;
  for (const std::string& name : names(dir_)) {
    if (is_hash(name) && folder_is_ours(cat(dir_, "/", name))) found.push_back(name);
  }
  return found;
}

std::vector<Item> DiskStore::list() {
  std::vector<Item> items;
  for (const std::string& folder : folders()) {
    for (const std::string& name : names(cat(dir_, "/", folder))) {
      if (is_hash(name)) items.push_back(item(cat(folder, "/", name)));
    }
  }
  return items;
}

Item DiskStore::item(const std::string& key) {
  Item item;
  item.key = key;
  item.path = cat(dir_, "/", key);
  Reading reading = read(item.path);
  item.bytes = reading.bytes;
  item.damage = reading.why;
  if (!reading.entry) return item;
  Entry& entry = *reading.entry;
  if (key != cat(hash128(entry.what).hex(), "/", hash128(entry.who).hex())) item.damage = "holds another key's entry";
  item.created_unix_ns = entry.created_unix_ns;
  item.prewarmed = entry.prewarmed;
  item.compiler = std::move(entry.compiler);
  item.kernel = std::move(entry.kernel);
  item.what = std::move(entry.what);
  item.who = std::move(entry.who);
  return item;
}

std::shared_ptr<const Entry> DiskStore::load(const std::string& item_key, std::string* why_not) {
  Reading reading;
  if (!is_item_key(item_key)) {
    reading.why = "not a key: two times 32 hexadecimal digits with a slash between them";
  } else if (access() == Access::none) {
    reading.why = unusable_;
  } else {
    reading = read(cat(dir_, "/", item_key));
  }
  if (reading.entry) return std::make_shared<const Entry>(*std::move(reading.entry));
  if (why_not != nullptr) *why_not = reading.why;
  return nullptr;
}

std::size_t DiskStore::clear() {
  std::size_t removed = 0;
  if (access() != Access::write) return removed;
  for (const std::string& folder : folders()) removed += clear_folder(cat(dir_, "/", folder));
  return removed;
}

std::size_t DiskStore::clear_folder(const std::string& folder) {
  std::size_t removed = 0;
  for (const std::string& name : names(folder)) {
    if (!is_hash(name) && !is_staging(name)) continue;
    if (remove_file(cat(folder, "/", name)) && is_hash(name)) ++removed;
  }
  const int error = files_.remove_directory(folder);
  const bool in_use = error == ENOTEMPTY || error == EEXIST;  // a file that is not ours, or a new entry
  if (error != 0 && error != ENOENT && !in_use) failed(cat("cannot remove ", folder, ": ", error_text(error)));
  return removed;
}

}  // namespace quern::cache
