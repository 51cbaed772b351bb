#include "cache/entry.h"

#include <array>
#include <bit>

#include "base/text.h"
#include "cache/codec.h"

namespace quern::cache {
namespace {

constexpr std::string_view kMagic = "\x89QUERN\r\n";
constexpr std::size_t kHeaderBytes = 56;
constexpr std::size_t kRowBytes = 16;
constexpr std::uint64_t kPrewarmed = 1;

// In the order of the file. A section's tag is its place here, from 1.
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

// False unless the names rise: one list has one form.
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

// What is wrong with the file as a whole; empty if nothing.
std::string whole_fault(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) return "no quern entry: the first bytes differ";
  Reader reader(bytes.substr(kMagic.size()));
  const auto schema = reader.number<std::uint32_t>();
  const auto sections = reader.number<std::uint32_t>();
  const auto size = reader.number<std::uint64_t>();
  if (reader.failed()) return cat("cut short: ", bytes.size(), " bytes");
  if (schema != kEntrySchema) return cat("schema ", schema, ", this reader knows ", kEntrySchema);
  if (sections != kSections) return cat(sections, " sections, schema ", schema, " has ", std::size_t{kSections});
  if (size != bytes.size()) return cat("size is ", bytes.size(), " bytes, ", size, " were written");
  if (size < kBodyStart + kChecksumBytes) return cat("cut short: ", size, " bytes");
  return checksum_holds(bytes) ? "" : "the checksum differs";
}

using Sections = std::array<std::string_view, kSections>;

bool read_sections(std::string_view table, std::string_view body, Sections& sections) {
  Reader rows(table);
  Reader contents(body);
  std::uint32_t tag = 0;
  for (std::string_view& section : sections) {
    if (rows.number<std::uint32_t>() != ++tag || rows.number<std::uint32_t>() != 0) return false;
    section = contents.take(rows.number<std::uint64_t>());
  }
  return contents.at_end();
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

bool read_entry(std::string_view bytes, Entry& entry) {
  Sections sections;
  const std::string_view body = bytes.substr(kBodyStart, bytes.size() - kBodyStart - kChecksumBytes);
  if (!read_header(bytes.substr(0, kHeaderBytes), entry)) return false;
  if (!read_sections(bytes.substr(kHeaderBytes, kBodyStart - kHeaderBytes), body, sections)) return false;
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

}  // namespace

std::string serialize(const Entry& entry) {
  const std::string number_bytes = write_numbers(entry.numbers);
  const Sections sections = {entry.what,  entry.who, entry.compiler, entry.kernel, number_bytes,
                             entry.cubin, entry.ptx, entry.source,   entry.log};
  std::uint64_t size = kBodyStart + kChecksumBytes;
  for (const std::string_view section : sections) size += section.size();
  std::string out(kMagic);
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
  std::string fault = whole_fault(bytes);
  if (fault.empty() && !read_entry(bytes, *entry)) fault = "the section table is wrong";
  if (fault.empty()) return entry;
  if (why_not != nullptr) *why_not = std::move(fault);
  return std::nullopt;
}

bool is_of_newer_schema(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic) return false;
  return Reader(bytes.substr(kMagic.size())).number<std::uint32_t>() > kEntrySchema && checksum_holds(bytes);
}

Hash128 image_hash(const Entry& entry) { return hash128(entry.cubin.empty() ? entry.ptx : entry.cubin); }

}  // namespace quern::cache
