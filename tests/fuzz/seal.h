// Corrects sizes and checksums, which would otherwise stop a fuzzer at once. All other bytes stay as they are, so that
// a mutated input gets past the checksum and into the reader.
#ifndef QUERN_TESTS_FUZZ_SEAL_H_
#define QUERN_TESTS_FUZZ_SEAL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "cache/budget.h"
#include "cache/codec.h"
#include "cache/pack.h"

namespace quern::fuzz {

inline constexpr std::size_t kSizeAt = 16;  // in entries and failures

inline void put_at(std::string& bytes, std::size_t at, std::uint64_t number) {
  std::string put;
  cache::put_number(put, number);
  bytes.replace(at, put.size(), put);
}

inline std::uint64_t number_at(std::string_view bytes, std::size_t at) {
  return cache::Reader(bytes.substr(at)).number<std::uint64_t>();
}

inline void put_checksum_of(std::string& bytes, std::string_view covered) {
  bytes.resize(bytes.size() - cache::kChecksumBytes);
  cache::put_hash(bytes, hash128(covered));
}

// The file of an image or of a failure.
inline std::string sealed(std::string_view from) {
  std::string bytes(from);
  if (bytes.size() < kSizeAt + sizeof(std::uint64_t) + cache::kChecksumBytes) return bytes;
  put_at(bytes, kSizeAt, bytes.size());
  put_checksum_of(bytes, std::string(bytes, 0, bytes.size() - cache::kChecksumBytes));
  return bytes;
}

// The account of a directory, which has a fixed size.
inline std::string sealed_usage(std::string_view from) {
  static const std::size_t size = cache::serialize(cache::Usage{}).size();
  std::string bytes(from);
  bytes.resize(size);
  put_checksum_of(bytes, std::string(bytes, 0, size - cache::kChecksumBytes));
  return bytes;
}

// Seals the entry of row `row` of a pack, if it lies before the index.
// The checksums of the frames. The frames' content is not sealed: a fuzzer rarely creates one.
inline void seal_frames_of_row(std::string& bytes, std::size_t row, std::uint64_t index) {
  const std::uint64_t offset = number_at(bytes, row + 32);
  const std::uint64_t size = number_at(bytes, row + 40);
  const std::uint64_t head = number_at(bytes, row + 64);
  if (offset < cache::kPackHeaderBytes || offset > index || size > index - offset || head > size) return;
  std::string sums;
  cache::put_hash(sums, hash128(std::string_view(bytes).substr(offset, head)));
  cache::put_hash(sums, hash128(std::string_view(bytes).substr(offset + head, size - head)));
  bytes.replace(row + 88, sums.size(), sums);
}

inline void seal_entry_of_row(std::string& bytes, std::size_t row, std::uint64_t index) {
  const std::uint64_t offset = number_at(bytes, row + 32);
  const std::uint64_t size = number_at(bytes, row + 40);
  if (offset < cache::kPackHeaderBytes || offset > index || size > index - offset) return;
  const std::string entry = sealed(std::string_view(bytes).substr(offset, size));
  bytes.replace(offset, size, entry);
}

// As many rows as the footer claims and the bytes have room for, and their entries.
inline std::string sealed_pack(std::string_view from) {
  std::string bytes(from);
  const std::size_t least = cache::kPackHeaderBytes + cache::kPackFooterBytes;
  if (bytes.size() < least) return bytes;
  const std::size_t footer = bytes.size() - cache::kPackFooterBytes;
  const bool plain = bytes[8] != 2;
  const std::size_t row_bytes = plain ? cache::kPackRowBytes : cache::kCompressedRowBytes;
  const std::uint64_t room = (bytes.size() - least) / row_bytes;
  const std::uint64_t count = std::min(room, number_at(bytes, footer));
  const std::size_t index = footer - static_cast<std::size_t>(count) * row_bytes;
  for (std::size_t row = index; row < footer; row += row_bytes)
    (plain ? seal_entry_of_row : seal_frames_of_row)(bytes, row, index);
  put_at(bytes, footer, count);
  put_at(bytes, footer + 8, index);
  put_at(bytes, footer + 16, bytes.size());
  const std::string tail = bytes.substr(index, bytes.size() - index - cache::kChecksumBytes);
  put_checksum_of(bytes, cat(bytes.substr(0, cache::kPackHeaderBytes), tail));
  return bytes;
}

}  // namespace quern::fuzz

#endif  // QUERN_TESTS_FUZZ_SEAL_H_
