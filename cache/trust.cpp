#include "cache/trust.h"

#include "base/text.h"

namespace quern::cache {
namespace {

constexpr std::uint32_t kWritableByOthers = 0022;

const char* noun(FileKind kind) {
  static constexpr const char* kNouns[] = {"a plain file", "a directory", "a symbolic link", "a special file"};
  return kNouns[static_cast<int>(kind)];
}

std::string octal(std::uint32_t mode) {
  std::string digits = "0";
  for (int shift = 6; shift >= 0; shift -= 3) digits += static_cast<char>('0' + ((mode >> shift) & 7U));
  return digits;
}

}  // namespace

std::string why_untrusted(const FileStatus& status, FileKind kind, std::uint32_t user) {
  if (status.kind != kind) return cat("is ", noun(status.kind), ", not ", noun(kind));
  if (status.owner != user) return cat("belongs to uid ", status.owner, ", this process is uid ", user);
  if ((status.mode & kWritableByOthers) != 0)
    return cat("mode ", octal(status.mode), " lets others write there; chmod go-w");
  return {};
}

}  // namespace quern::cache
