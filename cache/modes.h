// The permissions of what the cache makes.
#ifndef QUERN_CACHE_MODES_H_
#define QUERN_CACHE_MODES_H_

#include <cstdint>

namespace quern::cache {

inline constexpr std::uint32_t kDirectoryMode = 0700;
inline constexpr std::uint32_t kFileMode = 0600;
inline constexpr std::uint32_t kPackMode = 0644;  // a pack is read by other users

}  // namespace quern::cache

#endif  // QUERN_CACHE_MODES_H_
