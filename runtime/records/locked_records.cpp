#include "records/locked_records.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace quern {
namespace {

constexpr std::chrono::seconds kLongestWait{10};  // for the lock, and for merges to stop replacing the file
constexpr std::uint32_t kFileMode = 0666;
constexpr std::uint32_t kDirectoryMode = 0700;  // as the XDG base directory specification requires

}  // namespace

std::string without_links(FileSystem& files, const std::string& path) {
  std::string resolved;
  return uninterrupted([&] { return files.resolve(path, &resolved); }) == 0 ? resolved : path;
}

LockedRecords::LockedRecords(FileSystem& files, const std::string& path) : files_(files) {
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  do {
    if ((error_ = open(path)) != 0) return;
    locked_ = wait_for_lock(end);
    if (still_named(path)) return;
    if (locked_) files_.unlock(file_->get());
    locked_ = false;
  } while (std::chrono::steady_clock::now() < end);
  error_ = ESTALE;
}

LockedRecords::~LockedRecords() {
  if (locked_) files_.unlock(file_->get());
}

int LockedRecords::open(const std::string& path) {
  const int flags = O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK;
  file_ = std::make_unique<OpenFile>(files_, path, flags, kFileMode);
  if (file_->error() == ENOENT) {
    if (const int error = make_directories(files_, parent_directory(path), kDirectoryMode)) return error;
    file_ = std::make_unique<OpenFile>(files_, path, flags, kFileMode);
  }
  FileStatus status;
  if (file_->error() != 0) return file_->error();
  if (const int error = error_of(uninterrupted([&] { return files_.status(file_->get(), &status); }))) return error;
  created_ = status.bytes == 0;
  return status.kind == FileKind::regular ? 0 : EINVAL;
}

// A merge may have replaced the file since it was opened.
bool LockedRecords::still_named(const std::string& path) {
  FileStatus mine;
  FileStatus named;
  path_ = without_links(files_, path);
  if (uninterrupted([&] { return files_.status(file_->get(), &mine); }) != 0) return true;
  const long found = uninterrupted([&] { return files_.status(path_, &named); });
  return found == 0 && named.device == mine.device && named.inode == mine.inode;
}

bool LockedRecords::wait_for_lock(std::chrono::steady_clock::time_point end) {
  for (std::chrono::milliseconds nap{1};; nap = std::min(2 * nap, std::chrono::milliseconds{16})) {
    const long result = uninterrupted([&] { return files_.try_lock(file_->get()); });
    if (result == 0) return true;
    if (result != -EWOULDBLOCK || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(nap);
  }
}

bool LockedRecords::ends_with_line() {
  FileStatus status;
  char last = 0;
  if (uninterrupted([&] { return files_.status(file_->get(), &status); }) != 0) return false;
  if (status.bytes == 0) return true;
  return read_exactly(files_, file_->get(), status.bytes - 1, 1, &last) == 0 && last == '\n';
}

}  // namespace quern
