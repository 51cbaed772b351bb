#include "cache/failure.h"

#include <array>

#include "base/text.h"
#include "cache/codec.h"

namespace quern::cache {
namespace {

constexpr std::string_view kFailureMagic = "\x89QUERNF\n";
constexpr std::uint32_t kFailureSchema = 1;
constexpr std::size_t kFailureSections = 4;
constexpr std::size_t kFailureBodyStart = 8 + 4 + 4 + 8 + 8 + kFailureSections * 8;

// Why the file as a whole is invalid; empty if it is valid.
std::string whole_fault(std::string_view bytes) {
  if (bytes.substr(0, kFailureMagic.size()) != kFailureMagic) return "not a quern failure: the first bytes differ";
  Reader reader(bytes.substr(kFailureMagic.size()));
  const auto schema = reader.number<std::uint32_t>();
  const auto zero = reader.number<std::uint32_t>();
  const auto size = reader.number<std::uint64_t>();
  if (reader.failed() || bytes.size() < kFailureBodyStart + kChecksumBytes)
    return cat("truncated: ", bytes.size(), " bytes");
  if (schema != kFailureSchema) return cat("schema ", schema, ", this reader knows ", kFailureSchema);
  if (zero != 0 || size != bytes.size()) return cat("size is ", bytes.size(), " bytes, ", size, " were written");
  return checksum_holds(bytes) ? "" : "the checksum differs";
}

bool read_failure(std::string_view bytes, Failure& failure) {
  Reader reader(bytes.substr(24, bytes.size() - 24 - kChecksumBytes));
  failure.created_unix_ns = reader.number<std::int64_t>();
  std::array<std::uint64_t, kFailureSections> sizes{};
  for (std::uint64_t& size : sizes) size = reader.number<std::uint64_t>();
  failure.what = reader.take(sizes[0]);
  failure.who = reader.take(sizes[1]);
  failure.sentence = reader.take(sizes[2]);
  failure.log = reader.take(sizes[3]);
  return reader.at_end();
}

}  // namespace

std::string serialize(const Failure& failure) {
  const std::array<std::string_view, kFailureSections> sections = {failure.what, failure.who, failure.sentence,
                                                                   failure.log};
  std::uint64_t size = kFailureBodyStart + kChecksumBytes;
  for (const std::string_view section : sections) size += section.size();
  std::string out(kFailureMagic);
  put_number(out, kFailureSchema);
  put_number(out, std::uint32_t{0});
  put_number(out, size);
  put_number(out, failure.created_unix_ns);
  for (const std::string_view section : sections) put_number(out, std::uint64_t{section.size()});
  for (const std::string_view section : sections) out += section;
  put_checksum(out);
  return out;
}

std::optional<Failure> parse_failure(std::string_view bytes, std::string* why_not) {
  std::optional<Failure> failure(std::in_place);
  std::string fault = whole_fault(bytes);
  if (fault.empty() && !read_failure(bytes, *failure)) fault = "invalid sizes of its parts";
  if (fault.empty()) return failure;
  if (why_not != nullptr) *why_not = std::move(fault);
  return std::nullopt;
}

}  // namespace quern::cache
