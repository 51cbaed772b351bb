// Which owners are trusted: an entry is machine code that will run.
#ifndef QUERN_CACHE_TRUST_H_
#define QUERN_CACHE_TRUST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"

namespace quern::cache {

// The trusted owners of a layer. Group and others must not have write permission in any case.
struct Trust {
  enum class Owners : std::uint8_t {
    user,   // only the effective user: for the written directory
    owner,  // root or the effective user
    uids,   // these too
    any,    // "mode-only"
  };
  Owners owners = Owners::user;
  std::vector<std::uint32_t> uids;
  bool overflow_is_user = false;  // see below
  bool cpu_code = false;  // ",host": also images of the target `host`, which are libraries that this process loads
};

// The uid that the kernel shows for every owner that it cannot map, in a user namespace or from a file server. It
// belongs to no one, so a process that runs under it cannot identify its own files and by default trusts none.
std::uint32_t overflow_uid();

// "owner", "uids=0,1000" or "mode-only", each with ",host" or without. Throws Error (bad_input) that names `variable`
// and the accepted values.
Trust parse_trust(std::string_view text, std::string_view variable);
std::string trust_text(const Trust& trust);

// Why a file of this status is not trusted; empty if it is. It must be of `kind`.
std::string why_untrusted(const FileStatus& status, FileKind kind, const Trust& trust, std::uint32_t user);

// The same for a read-only layer's path and every directory above it, both as given and with links resolved: a user who
// can rename one of them controls what is found there. A directory that others may write is accepted if its sticky bit
// protects the entries of other users. The result starts with the component at fault; `error` gets the errno value if a
// component could not be examined.
std::string why_path_untrusted(FileSystem& files, const std::string& path, const Trust& trust, int* error);

// Whether an image is CPU code, from the key text `what`.
bool is_cpu_code(std::string_view what);
// Why an image in a file of `owner` is not trusted; empty if it is. `what` as above.
std::string why_code_untrusted(std::string_view what, std::uint32_t owner, const Trust& trust, std::uint32_t user);

// What to run if a directory has untrusted files; `own`: it is the user's own, not a layer.
std::string untrusted_remedy(const std::string& dir, bool own);

}  // namespace quern::cache

#endif  // QUERN_CACHE_TRUST_H_
