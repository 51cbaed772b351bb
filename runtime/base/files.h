// The file layer: every file operation of the store goes through FileSystem, so that tests can make each one fail.
#ifndef QUERN_BASE_FILES_H_
#define QUERN_BASE_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

enum class FileKind : std::uint8_t { regular, directory, link, other };

struct FileStatus {
  FileKind kind = FileKind::other;
  std::uint32_t owner = 0;
  std::uint32_t mode = 0;  // the permission bits
  std::uint64_t bytes = 0;
};

// Thread-safe. Every call returns 0 or an errno value and leaves its result untouched on failure, but for `read` and
// `list`, whose result is then unspecified. Nothing throws but std::bad_alloc. Interrupted calls are taken up again.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Of the thing itself, never of what a link points to.
  virtual int status(const std::string& path, FileStatus* status) = 0;
  // The whole of a regular file, at most `limit` bytes (else EFBIG), with the status of the very file that was read.
  // A link is ELOOP; a fifo, a socket or a directory is EINVAL and never blocks.
  virtual int read(const std::string& path, std::uint64_t limit, std::string* bytes, FileStatus* status) = 0;
  // The names in a directory in no particular order, without "." and "..".
  virtual int list(const std::string& path, std::vector<std::string>* names) = 0;
  // 0 if the effective user may make and remove names in the directory.
  virtual int can_write(const std::string& path) = 0;

  // A new file, open for writing; EEXIST if anything has that name, a dangling link too. The caller closes it.
  virtual int create(const std::string& path, std::uint32_t mode, int* file) = 0;
  // All of `bytes`, in as many writes as it takes.
  virtual int write(int file, std::string_view bytes) = 0;
  virtual int sync(int file) = 0;
  // `file` is gone whatever is returned.
  virtual int close(int file) = 0;

  virtual int rename(const std::string& from, const std::string& to) = 0;
  virtual int remove(const std::string& path) = 0;
  virtual int make_directory(const std::string& path, std::uint32_t mode) = 0;
  virtual int remove_directory(const std::string& path) = 0;  // an empty one
  virtual int sync_directory(const std::string& path) = 0;

  virtual std::uint32_t user() = 0;  // the effective user
};

// The operating system's. Lives as long as the process and holds nothing.
FileSystem& real_file_system();

// "No space left on device". Unlike strerror, safe in any thread.
std::string error_text(int error);

// Everything up to the last slash, or "." or "/".
std::string parent_directory(const std::string& path);

// A file name that nobody else has: pid, a counter and 128 random bits (pids repeat across containers). Starts with
// kStagingPrefix.
std::string staging_name();
inline constexpr std::string_view kStagingPrefix = ".staging.";

// Makes `path` and those of its parents that are missing. 0 if it is there already.
int make_directories(FileSystem& files, const std::string& path, std::uint32_t mode);

// Readers see the old file or the new one, whole. A staging file beside `path` is written, synced and renamed, then the
// directory is synced; on failure it is removed again. False with a reason, which may also mean that the new file is in
// place and only not sure to survive a loss of power. `error`, where given, gets the errno value.
bool write_file_atomically(FileSystem& files, const std::string& path, std::string_view bytes, std::uint32_t mode,
                           std::string* why_not, int* error = nullptr);
// The same on the real file system, readable by whom the umask lets.
bool write_file_atomically(const std::string& path, std::string_view bytes, std::string* why_not);

// Follows links: for files that a person names.
std::optional<std::string> read_file(const std::string& path);

}  // namespace quern

#endif  // QUERN_BASE_FILES_H_
