// QUERN_RECORD: a manifest of what an application prepared, one JSON line a problem and architecture, without repeats.
#ifndef QUERN_API_RECORD_FILE_H_
#define QUERN_API_RECORD_FILE_H_

#include <mutex>
#include <set>
#include <string>

#include "base/log.h"

namespace quern {

class RecordFile {
 public:
  // An empty path: nothing is recorded.
  RecordFile(std::string path, const Log& log);
  // A file that cannot be written costs one warning and nothing else. `config`: empty for the default.
  void add(const std::string& problem, const std::string& arch, const std::string& config);

 private:
  void append(const std::string& line);
  const std::string path_;
  const Log& log_;
  std::mutex mutex_;
  std::set<std::string> lines_;  // of this file, those of earlier processes included
  bool read_ = false;
};

}  // namespace quern

#endif  // QUERN_API_RECORD_FILE_H_
