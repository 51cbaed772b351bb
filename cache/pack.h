// One file that holds many entries: how images are shipped. The bytes are described in FORMAT.md.
#ifndef QUERN_CACHE_PACK_H_
#define QUERN_CACHE_PACK_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "cache/entry.h"
#include "cache/pack_lock.h"

namespace quern::cache {

inline constexpr std::size_t kPackRowBytes = 64;
inline constexpr std::size_t kPackHeaderBytes = 16;
inline constexpr std::size_t kPackFooterBytes = 40;

// Where one entry lies, and what a look-up must know without reading it.
struct PackRow {
  Hash128 what_hash, who_hash;
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t compiler_order = 0;
  std::int64_t created_unix_ns = 0;

  // hex(what)/hex(who), as in a directory.
  std::string key() const;
};

// The rows of a pack in the order of their hashes.
class PackIndex {
 public:
  explicit PackIndex(std::vector<PackRow> rows) : rows_(std::move(rows)) {}
  const std::vector<PackRow>& rows() const { return rows_; }
  const PackRow* find(const Hash128& what, const Hash128& who) const;
  // By hex(what)/hex(who).
  const PackRow* find_key(std::string_view key) const;
  // All of one `what`.
  std::span<const PackRow> find(const Hash128& what) const;

 private:
  std::vector<PackRow> rows_;
};

// Where the index of a pack of `file_bytes` begins, from its last kPackFooterBytes bytes.
std::optional<std::uint64_t> pack_index_offset(std::string_view footer, std::uint64_t file_bytes, std::string* why_not);
// From the pack's header and everything from the index on. Any bytes may be given.
std::optional<PackIndex> parse_pack_index(std::string_view header, std::string_view tail, std::uint64_t file_bytes,
                                          std::string* why_not);

// Reads header, footer and index of an open pack: three reads whatever its size.
std::optional<PackIndex> read_pack_index(FileSystem& files, int file, std::uint64_t file_bytes, std::string* why_not);
// The entry of a row, checked. `bytes` is room for it.
std::optional<Entry> read_pack_entry(FileSystem& files, int file, const PackRow& row, std::string* bytes,
                                     std::string* why_not);

// Writes a pack beside `path`, then puts it there in one step, one writer at a time. Entries are added in rising order
// of their hashes.
class PackWriter {
 public:
  // Waits for other writers of this pack: what they have made is there when this returns. Throws Error as PackLock
  // does.
  PackWriter(FileSystem& files, const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds(60));
  // Throws Error (io) that names the path and the reason. REQUIRES: greater than the one before.
  void add(const Entry& entry);
  void finish();
  std::size_t size() const { return rows_.size(); }
  std::uint64_t bytes() const { return offset_; }

 private:
  void append(std::string_view bytes);
  void check(int error) const;
  const std::string path_;
  const PackLock lock_;  // goes after the file
  std::optional<StagedFile> file_;
  std::vector<PackRow> rows_;
  std::uint64_t offset_ = 0;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_PACK_H_
