// Encoding of numbers and texts in the store's files: little-endian, unpadded, bounds-checked, with a checksum at the
// end.
#ifndef QUERN_CACHE_CODEC_H_
#define QUERN_CACHE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace quern::cache {

inline constexpr std::size_t kChecksumBytes = 16;

template <class Integer>
void put_number(std::string& out, Integer value) {
  for (std::size_t byte = 0; byte < sizeof(value); ++byte)
    out += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * byte)) & 0xFF);
}

inline void put_hash(std::string& out, const Hash128& hash) {
  out.append(reinterpret_cast<const char*>(hash.bytes.data()), hash.bytes.size());
}

inline void put_checksum(std::string& out) { put_hash(out, hash128(out)); }

// REQUIRES: at least kChecksumBytes bytes.
inline bool checksum_holds(std::string_view bytes) {
  std::string sum;
  put_hash(sum, hash128(bytes.substr(0, bytes.size() - kChecksumBytes)));
  return bytes.substr(bytes.size() - kChecksumBytes) == sum;
}

// Reads from the front of a text that may be truncated anywhere; after the end all values are zero and `failed` stays
// set.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  template <class Integer>
  Integer number() {
    std::uint64_t value = 0;
    const std::string_view bytes = take(sizeof(Integer));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return static_cast<Integer>(value);
  }

  Hash128 hash() {
    Hash128 hash;
    const std::string_view bytes = take(hash.bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) hash.bytes[i] = static_cast<std::uint8_t>(bytes[i]);
    return hash;
  }

  bool failed() const { return failed_; }
  bool at_end() const { return rest_.empty() && !failed_; }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_CODEC_H_
