#include "tuner/tuning_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace quern {

TuningLock::TuningLock(FileSystem& files, const std::string& path, const std::function<bool()>& stop) {
  if (path.empty()) return;
  make_directories(files, parent_directory(path), 0777);
  file_ = std::make_unique<OpenFile>(files, path, O_RDWR | O_CREAT | O_NONBLOCK, 0666);
  if (file_->error() != 0) return;
  while (!stop() && uninterrupted([&] { return files.try_lock(file_->get()); }) == -EWOULDBLOCK)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace quern
