// What is done with whole files, on the file layer. Interrupted calls are taken up again; short ones are continued.
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

// Calls until it is not interrupted.
template <class Call>
long uninterrupted(const Call& call) {
  for (;;) {
    const long result = call();
    if (result != -EINTR) return result;
  }
}

// What a file server answers for a moment: it replaced the file, or is at work on it.
inline bool passes(long result) { return result == -ESTALE || result == -EBUSY; }

// Calls until it is not interrupted, and a few times more where what stands in the way passes. Some 30 ms in
// all: nobody notices them before a compile.
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

// Whether another try may find what this errno value hid: no free descriptor or memory, a server that is late. "Could
// not look" is not "is not there".
bool may_pass(int error);

// An open file, closed at the end.
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
  // 0 or an errno value, which is the last chance to hear of a failed write.
  int close();

 private:
  FileSystem& files_;
  long file_;
};

// All functions below return 0 or an errno value where they return an int.

// The whole of a regular file, at most `limit` bytes (else EFBIG), with the status of the very file that was read. A
// link is ELOOP; a fifo, a socket or a directory is EINVAL and never blocks. `bytes` is unspecified on failure.
int read_whole(FileSystem& files, const std::string& path, std::uint64_t limit, std::string* bytes, FileStatus* status);
// The same, but no more than the first `most` bytes, however large the file is.
int read_beginning(FileSystem& files, const std::string& path, std::size_t most, std::string* bytes,
                   FileStatus* status);
// `size` bytes from `offset`; EIO where the file ends before.
int read_exactly(FileSystem& files, int file, std::uint64_t offset, std::size_t size, char* to);
int write_all(FileSystem& files, int file, std::string_view bytes);
int write_exactly(FileSystem& files, int file, std::uint64_t offset, std::string_view bytes);
int sync_directory(FileSystem& files, const std::string& path);
// Makes `path` and those of its parents that are missing.
int make_directories(FileSystem& files, const std::string& path, std::uint32_t mode);
inline int error_of(long result) { return result < 0 ? static_cast<int>(-result) : 0; }

// "No space left on device". Unlike strerror, safe in any thread.
std::string error_text(int error);

// Everything up to the last slash, or "." or "/".
std::string parent_directory(const std::string& path);

// A file name that nobody else has: pid, a counter and 128 random bits (pids repeat across containers). Starts with
// kStagingPrefix.
std::string staging_name();
inline constexpr std::string_view kStagingPrefix = ".staging.";

// A new file that becomes `path` when it is placed: readers see the old file or the new one, whole. Gone at the end if
// it was not placed.
class StagedFile {
 public:
  StagedFile(FileSystem& files, std::string path);
  // `staging`: an empty file beside `path` that nobody else writes now.
  StagedFile(FileSystem& files, std::string path, std::string staging);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  int create(std::uint32_t mode);
  int append(std::string_view bytes);
  int finish();  // synced and closed
  int close();   // closed alone: who makes many files syncs them together
  int place();   // renamed
  // The first three.
  int write(std::string_view bytes, std::uint32_t mode);
  int settle();  // the directory synced; a failure means that the new file is there, but may not survive a loss of
                 // power
  const std::string& staging() const { return staging_; }
  // What was being done when a call failed: "cannot sync PATH: No space left on device".
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

// StagedFile in one step, on the real file system, readable by whom the umask lets. False with a reason.
bool write_file_atomically(const std::string& path, std::string_view bytes, std::string* why_not);

// Follows links: for files that a person names.
int read_file(const std::string& path, std::string* bytes);
std::optional<std::string> read_file(const std::string& path);

}  // namespace quern

#endif  // QUERN_BASE_FILES_H_
