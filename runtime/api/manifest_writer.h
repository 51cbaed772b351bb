// The manifest of QUERN_MANIFEST: what an application prepared, one JSON line for each problem and architecture.
#ifndef QUERN_API_MANIFEST_WRITER_H_
#define QUERN_API_MANIFEST_WRITER_H_

#include <set>
#include <string>

#include "base/fork_barrier.h"
#include "base/log.h"

namespace quern {

class ManifestWriter {
 public:
  // An empty path: nothing is written.
  ManifestWriter(std::string path, const Log& log);
  // A file that cannot be written costs one warning and nothing else. `config`: empty for the default.
  void add(const std::string& problem, const std::string& arch, const std::string& config);

 private:
  void append(const std::string& line);
  const std::string path_;
  const Log& log_;
  ForkSafeMutex mutex_;
  std::set<std::string> lines_;  // of this file, those of earlier processes included
  bool read_ = false;
};

}  // namespace quern

#endif  // QUERN_API_MANIFEST_WRITER_H_
