// The manifest of QUERN_MANIFEST: the problems that an application prepared, one JSON line for each problem and
// architecture.
#ifndef QUERN_API_MANIFEST_WRITER_H_
#define QUERN_API_MANIFEST_WRITER_H_

#include <deque>
#include <mutex>
#include <set>
#include <string>

#include "base/fork_barrier.h"
#include "base/log.h"

namespace quern {

class ManifestWriter {
 public:
  // An empty path: nothing is written.
  ManifestWriter(std::string path, const Log& log);
  // A line that cannot be written is retried with the next one; the reason is logged as one warning. `config`: empty
  // for the default.
  void add(const std::string& problem, const std::string& arch, const std::string& config);

 private:
  void read_once();
  bool append(const std::string& line);
  const std::string path_;
  const Log& log_;
  ForkSafeMutex mutex_;
  std::set<std::string> lines_;  // of this file, including those of earlier processes, and the pending ones
  std::deque<std::string> waiting_;
  bool read_ = false;
  bool torn_ = false;   // the file ends in the middle of a line that this object wrote
  std::string warned_;  // the last reason
};

}  // namespace quern

#endif  // QUERN_API_MANIFEST_WRITER_H_
