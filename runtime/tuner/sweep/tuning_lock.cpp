#include "tuner/sweep/tuning_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace quern {

TuningLock::TuningLock(FileSystem& files, const std::string& path, const std::function<bool()>& stop) : files_(files) {
  if (path.empty()) return;
  make_directories(files, parent_directory(path), 0777);
  file_ = std::make_unique<OpenFile>(files, path, O_RDWR | O_CREAT | O_NONBLOCK, 0666);
  if (file_->error() != 0) return;
  const auto taken = [&] { return uninterrupted([&] { return files.try_lock(file_->get()); }) != -EWOULDBLOCK; };
  while (!(held_ = taken()) && !stop()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// Closing the file is not enough: a forked process may have it open too.
TuningLock::~TuningLock() {
  if (file_ && file_->error() == 0 && held_) files_.unlock(file_->get());
}

}  // namespace quern
