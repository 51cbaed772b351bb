#include "cache/writer.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "cache/modes.h"

namespace quern::cache {
namespace {

constexpr int kAttempts = 4;

constexpr std::string_view kTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Compiled GPU kernels of quern, which makes them again where they are missing. See https://bford.info/cachedir\n";

std::string why_no_room(int error) {
  if (error == EFBIG) return "larger than the limits of the cache allow";
  return error_text(error);
}

}  // namespace

Writer::Writer(DirectoryLayer& layer, const WriterSettings& settings, Services& services)
    : layer_(layer),
      settings_(settings),
      services_(services),
      budget_(layer, settings.limits, settings.staging_age, services),
      leases_(cat(layer.path(), "/", kLeasesName), settings.lease, services) {}

std::string Writer::failure_path(const Key& key) const { return cat(layer_.entry_path(key), kFailureSuffix); }

// ---- writing

void Writer::put(const Key& key, const Entry& entry, Sync sync) {
  if (key.who.empty() || !layer_.writable()) return;
  const std::string path = layer_.entry_path(key);
  if (holds_newer(path)) {
    ++services_.counters.not_stored;
    return services_.failed(cat(path, " was made by a later quern and is kept; this image is not stored"));
  }
  store(key, path, serialize(entry), sync);
}

void Writer::put(const Key& key, const Failure& failure) {
  if (key.who.empty() || !layer_.writable()) return;
  store(key, failure_path(key), serialize(failure), Sync::now);
}

void Writer::sync() {
  const long result = layer_.writable() ? services_.files.sync_all(layer_.path()) : 0;
  if (result < 0) services_.failed(cat("cannot sync ", layer_.path(), ": ", error_text(error_of(result))));
}

// If two versions wrote under one name, they would replace each other's images at every launch.
bool Writer::holds_newer(const std::string& path) {
  FileStatus status;
  if (services_.files.status(path, &status) != 0) return false;
  return layer_.read(path).miss == MissReason::newer;
}

void Writer::store(const Key& key, const std::string& path, std::string_view bytes, Sync sync) {
  const std::string folder = layer_.folder_of(key);
  std::string why;
  int error = ENOENT;
  // Retries if another process removed the folder meanwhile (clear, or eviction of its last file), a file server lost
  // track of the new file, a removable directory is in its place, and once if the disk is full and older images can be
  // evicted.
  bool given_back = false;
  const auto again = [&] {
    const bool full = error == ENOSPC || error == EDQUOT;
    return error == ENOENT || passes(-error) || (error == EISDIR && remove_file(path)) ||
           (full && !std::exchange(given_back, true) && budget_.give_back(bytes.size()));
  };
  for (int attempt = 0; attempt < kAttempts && again(); ++attempt) {
    error = make_folder(folder, sync, &why);
    if (error == 0) error = store_once(path, bytes, sync, &why);
  }
  if (error == 0) return budget_.sweep(folder);
  services_.files.remove_directory(folder);  // if it is empty
  ++services_.counters.not_stored;
  services_.failed(why);
}

int Writer::store_once(const std::string& path, std::string_view bytes, Sync sync, std::string* why) {
  StagedFile file(services_.files, path);
  repair(kUsageName, FileKind::regular);
  int error = file.create(kFileMode);
  if (error == 0) error = file.append(bytes);
  if (error == 0) error = sync == Sync::now ? file.finish() : file.close();
  if (error == 0) {
    bool placing = false;
    error = budget_.admit(bytes.size(), [&](std::int64_t stamp) {
      placing = true;
      const int unstamped = error_of(services_.files.set_modified(file.staging(), stamp));
      if (unstamped != 0) services_.failed(cat("cannot stamp ", path, ": ", error_text(unstamped)));
      return file.place();
    });
    if (error != 0 && !placing) {
      *why = cat("no room for ", path, " (", bytes.size(), " bytes): ", why_no_room(error));
      return error;
    }
  }
  if (error == 0) {
    services_.counters.bytes_written += bytes.size();
    if (sync == Sync::now) error = file.settle();
  }
  if (error != 0) *why = file.why_not(error);
  return error;
}

// The directory itself may have been removed since it was opened.
int Writer::make_folder(const std::string& folder, Sync sync, std::string* why) {
  int error = error_of(services_.files.make_directory(folder, kDirectoryMode));
  if (error == ENOENT) {
    error = make_directories(services_.files, layer_.path(), kDirectoryMode);
    if (error == 0) error = error_of(services_.files.make_directory(folder, kDirectoryMode));
  }
  if (error == 0 && sync == Sync::now) error = sync_directory(services_.files, layer_.path());
  if (error == EEXIST) return replace_folder(folder, why);
  if (error != 0) *why = cat("cannot make ", folder, ": ", error_text(error));
  return error;
}

// Returns 0 if a trusted folder exists; ENOENT if there is none, or an untrusted one could be removed, so that a new
// one is created.
int Writer::replace_folder(const std::string& folder, std::string* why) {
  const Reading there = layer_.examine(folder, FileKind::directory);
  if (there.miss == MissReason::none) return 0;
  if (there.miss == MissReason::absent) return ENOENT;
  *why = cat(folder, " is not used: ", there.why);
  if (there.miss == MissReason::unreadable) return EACCES;
  if (clear_place(folder, Bytes::own)) return ENOENT;
  *why += "; it cannot be replaced, because it contains files that quern may not remove: move it elsewhere";
  return EACCES;
}

// Replaces one of the store's own files or folders if it is untrusted.
void Writer::repair(const char* name, FileKind kind) {
  const std::string path = cat(layer_.path(), "/", name);
  if (layer_.examine(path, kind).miss == MissReason::untrusted) clear_place(path, Bytes::own);
}

void Writer::make_room() {
  if (!layer_.writable() || !budget_.make_room()) return;
  leases_.sweep();
  tag();
}

void Writer::tag() {
  const std::string path = cat(layer_.path(), "/", kTagName);
  const OpenFile file(services_.files, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kFileMode);
  if (file.error() == 0) write_all(services_.files, file.get(), kTag);
}

// ---- remembered failures

std::optional<Failure> Writer::read_failure(const std::string& path, std::uint64_t* read_bytes) {
  std::string bytes;
  Reading reading = layer_.read_other(path, &bytes);
  std::optional<Failure> failure;
  if (reading.miss == MissReason::none) {
    failure = parse_failure(bytes, &reading.why);
    if (!failure) reading.miss = MissReason::damaged;
  }
  layer_.note_skipped(path, reading);
  if (!failure) return std::nullopt;
  if (read_bytes != nullptr) *read_bytes = reading.bytes;
  const std::int64_t age = elapsed(failure->created_unix_ns, services_.files.now_unix_ns());
  return age < 0 || age > settings_.failure_age.count() * kSecond ? std::nullopt : failure;
}

std::optional<Failure> Writer::failure(const Key& key) {
  if (key.who.empty() || !layer_.readable()) return std::nullopt;
  auto failure = read_failure(failure_path(key), nullptr);
  return failure && failure->what == key.what && failure->who == key.who ? failure : std::nullopt;
}

// Calls `visit` with the item key and the path.
template <class Visitor>
void Writer::for_each_failure(const Visitor& visit) {
  for (const std::string& folder : layer_.folders()) {
    for (const std::string& name : layer_.names(cat(layer_.path(), "/", folder))) {
      if (!is_failure(name)) continue;
      const std::string key = cat(folder, "/", name.substr(0, name.size() - kFailureSuffix.size()));
      visit(key, cat(layer_.path(), "/", folder, "/", name));
    }
  }
}

std::vector<Item> Writer::failures() {
  std::vector<Item> all;
  for_each_failure([&](const std::string& key, const std::string& path) {
    Item item;
    const auto failure = read_failure(path, &item.bytes);
    if (!failure || key != cat(hash128(failure->what).hex(), "/", hash128(failure->who).hex())) return;
    item.key = key;
    item.layer = layer_.path();
    item.failure = failure->sentence;
    item.created_unix_ns = failure->created_unix_ns;
    item.what = failure->what;
    item.who = failure->who;
    all.push_back(std::move(item));
  });
  return all;
}

void Writer::forget_failure(const Key& key) {
  if (!key.who.empty() && layer_.writable()) remove_file(failure_path(key));
}

std::size_t Writer::forget_failures() {
  std::size_t removed = 0;
  if (!layer_.writable()) return removed;
  for_each_failure([&](const std::string&, const std::string& path) {
    removed += remove_file(path) ? 1 : 0;
    remove_folder(services_, parent_directory(path));
  });
  return removed;
}

// ---- leases

std::unique_ptr<Lease> Writer::lease(const Key& key, const std::function<bool()>& done, const Patience& patience) {
  if (key.who.empty() || !layer_.writable()) return nullptr;
  repair(kLeasesName, FileKind::directory);
  return leases_.take(cat(key.what_hash.hex(), "-", key.who_hash.hex()), done, patience);
}

// ---- removing

bool Writer::remove_file(const std::string& path) { return remove_own(services_, path) == Removal::done; }

void Writer::remove(const Key& key, const Entry* served) {
  if (!layer_.writable()) return;
  const std::string folder = layer_.folder_of(key) + "/";
  if (!key.who.empty()) remove_file(layer_.entry_path(key));
  if (served != nullptr && served->who != key.who) remove_file(folder + hash128(served->who).hex());
}

bool Writer::remove(const std::string& item_key) {
  if (!layer_.writable()) return false;
  const std::string path = cat(layer_.path(), "/", item_key);
  const bool place = is_hash(item_key) || item_key == kUsageName || item_key == kLeasesName;
  if (!is_item_key(item_key)) return place && clear_place(path, Bytes::own);
  const bool removed = remove_file(path);
  remove_folder(services_, parent_directory(path));
  return removed;
}

std::size_t Writer::tidy(const Limits& limits) {
  if (!layer_.writable()) return 0;
  repair(kUsageName, FileKind::regular);
  repair(kLeasesName, FileKind::directory);
  leases_.sweep();
  return budget_.tidy(limits);
}

std::size_t Writer::clear() {
  std::size_t removed = 0;
  if (!layer_.writable()) return removed;
  for (const std::string& name : layer_.names(layer_.path())) {
    if (is_hash(name)) clear_place(cat(layer_.path(), "/", name), Bytes::any, &removed);
  }
  tidy(settings_.limits);
  return removed;
}

// A folder of entries or of leases, trusted or not, or another object in its place. A link is removed, never followed:
// only the user can write to the directory above, so the object examined here is the one removed.
bool Writer::clear_place(const std::string& place, Bytes bytes, std::size_t* images) {
  FileStatus status;
  const bool folder = services_.files.status(place, &status) == 0 && status.kind == FileKind::directory;
  for (const std::string& name : folder ? layer_.names(place) : std::vector<std::string>()) {
    const bool entry = is_hash(name) || is_newer_name(name);
    if (!entry && !is_staging(name) && !is_failure(name) && !is_lease(name)) continue;
    const Removal gone = remove_own(services_, cat(place, "/", name), bytes);
    if (gone == Removal::done && entry && images != nullptr) ++*images;
  }
  const Removal gone = remove_own(services_, place, bytes);
  return gone == Removal::done || gone == Removal::gone;
}

}  // namespace quern::cache
