#include "api/manifest_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"

namespace quern {

ManifestWriter::ManifestWriter(std::string path, const Log& log) : path_(std::move(path)), log_(log) {}

void ManifestWriter::add(const std::string& problem, const std::string& arch, const std::string& config) {
  if (path_.empty()) return;
  nlohmann::ordered_json line = {{"problem", problem}, {"arch", arch}};
  if (!config.empty()) line["config"] = config;
  const std::lock_guard lock(mutex_);
  if (!std::exchange(read_, true)) {
    const std::string before = read_file(path_).value_or("");
    for (std::string_view known : split(before, '\n')) lines_.emplace(known);
  }
  if (lines_.insert(line.dump()).second) append(line.dump() + "\n");
}

// One write to a file opened for appending: lines of several processes do not mix.
void ManifestWriter::append(const std::string& line) {
  const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const bool written = file >= 0 && write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (!written) log_.warning(cat("QUERN_MANIFEST: ", path_, ": ", error_text(errno)));
  if (file >= 0) close(file);
}

}  // namespace quern
