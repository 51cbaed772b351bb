// Whose files are believed: an entry is machine code that will run.
#ifndef QUERN_CACHE_TRUST_H_
#define QUERN_CACHE_TRUST_H_

#include <cstdint>
#include <string>

#include "base/files.h"

namespace quern::cache {

// Why a thing of this status is not believed in a layer that `user` writes to; empty if it is. It must be of `kind`,
// belong to `user` and be writable by nobody else.
std::string why_untrusted(const FileStatus& status, FileKind kind, std::uint32_t user);

}  // namespace quern::cache

#endif  // QUERN_CACHE_TRUST_H_
