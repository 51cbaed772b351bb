#include "store/two_views.h"

#include <fcntl.h>

#include <utility>

namespace quern::cache {
namespace {

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

bool is_there(const std::string& path) {
  FileStatus status;
  return real_file_system().status(path, &status) == 0;
}

}  // namespace

// ---- SharedDirectory

bool SharedDirectory::hidden(const std::string& path, int view) const {
  const auto found = names_.find(path);
  return found != names_.end() && Clock::now() < found->second.hidden_until[view];
}

// 0, or a view's answer when it uses a name without creating it.
long SharedDirectory::look_up(const std::string& path, int view) {
  if (hidden(parent_directory(path), view) || hidden(path, view)) return -ENOENT;
  const auto found = names_.find(path);
  if (found == names_.end()) return 0;
  if (std::exchange(found->second.stale_once[view], false)) return -ESTALE;
  return Clock::now() < found->second.stale_until[view] ? -ESTALE : 0;
}

void SharedDirectory::made(const std::string& path, int view, bool was_there) {
  Name& name = names_[path];
  const int other = 1 - view;
  name.hidden_until[view] = name.stale_until[view] = {};
  name.stale_once[view] = false;
  if (!was_there) {
    name.hidden_until[other] = Clock::now() + delay_;
  } else if (!hidden(path, other)) {
    name.stale_once[other] = true;
  }
}

void SharedDirectory::removed(const std::string& path, int view) {
  Name& name = names_[path];
  const int other = 1 - view;
  if (!hidden(path, other)) name.stale_until[other] = Clock::now() + delay_;
  name.hidden_until[other] = {};
  name.stale_once[other] = false;
}

// ---- View

View::View(SharedDirectory& shared, int number, const std::string& scratch)
    : shared_(shared), number_(number), boot_id_(cat(scratch, "/boot_id.", number)) {
  overwrite(boot_id_, boot_id_);
}

long View::open(const std::string& path, int flags, std::uint32_t mode) {
  const std::lock_guard lock(shared_.mutex_);
  if (path == kBootId) return Base::open(boot_id_, flags, mode);
  if ((flags & O_CREAT) == 0) {
    const long answer = looked_up(path);
    return answer != 0 ? answer : Base::open(path, flags, mode);
  }
  if (shared_.hidden(parent_directory(path), number_)) return -ENOENT;
  const bool was_there = is_there(path);
  const long file = Base::open(path, flags, mode);
  if (file >= 0 && !was_there) shared_.made(path, number_, false);
  if (was_there) shared_.names_[path].hidden_until[number_] = {};
  return file;
}

long View::close(int file) {
  const std::lock_guard lock(shared_.mutex_);
  std::erase_if(locked_, [&](const auto& row) { return row.second == file; });
  return Base::close(file);
}

long View::try_lock(int file) {
  const std::lock_guard lock(shared_.mutex_);
  FileStatus status;
  if (const long answer = Base::status(file, &status)) return answer;
  const auto [place, locked] = locked_.try_emplace({status.device, status.inode}, file);
  return locked || place->second == file ? 0 : -EWOULDBLOCK;
}

long View::unlock(int file) {
  const std::lock_guard lock(shared_.mutex_);
  std::erase_if(locked_, [&](const auto& row) { return row.second == file; });
  return 0;
}

long View::status(const std::string& path, FileStatus* status) {
  const std::lock_guard lock(shared_.mutex_);
  const long answer = looked_up(path);
  return answer != 0 ? answer : Base::status(path, status);
}

long View::set_modified(const std::string& path, std::int64_t unix_ns) {
  const std::lock_guard lock(shared_.mutex_);
  const long answer = looked_up(path);
  return answer != 0 ? answer : Base::set_modified(path, unix_ns);
}

long View::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(shared_.mutex_);
  if (const long answer = looked_up(from)) return answer;
  const bool was_there = is_there(to);
  const long result = Base::rename(from, to);
  if (result != 0) return result;
  shared_.removed(from, number_);
  shared_.made(to, number_, was_there);
  return result;
}

long View::remove(const std::string& path) {
  const std::lock_guard lock(shared_.mutex_);
  if (const long answer = looked_up(path)) return answer;
  const long result = Base::remove(path);
  if (result == 0) shared_.removed(path, number_);
  return result;
}

long View::make_directory(const std::string& path, std::uint32_t mode) {
  const std::lock_guard lock(shared_.mutex_);
  const long result = Base::make_directory(path, mode);
  if (result == 0) shared_.made(path, number_, false);
  if (result == -EEXIST) shared_.names_[path].hidden_until[number_] = {};
  return result;
}

long View::remove_directory(const std::string& path) {
  const std::lock_guard lock(shared_.mutex_);
  if (const long answer = looked_up(path)) return answer;
  const long result = Base::remove_directory(path);
  if (result == 0) shared_.removed(path, number_);
  return result;
}

long View::list(const std::string& path, std::vector<std::string>* names) {
  const std::lock_guard lock(shared_.mutex_);
  if (const long answer = looked_up(path)) return answer;
  const long result = Base::list(path, names);
  std::erase_if(*names, [&](const std::string& name) { return shared_.hidden(cat(path, "/", name), number_); });
  return result;
}

}  // namespace quern::cache
