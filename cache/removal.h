// Removing from the directory what is the store's own, and nothing else: a name may be anybody's.
#ifndef QUERN_CACHE_REMOVAL_H_
#define QUERN_CACHE_REMOVAL_H_

#include <cstdint>
#include <string>

#include "cache/services.h"

namespace quern::cache {

enum class Removal : std::uint8_t {
  done,
  gone,    // it was not there
  kept,    // it holds what the store did not write
  failed,  // counted and logged
};

// Removes a file under one of the store's names, or what lies in its place: what has no bytes of its own (a link, a
// fifo, an empty directory) in any case, a file with `any` bytes, or only where it begins like an entry or a failure,
// or where its name is one that the store alone gives.
enum class Bytes : std::uint8_t { own, any };
Removal remove_own(Services& services, const std::string& path, Bytes bytes = Bytes::own);

// Removes a folder of entries once it is empty.
Removal remove_folder(Services& services, const std::string& folder);

}  // namespace quern::cache

#endif  // QUERN_CACHE_REMOVAL_H_
