#include "cache/entry.h"

#include <array>
#include <bit>
#include <numeric>

#include "base/text.h"
#include "cache/codec.h"

namespace quern::cache {
namespace {

constexpr std::string_view kEntryMagic = "\x89QUERN\r\n";
constexpr std::size_t kHeaderBytes = 56;
constexpr std::size_t kRowBytes = 16;
constexpr std::uint64_t kPrewarmed = 1;

// In file order. A section's tag is its position here, from 1.
enum Section : std::size_t { kWhat, kWho, kCompiler, kKernel, kNumbers, kCubin, kPtx, kSource, kLog, kSections };
constexpr std::size_t kBodyStart = kHeaderBytes + kSections * kRowBytes;

std::string write_numbers(const std::map<std::string, std::int64_t>& from) {
  std::string out;
  for (const auto& [name, value] : from) {
    put_number(out, static_cast<std::uint32_t>(name.size()));
    out += name;
    put_number(out, value);
  }
  return out;
}

// False unless the names are strictly rising: each list has one encoding.
bool read_numbers(std::string_view bytes, std::map<std::string, std::int64_t>& to) {
  Reader reader(bytes);
  while (!reader.at_end() && !reader.failed()) {
    const std::string_view name = reader.take(reader.number<std::uint32_t>());
    const auto value = reader.number<std::int64_t>();
    if (reader.failed() || (!to.empty() && to.rbegin()->first >= name)) return false;
    to.emplace_hint(to.end(), name, value);
  }
  return !reader.failed();
}

// Why the header is invalid; empty if it is valid.
std::string header_fault(std::string_view bytes, std::uint64_t file_bytes) {
  if (bytes.substr(0, kEntryMagic.size()) != kEntryMagic) return "not a quern entry: the first bytes differ";
  Reader reader(bytes.substr(kEntryMagic.size()));
  const auto schema = reader.number<std::uint32_t>();
  const auto sections = reader.number<std::uint32_t>();
  const auto size = reader.number<std::uint64_t>();
  if (reader.failed()) return cat("truncated: ", bytes.size(), " bytes");
  if (schema != kEntrySchema) return cat("schema ", schema, ", this reader knows ", kEntrySchema);
  if (sections != kSections) return cat(sections, " sections, schema ", schema, " has ", std::size_t{kSections});
  if (size != file_bytes) return cat("size is ", file_bytes, " bytes, ", size, " were written");
  return size < kBodyStart + kChecksumBytes ? cat("truncated: ", size, " bytes") : "";
}

constexpr const char* kWrongTable = "invalid section table";

using Sections = std::array<std::string_view, kSections>;
using Sizes = std::array<std::uint64_t, kSections>;

// False unless the sections add up to `body_bytes`.
bool read_table(std::string_view table, std::uint64_t body_bytes, Sizes& sizes) {
  Reader rows(table);
  std::uint32_t tag = 0;
  for (std::uint64_t& size : sizes) {
    if (rows.number<std::uint32_t>() != ++tag || rows.number<std::uint32_t>() != 0) return false;
    size = rows.number<std::uint64_t>();
    if (size > body_bytes) return false;
    body_bytes -= size;
  }
  return body_bytes == 0;
}

bool read_header(std::string_view header, Entry& entry) {
  Reader reader(header.substr(24));
  const auto flags = reader.number<std::uint64_t>();
  entry.prewarmed = (flags & kPrewarmed) != 0;
  entry.compiler_order = reader.number<std::uint64_t>();
  entry.created_unix_ns = reader.number<std::int64_t>();
  entry.compile_ms = std::bit_cast<double>(reader.number<std::uint64_t>());
  return (flags & ~kPrewarmed) == 0;
}

// Header and table.
bool read_start(std::string_view bytes, std::uint64_t file_bytes, Entry& entry, Sizes& sizes) {
  const std::string_view table = bytes.substr(kHeaderBytes, kBodyStart - kHeaderBytes);
  return read_header(bytes.substr(0, kHeaderBytes), entry) &&
         read_table(table, file_bytes - kBodyStart - kChecksumBytes, sizes);
}

// The sections in `bytes`, which may end before the cubin.
bool read_sections(std::string_view bytes, const Sizes& sizes, Entry& entry) {
  Sections sections;
  Reader body(bytes.substr(kBodyStart));
  for (std::size_t i = 0; i < kSections && !body.at_end(); ++i) sections[i] = body.take(sizes[i]);
  entry.what = sections[kWhat];
  entry.who = sections[kWho];
  entry.compiler = sections[kCompiler];
  entry.kernel = sections[kKernel];
  entry.cubin = sections[kCubin];
  entry.ptx = sections[kPtx];
  entry.source = sections[kSource];
  entry.log = sections[kLog];
  return read_numbers(sections[kNumbers], entry.numbers);
}

std::uint64_t end_of(const Sizes& sizes, std::size_t sections) {
  return std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(sections),
                         std::uint64_t{kBodyStart});
}

std::size_t head_sections(const Sizes& sizes) { return sizes[kCubin] != 0 ? kCubin + 1 : kPtx + 1; }

// The first `count` sections, by their sizes. See parse_description.
template <class Count>
std::optional<Entry> parse_sections(std::string_view beginning, std::uint64_t file_bytes, const Count& count,
                                    std::uint64_t* needed, std::string* why_not) {
  std::optional<Entry> entry(std::in_place);
  Sizes sizes{};
  *needed = 0;
  std::string fault = header_fault(beginning, file_bytes);
  if (fault.empty() && beginning.size() < kBodyStart) return *needed = kBodyStart, std::nullopt;
  if (fault.empty() && !read_start(beginning, file_bytes, *entry, sizes)) fault = kWrongTable;
  const std::uint64_t end = end_of(sizes, count(sizes));
  if (fault.empty() && beginning.size() < end) return *needed = end, std::nullopt;
  if (fault.empty() && !read_sections(beginning.substr(0, static_cast<std::size_t>(end)), sizes, *entry))
    fault = kWrongTable;
  if (fault.empty()) return entry;
  if (why_not != nullptr) *why_not = std::move(fault);
  return std::nullopt;
}

}  // namespace

