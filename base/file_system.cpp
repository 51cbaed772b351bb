#include "base/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>

#include "base/clock.h"

namespace quern {
namespace {

long or_error(long result) { return result < 0 ? -long{errno} : result; }

FileKind kind_of(::mode_t mode) {
  if (S_ISREG(mode)) return FileKind::regular;
  if (S_ISDIR(mode)) return FileKind::directory;
  return S_ISLNK(mode) ? FileKind::link : FileKind::other;
}

FileStatus to_status(const struct ::stat& from) {
  FileStatus status;
  status.kind = kind_of(from.st_mode);
  status.owner = from.st_uid;
  status.mode = from.st_mode & 07777U;
  status.bytes = static_cast<std::uint64_t>(from.st_size);
  status.modified_ns = nanoseconds(from.st_mtim.tv_sec, from.st_mtim.tv_nsec);
  status.device = from.st_dev;
  status.inode = from.st_ino;
  status.links = from.st_nlink;
  return status;
}

long report(int result, const struct ::stat& raw, FileStatus* status) {
  if (result != 0) return -long{errno};
  *status = to_status(raw);
  return 0;
}

// Keeps the time of the last access.
struct Times {
  explicit Times(std::int64_t unix_ns)
      : both{{0, UTIME_OMIT}, {static_cast<::time_t>(unix_ns / kSecond), static_cast<long>(unix_ns % kSecond)}} {}
  ::timespec both[2];
};

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

class RealFileSystem final : public FileSystem {
 public:
  long open(const std::string& path, int flags, std::uint32_t mode) override {
    return or_error(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, static_cast<::mode_t>(mode)));
  }
  // Linux has released the descriptor even when it reports EINTR: a second close could close a descriptor that another
  // thread has just opened.
  long close(int file) override {
    const long result = or_error(::close(file));
    return result == -EINTR ? 0 : result;
  }
  long read(int file, void* to, std::size_t bytes) override { return or_error(::read(file, to, bytes)); }
  long read_at(int file, void* to, std::size_t bytes, std::uint64_t offset) override {
    return or_error(::pread(file, to, bytes, static_cast<::off_t>(offset)));
  }
  long write(int file, const void* from, std::size_t bytes) override { return or_error(::write(file, from, bytes)); }
  long write_at(int file, const void* from, std::size_t bytes, std::uint64_t offset) override {
    return or_error(::pwrite(file, from, bytes, static_cast<::off_t>(offset)));
  }
  long truncate(int file, std::uint64_t bytes) override {
    return or_error(::ftruncate(file, static_cast<::off_t>(bytes)));
  }
  long sync(int file) override { return or_error(::fsync(file)); }
  long sync_all(const std::string& directory) override {
    const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return -long{errno};
    const long result = or_error(::syncfs(file));
    ::close(file);
    return result;
  }
  long try_lock(int file) override { return or_error(::flock(file, LOCK_EX | LOCK_NB)); }
  long unlock(int file) override { return or_error(::flock(file, LOCK_UN)); }

  long status(int file, FileStatus* status) override {
    struct ::stat raw {};
    const int result = ::fstat(file, &raw);
    return report(result, raw, status);
  }
  long status(const std::string& path, FileStatus* status) override {
    struct ::stat raw {};
    const int result = ::lstat(path.c_str(), &raw);
    return report(result, raw, status);
  }
  long set_modified(int file, std::int64_t unix_ns) override { return or_error(::futimens(file, Times(unix_ns).both)); }
  long set_modified(const std::string& path, std::int64_t unix_ns) override {
    return or_error(::utimensat(AT_FDCWD, path.c_str(), Times(unix_ns).both, AT_SYMLINK_NOFOLLOW));
  }

  long rename(const std::string& from, const std::string& to) override {
    return or_error(::rename(from.c_str(), to.c_str()));
  }
  long remove(const std::string& path) override { return or_error(::unlink(path.c_str())); }
  long make_directory(const std::string& path, std::uint32_t mode) override {
    return or_error(::mkdir(path.c_str(), static_cast<::mode_t>(mode)));
  }
  long remove_directory(const std::string& path) override { return or_error(::rmdir(path.c_str())); }

  long list(const std::string& path, std::vector<std::string>* names) override {
    const auto close_directory = [](::DIR* open) { ::closedir(open); };
    const std::unique_ptr<::DIR, decltype(close_directory)> directory(::opendir(path.c_str()), close_directory);
    if (!directory) return -long{errno};
    for (;;) {
      errno = 0;
      const ::dirent* entry = ::readdir(directory.get());
      if (entry == nullptr) return -long{errno};
      if (!is_dots(entry->d_name)) names->emplace_back(entry->d_name);
    }
  }
  long can_write(const std::string& path) override {
    return or_error(::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS));
  }
  long resolve(const std::string& path, std::string* canonical) override {
    const std::unique_ptr<char, decltype(&std::free)> found(::realpath(path.c_str(), nullptr), &std::free);
    if (!found) return -long{errno};
    *canonical = found.get();
    return 0;
  }

  std::uint32_t user() override { return ::geteuid(); }
  std::int64_t now_unix_ns() override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }
};

}  // namespace

FileSystem& real_file_system() {
  // Never destroyed: static objects of the application, a Runtime among them, use it in their destructors.
  alignas(RealFileSystem) static unsigned char space[sizeof(RealFileSystem)];
  static FileSystem* const files = new (space) RealFileSystem;
  return *files;
}

}  // namespace quern
