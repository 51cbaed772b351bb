// The file system interface. Every file operation of the store is one call here, each about one system call, so that
// tests can make any of them fail, delay it, crash after it or set the clock.
#ifndef QUERN_BASE_FILE_SYSTEM_H_
#define QUERN_BASE_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quern {

enum class FileKind : std::uint8_t { regular, directory, link, other };

struct FileStatus {
  FileKind kind = FileKind::other;
  std::uint32_t owner = 0;
  std::uint32_t mode = 0;  // the permission bits
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::uint64_t device = 0;      // `device` and `inode` identify a file
  std::uint64_t inode = 0;
  std::uint64_t links = 1;  // number of hard links
};

// Thread-safe. Every call returns its result, 0 if it has none, or -errno, which may be -EINTR. An output parameter is
// unchanged on failure, except that of `list`. Throws only std::bad_alloc.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Returns a descriptor. O_CLOEXEC and O_NOCTTY are added to `flags`.
  virtual long open(const std::string& path, int flags, std::uint32_t mode) = 0;
  virtual long close(int file) = 0;  // closes `file` even if it returns an error
  virtual long read(int file, void* to, std::size_t bytes) = 0;
  virtual long read_at(int file, void* to, std::size_t bytes, std::uint64_t offset) = 0;
  virtual long write(int file, const void* from, std::size_t bytes) = 0;
  virtual long write_at(int file, const void* from, std::size_t bytes, std::uint64_t offset) = 0;
  virtual long truncate(int file, std::uint64_t bytes) = 0;
  virtual long sync(int file) = 0;
  virtual long sync_all(const std::string& directory) = 0;  // syncs the whole file system of `directory`
  virtual long try_lock(int file) = 0;                      // -EWOULDBLOCK if another open file holds the lock
  virtual long unlock(int file) = 0;

  virtual long status(int file, FileStatus* status) = 0;
  virtual long status(const std::string& path, FileStatus* status) = 0;  // of the link itself
  virtual long set_modified(int file, std::int64_t unix_ns) = 0;
  virtual long set_modified(const std::string& path, std::int64_t unix_ns) = 0;

  virtual long rename(const std::string& from, const std::string& to) = 0;
  virtual long remove(const std::string& path) = 0;
  virtual long make_directory(const std::string& path, std::uint32_t mode) = 0;
  virtual long remove_directory(const std::string& path) = 0;  // the directory must be empty
  // The names in a directory, in no particular order, without "." and "..".
  virtual long list(const std::string& path, std::vector<std::string>* names) = 0;
  virtual long can_write(const std::string& path) = 0;  // whether entries can be created in a directory
  virtual long resolve(const std::string& path, std::string* canonical) = 0;  // resolves symbolic links

  virtual std::uint32_t user() = 0;        // the effective user
  virtual std::int64_t now_unix_ns() = 0;  // the clock for timestamps
};

// The operating system's file system. Stateless; lives as long as the process.
FileSystem& real_file_system();

// Forwards every call; a subclass can inspect each result.
class ForwardingFileSystem : public FileSystem {
 public:
  explicit ForwardingFileSystem(FileSystem& to = real_file_system()) : to_(to) {}
  long open(const std::string& path, int flags, std::uint32_t mode) override {
    return seen(to_.open(path, flags, mode));
  }
  long close(int file) override { return seen(to_.close(file)); }
  long read(int file, void* to, std::size_t bytes) override { return seen(to_.read(file, to, bytes)); }
  long read_at(int file, void* to, std::size_t bytes, std::uint64_t offset) override {
    return seen(to_.read_at(file, to, bytes, offset));
  }
  long write(int file, const void* from, std::size_t bytes) override { return seen(to_.write(file, from, bytes)); }
  long write_at(int file, const void* from, std::size_t bytes, std::uint64_t offset) override {
    return seen(to_.write_at(file, from, bytes, offset));
  }
  long truncate(int file, std::uint64_t bytes) override { return seen(to_.truncate(file, bytes)); }
  long sync(int file) override { return seen(to_.sync(file)); }
  long sync_all(const std::string& directory) override { return seen(to_.sync_all(directory)); }
  long try_lock(int file) override { return seen(to_.try_lock(file)); }
  long unlock(int file) override { return seen(to_.unlock(file)); }
  long status(int file, FileStatus* status) override { return seen(to_.status(file, status)); }
  long status(const std::string& path, FileStatus* status) override { return seen(to_.status(path, status)); }
  long set_modified(int file, std::int64_t unix_ns) override { return seen(to_.set_modified(file, unix_ns)); }
  long set_modified(const std::string& path, std::int64_t unix_ns) override {
    return seen(to_.set_modified(path, unix_ns));
  }
  long rename(const std::string& from, const std::string& to) override { return seen(to_.rename(from, to)); }
  long remove(const std::string& path) override { return seen(to_.remove(path)); }
  long make_directory(const std::string& path, std::uint32_t mode) override {
    return seen(to_.make_directory(path, mode));
  }
  long remove_directory(const std::string& path) override { return seen(to_.remove_directory(path)); }
  long list(const std::string& path, std::vector<std::string>* names) override { return seen(to_.list(path, names)); }
  long can_write(const std::string& path) override { return seen(to_.can_write(path)); }
  long resolve(const std::string& path, std::string* canonical) override { return seen(to_.resolve(path, canonical)); }
  std::uint32_t user() override { return to_.user(); }
  std::int64_t now_unix_ns() override { return to_.now_unix_ns(); }

 protected:
  virtual long seen(long result) { return result; }

 private:
  FileSystem& to_;
};

}  // namespace quern

#endif  // QUERN_BASE_FILE_SYSTEM_H_
