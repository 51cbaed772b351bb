#include "api/manifest_writer.h"

#include <fcntl.h>

#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace quern {

ManifestWriter::ManifestWriter(std::string path, const Log& log) : path_(std::move(path)), log_(log) {}

void ManifestWriter::add(const std::string& problem, const std::string& arch, const std::string& config) {
  if (path_.empty()) return;
  Json line = {{"problem", problem}, {"arch", arch}};
  if (!config.empty()) line["config"] = config;
  const std::lock_guard lock(mutex_);
  read_once();
  if (lines_.insert(line.dump()).second) waiting_.push_back(line.dump() + "\n");
  while (!waiting_.empty() && append(waiting_.front())) waiting_.pop_front();
}

// The lines of earlier processes. Pending lines that were added before the file could be read may already be in it.
void ManifestWriter::read_once() {
  if (read_) return;
  std::string before;
  read_ = !may_pass(read_file(path_, &before));
  for (const std::string_view known : split(before, '\n')) {
    if (!lines_.emplace(known).second) std::erase(waiting_, cat(known, "\n"));
  }
}

// One write to a file opened for appending, so that lines of several processes do not mix. A truncated line is
// terminated first.
bool ManifestWriter::append(const std::string& line) {
  FileSystem& files = real_file_system();
  const std::string text = torn_ ? "\n" + line : line;
  const OpenFile file(files, path_, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0666);
  FileStatus status;
  std::string why;
  if (file.error() != 0) {
    why = error_text(file.error());
  } else if (files.status(file.get(), &status) != 0 || status.kind != FileKind::regular) {
    why = "it is not a regular file";
  } else {
    const long written = uninterrupted([&] { return files.write(file.get(), text.data(), text.size()); });
    if (written < 0) why = error_text(error_of(written));
    if (written >= 0 && static_cast<std::size_t>(written) != text.size()) why = "a line was cut short";
    if (written > 0) torn_ = !why.empty();
  }
  if (!why.empty() && std::exchange(warned_, why) != why)
    log_.warning(cat("QUERN_MANIFEST: ", path_, " is not written: ", why));
  return why.empty();
}

}  // namespace quern
