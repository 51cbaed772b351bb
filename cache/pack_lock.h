// One writer of a pack at a time.
#ifndef QUERN_CACHE_PACK_LOCK_H_
#define QUERN_CACHE_PACK_LOCK_H_

#include <chrono>
#include <memory>
#include <string>

#include "base/files.h"

namespace quern::cache {

// The lock is the file that becomes the pack, ".NAME.staging" beside it: what a killed writer leaves is one file, which
// the next writer takes. Where there are no locks, writers do not see each other, and each has a staging file of its
// own.
class PackLock {
 public:
  // Waits for other writers. Throws Error (io) that names `pack`: where the folder cannot be written, and where the
  // other writer has written nothing for `patience`.
  PackLock(FileSystem& files, const std::string& pack, std::chrono::milliseconds patience);

  // Where to write: a file that is there and empty; empty without locks.
  const std::string& staging() const { return staging_; }

 private:
  enum class Attempt { taken, held, impossible };
  Attempt attempt(FileStatus* seen);

  FileSystem& files_;
  const std::string& pack_;
  std::string staging_;
  std::unique_ptr<OpenFile> file_;  // locked
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_PACK_LOCK_H_
