// Removes only files that the store wrote: any program may have created a file under one of its names.
#ifndef QUERN_CACHE_REMOVAL_H_
#define QUERN_CACHE_REMOVAL_H_

#include <cstdint>
#include <string>

#include "cache/services.h"

namespace quern::cache {

enum class Removal : std::uint8_t {
  done,
  gone,    // it did not exist
  kept,    // the store did not write its content
  failed,  // counted and logged
};

// Removes a file under one of the store's names. Objects without content (a link, a fifo, an empty directory) are
// always removed; a regular file with Bytes::any always, with Bytes::own only if it begins like an entry or a failure,
// or if only the store uses its name.
enum class Bytes : std::uint8_t { own, any };
Removal remove_own(Services& services, const std::string& path, Bytes bytes = Bytes::own);

// Removes a folder of entries if it is empty.
Removal remove_folder(Services& services, const std::string& folder);

}  // namespace quern::cache

#endif  // QUERN_CACHE_REMOVAL_H_
