#include "base/hash.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/text.h"

namespace quern {

std::string Hash128::hex() const { return to_hex(bytes.data(), bytes.size()); }

Hash128 hash128(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Hash128 hash;
  static_assert(sizeof(canonical.digest) == sizeof(hash.bytes));
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), hash.bytes.begin());
  return hash;
}

std::uint64_t hash64(const void* data, std::size_t bytes) { return XXH3_64bits(data, bytes); }

}  // namespace quern
