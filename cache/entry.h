// One image in the form that the store keeps. The bytes are described in FORMAT.md.
#ifndef QUERN_CACHE_ENTRY_H_
#define QUERN_CACHE_ENTRY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace quern::cache {

inline constexpr std::uint32_t kEntrySchema = 1;

struct Entry {
  std::string what, who;                        // the full key texts, compared on every hit; the store fills them in
  std::string compiler;                         // readable: "nvrtc 13.0.88"
  std::uint64_t compiler_order = 0;             // newer releases compare greater; builds of one release are equal
  bool prewarmed = false;                       // made ahead of time: may serve other compilers' keys
  std::string kernel;                           // entry point name
  std::map<std::string, std::int64_t> numbers;  // resources: registers, shared_bytes, ...
  std::string cubin, ptx, source, log;
  std::int64_t created_unix_ns = 0;  // 0: the store fills it in
  double compile_ms = 0;
  bool texts_elsewhere = false;  // ptx, source and log are still in the pack: see Store::whole

  friend bool operator==(const Entry&, const Entry&) = default;
};

// Equal entries give equal bytes.
std::string serialize(const Entry& entry);

// Returns the entry, or nothing and a reason. Safe for any bytes: it never reads out of bounds, and it detects any
// accidental change to the output of `serialize`, but not a change with a recomputed checksum. `why_not` may be null.
std::optional<Entry> parse(std::string_view bytes, std::string* why_not);

// Parses the description of an entry: everything except cubin, ptx, source and log. Enough to list entries and to
// choose one of several. `beginning`: the first bytes of a file of `file_bytes`; if they are too few, returns nothing
// and `needed` is the number required, else it is 0. Does not verify the checksum, which covers the whole file.
std::optional<Entry> parse_description(std::string_view beginning, std::uint64_t file_bytes, std::uint64_t* needed,
                                       std::string* why_not);

// The size of the part that a launch needs, in the output of `serialize`: up to the end of the cubin, or of the ptx if
// there is no cubin.
std::uint64_t head_bytes(std::string_view serialized);
// Parses only that part of a file of `file_bytes`; the entry has `texts_elsewhere`. Does not verify the checksum.
std::optional<Entry> parse_head(std::string_view head, std::uint64_t file_bytes, std::string* why_not);

// Whether this is the beginning of an entry of a schema above kEntrySchema.
bool begins_as_newer_schema(std::string_view beginning);
// Whether this is a complete entry of a schema above kEntrySchema: a later quern made it, and this one does not parse
// it.
bool is_of_newer_schema(std::string_view bytes);

// A hash of the bytes that the driver gets.
Hash128 image_hash(const Entry& entry);

}  // namespace quern::cache

#endif  // QUERN_CACHE_ENTRY_H_
