// Operations on whole files, on top of the file system interface. They retry interrupted calls and continue short reads
// and writes.
#ifndef QUERN_BASE_FILES_H_
#define QUERN_BASE_FILES_H_

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/file_system.h"

namespace quern {

// Repeats the call while it is interrupted.
template <class Call>
long uninterrupted(const Call& call) {
  for (;;) {
    const long result = call();
    if (result != -EINTR) return result;
  }
}

// Transient errors of a file server: it replaced the file, or is at work on it.
inline bool passes(long result) { return result == -ESTALE || result == -EBUSY; }

// Repeats the call while it is interrupted, and a few more times after a transient error. Some 30 ms in all, which is
// not noticeable next to a compile.
template <class Call>
long patiently(const Call& call) {
  constexpr int kTries = 6;
  long result = uninterrupted(call);
  for (int tried = 1; tried < kTries && passes(result); ++tried) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1 << (tried - 1)));
    result = uninterrupted(call);
  }
  return result;
}

// Whether a retry may succeed after this errno value: no free descriptor or memory, a slow server. "Could not look" is
// different from "does not exist".
bool may_pass(int error);

// An open file, closed by the destructor.
class OpenFile {
 public:
  OpenFile(FileSystem& files, const std::string& path, int flags, std::uint32_t mode = 0)
      : files_(files), file_(uninterrupted([&] { return files.open(path, flags, mode); })) {}
  ~OpenFile() { close(); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  // 0 or an errno value.
  int error() const { return file_ < 0 ? static_cast<int>(-file_) : 0; }
  int get() const { return static_cast<int>(file_); }
  // Returns 0 or an errno value. This is the last chance to learn of a failed write.
  int close();

 private:
  FileSystem& files_;
  long file_;
};

// The functions below that return an int return 0 or an errno value.

// Reads a whole regular file of at most `limit` bytes (else EFBIG) and the status of the file that was read. A link is
// ELOOP; a fifo, a socket or a directory is EINVAL and never blocks. `bytes` is unspecified on failure.
int read_whole(FileSystem& files, const std::string& path, std::uint64_t limit, std::string* bytes, FileStatus* status);
// The same, limited to the first `most` bytes, however large the file is.
int read_beginning(FileSystem& files, const std::string& path, std::size_t most, std::string* bytes,
                   FileStatus* status);
// Reads `size` bytes from `offset`; EIO if the file ends before that.
int read_exactly(FileSystem& files, int file, std::uint64_t offset, std::size_t size, char* to);
int write_all(FileSystem& files, int file, std::string_view bytes);
int write_exactly(FileSystem& files, int file, std::uint64_t offset, std::string_view bytes);
int sync_directory(FileSystem& files, const std::string& path);
// Creates `path` and its missing parents.
int make_directories(FileSystem& files, const std::string& path, std::uint32_t mode);
inline int error_of(long result) { return result < 0 ? static_cast<int>(-result) : 0; }

// "No space left on device". Unlike strerror, thread-safe.
std::string error_text(int error);

// Everything up to the last slash, or "." or "/".
std::string parent_directory(const std::string& path);

// A unique file name: pid, a counter and 128 random bits, since pids repeat across containers. Starts with
// kStagingPrefix.
std::string staging_name();
inline constexpr std::string_view kStagingPrefix = ".staging.";

// A new file that atomically replaces `path`: readers see the old file or the new one, complete. Removed at the end
// unless it was placed.
class StagedFile {
 public:
  StagedFile(FileSystem& files, std::string path);
  // `staging`: an empty file in the folder of `path` that has no other writer.
  StagedFile(FileSystem& files, std::string path, std::string staging);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  int create(std::uint32_t mode);
  int append(std::string_view bytes);
  int finish();  // syncs and closes
  int close();   // closes without a sync, for callers that sync many files at once
  int place();   // renames it to `path`
  // create, append and finish.
  int write(std::string_view bytes, std::uint32_t mode);
  int settle();  // the directory synced; a failure means that the new file is there, but may not survive a loss of
                 // power
  const std::string& staging() const { return staging_; }
  // The operation and path of a failed call: "cannot sync PATH: No space left on device".
  std::string why_not(int error) const;

 private:
  int fail(const char* step, int error);
  FileSystem& files_;
  const std::string path_;
  const std::string staging_;
  const bool is_there_already_ = false;
  std::optional<OpenFile> file_;
  const char* step_ = "";
  bool there_ = false;
};

// StagedFile in one step, on the real file system, with permissions from the umask. Returns false with a reason.
bool write_file_atomically(const std::string& path, std::string_view bytes, std::string* why_not);

// Follows links: for paths given by a user.
int read_file(const std::string& path, std::string* bytes);
std::optional<std::string> read_file(const std::string& path);

}  // namespace quern

#endif  // QUERN_BASE_FILES_H_
