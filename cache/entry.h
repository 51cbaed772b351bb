// One image as the store keeps it. The bytes are described in FORMAT.md.
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
  std::string compiler;                         // for people: "nvrtc 13.0.88"
  std::uint64_t compiler_order = 0;             // newer releases compare greater; builds of one release are equal
  bool prewarmed = false;                       // made ahead of time: may serve other compilers' keys
  std::string kernel;                           // entry point name
  std::map<std::string, std::int64_t> numbers;  // resources: registers, shared_bytes, ...
  std::string cubin, ptx, source, log;
  std::int64_t created_unix_ns = 0;  // 0: the store fills it in
  double compile_ms = 0;
  bool texts_elsewhere = false;  // ptx, source and log were left in the pack that it comes from: see Store::whole

  friend bool operator==(const Entry&, const Entry&) = default;
};

// Equal entries give equal bytes.
std::string serialize(const Entry& entry);

// The entry, or nothing and a reason. Any bytes may be given: nothing outside of them is read, and any change to what
// `serialize` made is found. That holds for accidents, not for somebody who writes a right checksum. `why_not` may be
// null.
std::optional<Entry> parse(std::string_view bytes, std::string* why_not);

// What an entry says of itself before its cubin: all of it but cubin, ptx, source and log. Enough to list entries and
// to choose one of several. `beginning`: the first bytes of a file of `file_bytes`; if they are too few, nothing comes
// and `needed` says how many there must be, else it is 0. The checksum is not looked at, since that takes the whole
// file.
std::optional<Entry> parse_description(std::string_view beginning, std::uint64_t file_bytes, std::uint64_t* needed,
                                       std::string* why_not);

// What a launch needs: everything up to the cubin's end, and up to the ptx's where there is no cubin. Its size, of what
// `serialize` made.
std::uint64_t head_bytes(std::string_view serialized);
// An entry with `texts_elsewhere`, of just that part of a file of `file_bytes`. The checksum is not looked at.
std::optional<Entry> parse_head(std::string_view head, std::uint64_t file_bytes, std::string* why_not);

// The beginning of an entry of a schema above kEntrySchema.
bool begins_as_newer_schema(std::string_view beginning);
// An entry, whole, of a schema above kEntrySchema: a later quern made it, and no part of it is read here.
bool is_of_newer_schema(std::string_view bytes);

// Of what the driver is given.
Hash128 image_hash(const Entry& entry);

}  // namespace quern::cache

#endif  // QUERN_CACHE_ENTRY_H_
