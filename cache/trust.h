// Whose files are believed: an entry is machine code that will run.
#ifndef QUERN_CACHE_TRUST_H_
#define QUERN_CACHE_TRUST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"

namespace quern::cache {

// Whom a layer may belong to. Whoever it is, group and others must not be able to write there.
struct Trust {
  enum class Owners : std::uint8_t {
    user,   // the effective user alone: the layer that is written to
    owner,  // root or the effective user
    uids,   // these too
    any,    // "mode-only"
  };
  Owners owners = Owners::user;
  std::vector<std::uint32_t> uids;
  bool overflow_is_user = false;  // see below
  bool cpu_code = false;  // ",host": images of the target `host` too, which are libraries that this process loads
};

// The uid that the kernel shows for every owner that it cannot name, in a user namespace or from a file server: it is
// nobody's. A process that runs under it cannot know what is its own, so by itself it trusts none of it.
std::uint32_t overflow_uid();

// "owner", "uids=0,1000" or "mode-only", each with ",host" or without. Throws Error (bad_input) that names `variable`
// and what it takes.
Trust parse_trust(std::string_view text, std::string_view variable);
std::string trust_text(const Trust& trust);

// Why a thing of this status is not believed; empty if it is. It must be of `kind`.
std::string why_untrusted(const FileStatus& status, FileKind kind, const Trust& trust, std::uint32_t user);

// The same for a read-only layer's path and every directory above it, as it is written and as it is without links: who
// may rename one of them decides what is found there. A directory that others may write passes where its sticky bit
// keeps them from renaming what is not theirs. Starts with the component that is in the way; `error` gets the errno
// value where it could not be looked at.
std::string why_path_untrusted(FileSystem& files, const std::string& path, const Trust& trust, int* error);

// Whether an image is CPU code, by the text that says what was built.
bool is_cpu_code(std::string_view what);
// Why an image that lay in a file of `owner` is not believed; empty if it is. `what` as above.
std::string why_code_untrusted(std::string_view what, std::uint32_t owner, const Trust& trust, std::uint32_t user);

// What to type where things in a directory are not trusted; `own`: it is the user's own, not a layer.
std::string untrusted_remedy(const std::string& dir, bool own);

}  // namespace quern::cache

#endif  // QUERN_CACHE_TRUST_H_
