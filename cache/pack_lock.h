// At most one concurrent writer of a pack.
#ifndef QUERN_CACHE_PACK_LOCK_H_
#define QUERN_CACHE_PACK_LOCK_H_

#include <chrono>
#include <memory>
#include <string>

#include "base/files.h"

namespace quern::cache {

// The lock is an flock of the staging file ".NAME.staging" in the pack's folder: a killed writer leaves only this file,
// which the next writer reuses. Without file locks, writers do not see each other, and each has its own staging file.
class PackLock {
 public:
  // Waits for other writers. Throws Error (io) that names `pack` if the folder cannot be written, or if the other
  // writer has written nothing for `patience`.
  PackLock(FileSystem& files, const std::string& pack, std::chrono::milliseconds patience);

  // The path to write to: an existing empty file; "" without locks.
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
