// One file with many entries, for shipping images. The bytes are described in FORMAT.md.
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

// The location of one entry, and the fields that a look-up needs without reading it. In a compressed pack an entry is
// two zstd frames, so that a hit decompresses only what it needs: the head (see head_bytes), and the rest.
struct PackRow {
  Hash128 what_hash, who_hash;
  std::uint64_t offset = 0, bytes = 0;  // in the pack
  std::uint64_t compiler_order = 0;
  std::int64_t created_unix_ns = 0;
  // Of a compressed pack; zeros in a plain one.
  std::uint64_t head_frame_bytes = 0;
  std::uint64_t head_bytes = 0, rest_bytes = 0;  // uncompressed
  // Of the compressed frames: a frame with a changed bit may decompress to the same bytes.
  Hash128 head_checksum, rest_checksum;

  // The size of the entry as a file of its own.
  std::uint64_t entry_bytes() const { return head_frame_bytes == 0 ? bytes : head_bytes + rest_bytes; }

  // hex(what)/hex(who), as in a directory.
  std::string key() const;
};

// The rows of a pack, sorted by their hashes.
class PackIndex {
 public:
  PackIndex(std::vector<PackRow> rows, PackForm form) : rows_(std::move(rows)), form_(form) {}
  PackForm form() const { return form_; }
  const std::vector<PackRow>& rows() const { return rows_; }
  const PackRow* find(const Hash128& what, const Hash128& who) const;
  // By hex(what)/hex(who).
  const PackRow* find_key(std::string_view key) const;
  // All rows of one `what`.
  std::span<const PackRow> find(const Hash128& what) const;

 private:
  std::vector<PackRow> rows_;
  PackForm form_;
};

// The offset of the index of a pack of `file_bytes`, from its last kPackFooterBytes bytes.
std::optional<std::uint64_t> pack_index_offset(std::string_view footer, std::uint64_t file_bytes, PackForm form,
                                               std::string* why_not);
// Parses the pack's header and everything from the index on. Safe for any bytes.
std::optional<PackIndex> parse_pack_index(std::string_view header, std::string_view tail, std::uint64_t file_bytes,
                                          std::string* why_not);

// Reads header, footer and index of an open pack: three reads, whatever its size.
std::optional<PackIndex> read_pack_index(FileSystem& files, int file, std::uint64_t file_bytes, std::string* why_not);
// Reads the bytes of a row's entry, decompressed: all of them, or its head. Only a head is verified. Returns false with
// a reason; `error` gets the errno value if the file is the cause.
enum class PackPart : std::uint8_t { head, whole };
bool read_pack_bytes(FileSystem& files, int file, const PackRow& row, PackPart part, std::string* bytes, int* error,
                     std::string* why_not);
// Reads and verifies the entry of a row. `bytes` is scratch space.
std::optional<Entry> read_pack_entry(FileSystem& files, int file, const PackRow& row, std::string* bytes,
                                     std::string* why_not);

// Writes a pack next to `path` and then renames it, one writer at a time. Entries are added in rising order of their
// hashes.
class PackWriter {
 public:
  // Waits for other writers of this pack: their changes are visible when this returns. Throws Error as PackLock does.
  PackWriter(FileSystem& files, const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds(60));
  // Before the first `add`; the pack is plain otherwise.
  void set_form(PackForm form);
  // Throws Error (io) that names the path and the reason. REQUIRES: the key is greater than the previous one.
  void add(const Entry& entry);
  void finish();
  std::size_t size() const { return rows_.size(); }
  std::uint64_t bytes() const { return offset_; }

 private:
  void append(std::string_view bytes);
  std::string compress(std::string_view bytes, PackRow& row) const;
  void check(int error) const;
  const std::string path_;
  const PackLock lock_;  // destroyed after the file
  std::optional<StagedFile> file_;
  PackForm form_ = PackForm::plain;
  const Zstd* zstd_ = nullptr;  // of a compressed pack
  std::vector<PackRow> rows_;
  std::uint64_t offset_ = 0;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_PACK_H_