std::string serialize(const Entry& entry) {
  const std::string number_bytes = write_numbers(entry.numbers);
  const Sections sections = {entry.what,  entry.who, entry.compiler, entry.kernel, number_bytes,
                             entry.cubin, entry.ptx, entry.source,   entry.log};
  std::uint64_t size = kBodyStart + kChecksumBytes;
  for (const std::string_view section : sections) size += section.size();
  std::string out(kEntryMagic);
  out.reserve(static_cast<std::size_t>(size));
  put_number(out, kEntrySchema);
  put_number(out, static_cast<std::uint32_t>(kSections));
  put_number(out, size);
  put_number(out, entry.prewarmed ? kPrewarmed : std::uint64_t{0});
  put_number(out, entry.compiler_order);
  put_number(out, entry.created_unix_ns);
  put_number(out, std::bit_cast<std::uint64_t>(entry.compile_ms));
  for (std::size_t i = 0; i < sections.size(); ++i) {
    put_number(out, static_cast<std::uint32_t>(i + 1));
    put_number(out, std::uint32_t{0});
    put_number(out, std::uint64_t{sections[i].size()});
  }
  for (const std::string_view section : sections) out += section;
  put_checksum(out);
  return out;
}

std::optional<Entry> parse(std::string_view bytes, std::string* why_not) {
  std::optional<Entry> entry(std::in_place);
  Sizes sizes{};
  std::string fault = header_fault(bytes, bytes.size());
  if (fault.empty() && !checksum_holds(bytes)) fault = "the checksum differs";
  if (fault.empty() && !(read_start(bytes, bytes.size(), *entry, sizes) &&
                         read_sections(bytes.substr(0, bytes.size() - kChecksumBytes), sizes, *entry)))
    fault = kWrongTable;
  if (fault.empty()) return entry;
  if (why_not != nullptr) *why_not = std::move(fault);
  return std::nullopt;
}

std::optional<Entry> parse_description(std::string_view beginning, std::uint64_t file_bytes, std::uint64_t* needed,
                                       std::string* why_not) {
  return parse_sections(
      beginning, file_bytes, [](const Sizes&) { return std::size_t{kCubin}; }, needed, why_not);
}

std::uint64_t head_bytes(std::string_view serialized) {
  Entry ignored;
  Sizes sizes{};
  read_start(serialized, serialized.size(), ignored, sizes);
  return end_of(sizes, head_sections(sizes));
}

std::optional<Entry> parse_head(std::string_view head, std::uint64_t file_bytes, std::string* why_not) {
  std::uint64_t needed = 0;
  auto entry = parse_sections(head, file_bytes, &head_sections, &needed, why_not);
  if (needed != 0 && why_not != nullptr) *why_not = "truncated";
  if (entry) entry->texts_elsewhere = true;
  return entry;
}

bool begins_as_newer_schema(std::string_view beginning) {
  if (beginning.size() < kHeaderBytes || beginning.substr(0, kEntryMagic.size()) != kEntryMagic) return false;
  return Reader(beginning.substr(kEntryMagic.size())).number<std::uint32_t>() > kEntrySchema;
}

bool is_of_newer_schema(std::string_view bytes) { return begins_as_newer_schema(bytes) && checksum_holds(bytes); }

Hash128 image_hash(const Entry& entry) { return hash128(entry.cubin.empty() ? entry.ptx : entry.cubin); }

}  // namespace quern::cache
