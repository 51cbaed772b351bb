#include "cache/pack_lock.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/text.h"
#include "cache/modes.h"
#include "quern/error.h"

namespace quern::cache {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestNap{20};

std::string staging_of(const std::string& pack) {
  const std::string folder = parent_directory(pack);
  return cat(folder, "/.", pack.substr(pack.rfind('/') + 1), ".staging");
}

bool same_file(const FileStatus& a, const FileStatus& b) { return a.inode == b.inode && a.device == b.device; }

}  // namespace

PackLock::PackLock(FileSystem& files, const std::string& pack, std::chrono::milliseconds patience)
    : files_(files), pack_(pack), staging_(staging_of(pack)) {
  Clock::time_point last_sign = Clock::now();
  FileStatus seen;
  for (std::chrono::milliseconds nap{1};; nap = std::min(2 * nap, kLongestNap)) {
    const FileStatus before = seen;
    const Attempt result = attempt(&seen);
    if (result == Attempt::impossible) staging_.clear();
    if (result != Attempt::held) return;
    const Clock::time_point now = Clock::now();
    if (!same_file(before, seen) || before.bytes != seen.bytes) last_sign = now;
    if (now - last_sign > patience)
      throw Error(Code::io, Stage::store,
                  cat(pack, " cannot be written: another process holds ", staging_, " and has written nothing for ",
                      std::chrono::duration_cast<std::chrono::seconds>(patience).count(),
                      " s; end that process and try again"));
    std::this_thread::sleep_for(nap);
  }
}

// `seen` gets the status of the locked file. Its owner may have renamed it to the pack after we opened it and before we
// locked it: then the staging name leads elsewhere by now.
PackLock::Attempt PackLock::attempt(FileStatus* seen) {
  file_ = std::make_unique<OpenFile>(files_, staging_, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, kPackMode);
  if (file_->error() != 0)
    throw Error(Code::io, Stage::store, cat("cannot create ", pack_, ": ", error_text(file_->error())));
  const int error = error_of(uninterrupted([&] { return files_.try_lock(file_->get()); }));
  if (error == EWOULDBLOCK) {
    files_.status(file_->get(), seen);
    return Attempt::held;
  }
  if (error != 0) {
    files_.remove(staging_);
    return Attempt::impossible;
  }
  FileStatus named;
  const bool ours = files_.status(file_->get(), seen) == 0 && files_.status(staging_, &named) == 0 &&
                    same_file(*seen, named) && seen->kind == FileKind::regular;
  if (!ours) return Attempt::held;
  if (const int failed = error_of(uninterrupted([&] { return files_.truncate(file_->get(), 0); }))) {
    files_.remove(staging_);
    throw Error(Code::io, Stage::store, cat("cannot write ", pack_, ": ", error_text(failed)));
  }
  return Attempt::taken;
}

}  // namespace quern::cache
