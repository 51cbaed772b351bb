// Lock of the process that tunes a problem; others that want the same problem wait for its record.
#ifndef QUERN_TUNER_SWEEP_TUNING_LOCK_H_
#define QUERN_TUNER_SWEEP_TUNING_LOCK_H_

#include <functional>
#include <memory>
#include <string>

#include "base/files.h"

namespace quern {

class TuningLock {
 public:
  // Waits for the lock until `stop` returns true. `path` is created where it is missing, and is not removed. With an
  // empty path, or a file system without locks, nobody waits.
  TuningLock(FileSystem& files, const std::string& path, const std::function<bool()>& stop);
  ~TuningLock();
  TuningLock(const TuningLock&) = delete;
  TuningLock& operator=(const TuningLock&) = delete;

  // False: stopped while another process held it.
  bool held() const { return held_; }

 private:
  FileSystem& files_;
  std::unique_ptr<OpenFile> file_;
  bool held_ = true;
};

}  // namespace quern

#endif  // QUERN_TUNER_SWEEP_TUNING_LOCK_H_
