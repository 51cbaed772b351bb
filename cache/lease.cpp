#include "cache/lease.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "cache/modes.h"

namespace quern::cache {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";  // one per kernel, shared by its containers
constexpr std::uint64_t kMostBootId = 256;
constexpr std::string_view kSuccessor = "+";  // suffix of the lease that follows an expired one

}  // namespace

bool is_lease(const std::string& file_name) {
  const bool successor = file_name.ends_with(kSuccessor);
  const std::string_view name = std::string_view(file_name).substr(0, file_name.size() - (successor ? 1 : 0));
  return name.size() == 8 + 1 + 32 + 1 + 32 && name.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

// ---- Lease

// Without a heartbeat thread the lease only expires earlier.
Lease::Lease(Services& services, std::string path, std::unique_ptr<OpenFile> file, std::chrono::milliseconds every)
    : services_(services), path_(std::move(path)), file_(std::move(file)) {
  try {
    beating_ = std::thread([this, every] { beat(every); });
  } catch (const std::system_error& error) {
    services_.log.debug(cat("cache: cannot start a thread for a lease: ", error.what()));
  }
}

void Lease::beat(std::chrono::milliseconds every) {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, every, [this] { return ended_; }))
    services_.files.set_modified(file_->get(), services_.files.now_unix_ns());
}

// Removes the file while it is still locked: a process that locks it later sees that the name is gone and starts over.
// Also unlocks explicitly, because a forked child may share the open file.
Lease::~Lease() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  if (beating_.joinable()) beating_.join();
  services_.files.remove(path_);
  services_.files.unlock(file_->get());
}

// ---- Leases

std::unique_ptr<OpenFile> Leases::open(const std::string& path) {
  const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
  auto file = std::make_unique<OpenFile>(services_.files, path, flags, kFileMode);
  if (file->error() != ENOENT) return file;
  services_.files.make_directory(dir_, kDirectoryMode);
  return std::make_unique<OpenFile>(services_.files, path, flags, kFileMode);
}

std::string Leases::machine() {
  const std::lock_guard lock(mutex_);
  std::string id;
  FileStatus status;
  if (!machine_.empty()) return machine_;
  if (read_whole(services_.files, kBootId, kMostBootId, &id, &status) != 0) id.clear();
  machine_ = hash128(id).hex().substr(0, 8);
  return machine_;
}

bool Leases::may_have_an_owner(const std::string& path) {
  FileStatus status;
  if (services_.files.status(path, &status) != 0) return true;
  return std::chrono::nanoseconds(apart(services_.files.now_unix_ns(), status.modified_ns)) < times_.longest;
}

// `seen` gets the status of the locked file.
Leases::Attempt Leases::attempt(const std::string& path, std::unique_ptr<Lease>* lease, FileStatus* seen) {
  FileSystem& files = services_.files;
  auto file = open(path);
  FileStatus locked;
  FileStatus named;
  if (file->error() != 0) {
    services_.failed(cat("cannot open ", path, ": ", error_text(file->error())));
    return Attempt::impossible;
  }
  const int error = error_of(uninterrupted([&] { return files.try_lock(file->get()); }));
  if (error == EWOULDBLOCK) {
    files.status(file->get(), seen);
    return Attempt::held;
  }
  if (error != 0 || files.status(file->get(), &locked) != 0) {
    services_.failed(cat("cannot lock ", path, ": ", error_text(error)));
    return Attempt::impossible;
  }
  // Its owner may have removed it after we opened it and before we locked it.
  if (files.status(path, &named) != 0 || named.inode != locked.inode || named.device != locked.device)
    return Attempt::held;
  *seen = locked;
  *lease = std::make_unique<Lease>(services_, path, std::move(file), times_.beat);
  return Attempt::taken;
}

// One of the waiting processes takes over from an owner that shows no sign of life, and the others wait for that one.
std::unique_ptr<Lease> Leases::take(const std::string& name, const std::function<bool()>& done,
                                    const Patience& patience) {
  const std::string path = cat(dir_, "/", machine(), "-", name);
  std::unique_ptr<Lease> lease;
  const auto begins = [&] {
    ++services_.counters.lease_waits;
    if (patience.begins) patience.begins();
  };
  if (wait_at(path, done, {patience.until, begins}, &lease) == Waited::enough) return lease;
  const bool in_haste = Clock::now() >= patience.until;  // a caller that does not wait needs no warning
  const bool alone = in_haste || wait_at(cat(path, kSuccessor), done, {patience.until, {}}, &lease) == Waited::in_vain;
  if (!alone && lease == nullptr) return nullptr;
  ++services_.counters.lease_timeouts;
  services_.log.write(
      in_haste ? LogLevel::debug : LogLevel::warning,
      cat("cache: gave up waiting for another process that builds the same image (", path, "); building it here too"));
  return lease;
}

Leases::Waited Leases::wait_at(const std::string& path, const std::function<bool()>& done, const Patience& patience,
                               std::unique_ptr<Lease>* lease) {
  const Clock::time_point start = Clock::now();
  Clock::time_point last_sign = start;
  FileStatus seen;
  std::chrono::microseconds nap{500};
  for (bool waited = false;; waited = true) {
    const FileStatus before = seen;
    const Attempt result = attempt(path, lease, &seen);
    if (result == Attempt::impossible) return Waited::enough;
    // An owner that finishes removes its file; one that dies leaves it.
    const bool ended = before.inode != 0 && seen.inode != before.inode;
    if (result == Attempt::taken) {
      if (done() || ended) lease->reset();
      return Waited::enough;
    }
    if (!waited && patience.begins) patience.begins();
    const Clock::time_point now = Clock::now();
    if (seen.modified_ns != before.modified_ns) last_sign = now;
    if (now - last_sign > times_.expiry || now - start > times_.longest || now >= patience.until)
      return Waited::in_vain;
    if (waited && done()) return Waited::enough;
    std::this_thread::sleep_for(nap);
    nap = std::min<std::chrono::microseconds>(2 * nap, times_.poll);
  }
}

void Leases::sweep() {
  std::vector<std::string> names;
  if (services_.files.list(dir_, &names) != 0) return;
  for (const std::string& name : names) {
    const std::string path = cat(dir_, "/", name);
    std::unique_ptr<Lease> lease;
    FileStatus seen;
    if (is_lease(name) && !may_have_an_owner(path))
      attempt(path, &lease, &seen);  // an unlocked file is removed with our lease on it
  }
}

}  // namespace quern::cache
