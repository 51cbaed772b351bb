// XXH3. Names entries and finds plans; it does not protect against deliberate collisions.
#ifndef QUERN_BASE_HASH_H_
#define QUERN_BASE_HASH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quern {

struct Hash128 {
  std::array<std::uint8_t, 16> bytes{};  // canonical (big-endian) XXH3-128
  std::string hex() const;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

Hash128 hash128(std::string_view bytes);
std::uint64_t hash64(const void* data, std::size_t bytes);

}  // namespace quern

#endif  // QUERN_BASE_HASH_H_
