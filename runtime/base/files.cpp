#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <system_error>

#include "base/text.h"

namespace quern {
namespace {

template <class Call>
auto retry(const Call& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

int result_of(int returned) { return returned < 0 ? errno : 0; }

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags)
      : fd_(retry([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY); })) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_;
};

FileKind kind_of(::mode_t mode) {
  if (S_ISREG(mode)) return FileKind::regular;
  if (S_ISDIR(mode)) return FileKind::directory;
  return S_ISLNK(mode) ? FileKind::link : FileKind::other;
}

FileStatus to_status(const struct ::stat& from) {
  return {kind_of(from.st_mode), from.st_uid, from.st_mode & 07777U, static_cast<std::uint64_t>(from.st_size)};
}

// To the end, whatever size the file was said to have: it may grow or shrink meanwhile.
int read_to_end(int fd, std::uint64_t expected, std::uint64_t limit, std::string* bytes) {
  std::size_t used = 0;
  bytes->resize(static_cast<std::size_t>(expected) + 1);
  for (;;) {
    const ::ssize_t got = retry([&] { return ::read(fd, bytes->data() + used, bytes->size() - used); });
    if (got < 0) return errno;
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > limit) return EFBIG;
    if (used == bytes->size()) bytes->resize(2 * used + 4096);
  }
  bytes->resize(used);
  return 0;
}

int read_regular(const std::string& path, int flags, std::uint64_t limit, std::string* bytes, FileStatus* status) {
  const Descriptor file(path, O_RDONLY | O_NONBLOCK | flags);
  if (!file.open()) return errno;
  struct ::stat raw {};
  if (::fstat(file.get(), &raw) != 0) return errno;
  *status = to_status(raw);
  if (status->kind != FileKind::regular) return EINVAL;
  if (status->bytes > limit) return EFBIG;
  return read_to_end(file.get(), status->bytes, limit, bytes);
}

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

class RealFileSystem final : public FileSystem {
 public:
  int status(const std::string& path, FileStatus* status) override {
    struct ::stat raw {};
    if (::lstat(path.c_str(), &raw) != 0) return errno;
    *status = to_status(raw);
    return 0;
  }

  int read(const std::string& path, std::uint64_t limit, std::string* bytes, FileStatus* status) override {
    return read_regular(path, O_NOFOLLOW, limit, bytes, status);
  }

  int list(const std::string& path, std::vector<std::string>* names) override {
    const auto close_directory = [](::DIR* open) { ::closedir(open); };
    const std::unique_ptr<::DIR, decltype(close_directory)> directory(::opendir(path.c_str()), close_directory);
    if (!directory) return errno;
    for (;;) {
      errno = 0;
      const ::dirent* entry = ::readdir(directory.get());
      if (entry == nullptr) return errno;
      if (!is_dots(entry->d_name)) names->emplace_back(entry->d_name);
    }
  }

  int can_write(const std::string& path) override {
    return result_of(::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS));
  }

  int create(const std::string& path, std::uint32_t mode, int* file) override {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int fd = retry([&] { return ::open(path.c_str(), kFlags, static_cast<::mode_t>(mode)); });
    if (fd < 0) return errno;
    *file = fd;
    return 0;
  }

  int write(int file, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ::ssize_t wrote = retry([&] { return ::write(file, bytes.data(), bytes.size()); });
      if (wrote < 0) return errno;
      if (wrote == 0) return EIO;
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return 0;
  }

  int sync(int file) override {
    return result_of(retry([&] { return ::fsync(file); }));
  }

  // Linux has released the descriptor even when it reports EINTR: a second close could hit somebody else's.
  int close(int file) override {
    const int error = result_of(::close(file));
    return error == EINTR ? 0 : error;
  }

  int rename(const std::string& from, const std::string& to) override {
    return result_of(retry([&] { return ::rename(from.c_str(), to.c_str()); }));
  }

  int remove(const std::string& path) override { return result_of(::unlink(path.c_str())); }

  int make_directory(const std::string& path, std::uint32_t mode) override {
    return result_of(::mkdir(path.c_str(), static_cast<::mode_t>(mode)));
  }

  int remove_directory(const std::string& path) override { return result_of(::rmdir(path.c_str())); }

  int sync_directory(const std::string& path) override {
    const Descriptor directory(path, O_RDONLY | O_DIRECTORY);
    if (!directory.open()) return errno;
    const int error = sync(directory.get());
    return error == EINVAL ? 0 : error;  // a file system that cannot sync directories
  }

  std::uint32_t user() override { return ::geteuid(); }
};

