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
#include "cache/zstd.h"

namespace quern::cache {

inline constexpr std::size_t kPackRowBytes = 64;
inline constexpr std::size_t kCompressedRowBytes = 120;
inline constexpr std::size_t kPackHeaderBytes = 16;
inline constexpr std::size_t kPackFooterBytes = 40;

enum class PackForm : std::uint8_t { plain, compressed };

// Where one entry lies, and what a look-up must know without reading it. In a compressed pack it is two frames of zstd,
// so that a hit unpacks what it needs: the head (see head_bytes), and the rest.
struct PackRow {
  Hash128 what_hash, who_hash;
  std::uint64_t offset = 0, bytes = 0;  // in the pack
  std::uint64_t compiler_order = 0;
  std::int64_t created_unix_ns = 0;
  // Of a compressed pack; zeros in a plain one.
  std::uint64_t head_frame_bytes = 0;
  std::uint64_t head_bytes = 0, rest_bytes = 0;  // unpacked
  Hash128 head_checksum, rest_checksum;          // of the frames: a changed bit of one may unpack to the same

  // Of the entry as a file of its own.
  std::uint64_t entry_bytes() const { return head_frame_bytes == 0 ? bytes : head_bytes + rest_bytes; }

  // hex(what)/hex(who), as in a directory.
  std::string key() const;
};

// The rows of a pack in the order of their hashes.
class PackIndex {
 public:
  PackIndex(std::vector<PackRow> rows, PackForm form) : rows_(std::move(rows)), form_(form) {}
  PackForm form() const { return form_; }
  const std::vector<PackRow>& rows() const { return rows_; }
  const PackRow* find(const Hash128& what, const Hash128& who) const;
  // By hex(what)/hex(who).
  const PackRow* find_key(std::string_view key) const;
  // All of one `what`.
  std::span<const PackRow> find(const Hash128& what) const;

 private:
  std::vector<PackRow> rows_;
  PackForm form_;
};

// Where the index of a pack of `file_bytes` begins, from its last kPackFooterBytes bytes.
std::optional<std::uint64_t> pack_index_offset(std::string_view footer, std::uint64_t file_bytes, PackForm form,
                                               std::string* why_not);
// From the pack's header and everything from the index on. Any bytes may be given.
std::optional<PackIndex> parse_pack_index(std::string_view header, std::string_view tail, std::uint64_t file_bytes,
                                          std::string* why_not);

// Reads header, footer and index of an open pack: three reads whatever its size.
std::optional<PackIndex> read_pack_index(FileSystem& files, int file, std::uint64_t file_bytes, std::string* why_not);
// The bytes of a row's entry, unpacked and not checked but for a head's: all of them, or its head. False with a reason;
// `error` gets the errno value if the file is why.
enum class PackPart : std::uint8_t { head, whole };
bool read_pack_bytes(FileSystem& files, int file, const PackRow& row, PackPart part, std::string* bytes, int* error,
                     std::string* why_not);
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
  // Before the first `add`; plain otherwise.
  void set_form(PackForm form);
  // Throws Error (io) that names the path and the reason. REQUIRES: greater than the one before.
  void add(const Entry& entry);
  void finish();
  std::size_t size() const { return rows_.size(); }
  std::uint64_t bytes() const { return offset_; }

 private:
  void append(std::string_view bytes);
  std::string compress(std::string_view bytes, PackRow& row) const;
  void check(int error) const;
  const std::string path_;
  const PackLock lock_;  // goes after the file
  std::optional<StagedFile> file_;
  PackForm form_ = PackForm::plain;
  const Zstd* zstd_ = nullptr;  // of a compressed pack
  std::vector<PackRow> rows_;
  std::uint64_t offset_ = 0;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_PACK_H_
