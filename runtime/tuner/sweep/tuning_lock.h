// Held by the process that tunes a problem, so that others who want the same wait for its record.
#ifndef QUERN_TUNER_SWEEP_TUNING_LOCK_H_
#define QUERN_TUNER_SWEEP_TUNING_LOCK_H_

#include <functional>
#include <memory>
#include <string>

#include "base/files.h"

namespace quern {

class TuningLock {
 public:
  // Waits for others until `stop` says so. `path` is made where it is missing, and stays. An empty path, and a file
  // system that has no locks, hold nobody back.
  TuningLock(FileSystem& files, const std::string& path, const std::function<bool()>& stop);
  ~TuningLock();
  TuningLock(const TuningLock&) = delete;
  TuningLock& operator=(const TuningLock&) = delete;

  // False: `stop` came while another had it.
  bool held() const { return held_; }

 private:
  FileSystem& files_;
  std::unique_ptr<OpenFile> file_;
  bool held_ = true;
};

}  // namespace quern

#endif  // QUERN_TUNER_SWEEP_TUNING_LOCK_H_