std::string random_hex() {
  std::array<unsigned char, 16> bits{};
  // Without entropy pid and counter must do; `create` is exclusive in any case.
  if (::getrandom(bits.data(), bits.size(), GRND_NONBLOCK) < 0) bits.fill(0);
  return to_hex(bits.data(), bits.size());
}

// Writes and syncs a new file. `step` names what was being done.
int stage(FileSystem& files, const std::string& path, std::string_view bytes, std::uint32_t mode, const char** step) {
  int file = -1;
  *step = "create";
  if (const int error = files.create(path, mode, &file)) return error;
  *step = "write";
  int error = files.write(file, bytes);
  if (error == 0) *step = "sync", error = files.sync(file);
  const int close_error = files.close(file);
  if (error == 0 && close_error != 0) *step = "close", error = close_error;
  return error;
}

// The steps of write_file_atomically.
int publish(FileSystem& files, const std::string& path, std::string_view bytes, std::uint32_t mode, const char** step) {
  const std::string directory = parent_directory(path);
  const std::string staging = directory + "/" + staging_name();
  int error = stage(files, staging, bytes, mode, step);
  if (error == 0) *step = "rename", error = files.rename(staging, path);
  if (error != 0) {
    files.remove(staging);
    return error;
  }
  *step = "sync the directory of";
  return files.sync_directory(directory);
}

}  // namespace

FileSystem& real_file_system() {
  static RealFileSystem files;
  return files;
}

std::string error_text(int error) { return std::generic_category().message(error); }

std::string parent_directory(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  if (last == std::string::npos) return path.empty() ? "." : "/";
  const std::size_t slash = path.rfind('/', last);
  if (slash == std::string::npos) return ".";
  const std::size_t end = path.find_last_not_of('/', slash);
  return end == std::string::npos ? "/" : path.substr(0, end + 1);
}

std::string staging_name() {
  static std::atomic<unsigned> counter{0};
  return cat(kStagingPrefix, ::getpid(), ".", counter.fetch_add(1, std::memory_order_relaxed), ".", random_hex());
}

int make_directories(FileSystem& files, const std::string& path, std::uint32_t mode) {
  int error = files.make_directory(path, mode);
  const std::string parent = parent_directory(path);
  if (error == ENOENT && parent.size() < path.size()) {
    error = make_directories(files, parent, mode);
    if (error == 0) error = files.make_directory(path, mode);
  }
  return error == EEXIST ? 0 : error;
}

bool write_file_atomically(FileSystem& files, const std::string& path, std::string_view bytes, std::uint32_t mode,
                           std::string* why_not, int* error) {
  const char* step = "";
  const int status = publish(files, path, bytes, mode, &step);
  if (error != nullptr) *error = status;
  if (status != 0 && why_not != nullptr) *why_not = cat("cannot ", step, " ", path, ": ", error_text(status));
  return status == 0;
}

bool write_file_atomically(const std::string& path, std::string_view bytes, std::string* why_not) {
  return write_file_atomically(real_file_system(), path, bytes, 0666, why_not);
}

std::optional<std::string> read_file(const std::string& path) {
  std::string bytes;
  FileStatus status;
  const std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
  if (read_regular(path, 0, no_limit, &bytes, &status) != 0) return std::nullopt;
  return bytes;
}

}  // namespace quern
