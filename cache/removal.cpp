#include "cache/removal.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/files.h"
#include "base/text.h"

namespace quern::cache {
namespace {

constexpr std::string_view kAnyMagic = "\x89QUERN";  // of entries and failures
constexpr std::size_t kBeginning = 8;

Removal result_of(Services& services, const std::string& path, int error) {
  if (error == 0) return Removal::done;
  if (error == ENOENT) return Removal::gone;
  if (error == ENOTEMPTY || error == EEXIST) return Removal::kept;
  services.failed(cat("cannot remove ", path, ": ", error_text(error)));
  return Removal::failed;
}

// After a power failure a file may have its size but only zeros as content.
bool begins_as_ours(std::string_view bytes) {
  return bytes.substr(0, kAnyMagic.size()) == kAnyMagic || bytes.find_first_not_of('\0') == std::string_view::npos;
}

// 0, an errno value, or EEXIST if the store did not write the content.
int why_not_ours(FileSystem& files, const std::string& path, const FileStatus& status) {
  if (status.kind != FileKind::regular) return 0;
  std::string beginning(std::min<std::uint64_t>(status.bytes, kBeginning), '\0');
  const OpenFile file(files, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  int error = file.error();
  if (error == 0) error = read_exactly(files, file.get(), 0, beginning.size(), beginning.data());
  if (error != 0) return error;
  return begins_as_ours(beginning) ? 0 : EEXIST;
}

}  // namespace

Removal remove_own(Services& services, const std::string& path, Bytes bytes) {
  FileStatus status;
  const bool named = bytes == Bytes::any || path[path.rfind('/') + 1] == '.';
  int error = error_of(services.files.status(path, &status));
  if (error == 0 && status.kind == FileKind::directory) return remove_folder(services, path);
  if (error == 0 && !named) error = why_not_ours(services.files, path, status);
  if (error == 0) error = error_of(uninterrupted([&] { return services.files.remove(path); }));
  return result_of(services, path, error);
}

Removal remove_folder(Services& services, const std::string& folder) {
  return result_of(services, folder, error_of(services.files.remove_directory(folder)));
}

}  // namespace quern::cache
