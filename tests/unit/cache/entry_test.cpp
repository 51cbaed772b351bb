#include "cache/entry.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/hash.h"
#include "base/text.h"

namespace quern::cache {
namespace {

Entry small_entry() {
  Entry entry;
  entry.what = "6:schema=1:1\n";
  entry.who = "w";
  entry.compiler = "nvrtc 13.0.88";
  entry.compiler_order = 0x0102030405060708;
  entry.prewarmed = true;
  entry.kernel = "k";
  entry.numbers = {{"registers", 32}, {"spill", -1}};
  entry.cubin = std::string("\x7f\0ELF", 5);
  entry.ptx = "ptx";
  entry.created_unix_ns = 1'700'000'000'000'000'000;
  entry.compile_ms = 12.5;
  return entry;
}

std::string reason(std::string_view bytes) {
  std::string why;
  EXPECT_FALSE(parse(bytes, &why));
  EXPECT_FALSE(why.empty());
  return why;
}

// A forged checksum.
std::string resealed(std::string bytes) {
  bytes.resize(bytes.size() - 16);
  const Hash128 sum = hash128(bytes);
  bytes.append(reinterpret_cast<const char*>(sum.bytes.data()), sum.bytes.size());
  return bytes;
}

std::string with_byte(std::string bytes, std::size_t at, int value) {
  bytes[at] = static_cast<char>(value);
  return bytes;
}

TEST(Entry, RoundTrip) {
  const Entry entry = small_entry();
  std::string why;
  const auto parsed = parse(serialize(entry), &why);
  ASSERT_TRUE(parsed) << why;
  EXPECT_EQ(*parsed, entry);
  EXPECT_EQ(serialize(*parsed), serialize(entry));
}

TEST(Entry, RoundTripOfNothingAndOfMuch) {
  EXPECT_EQ(parse(serialize(Entry{}), nullptr), Entry{});
  Entry large = small_entry();
  large.cubin = std::string(1 << 20, '\xff');
  large.numbers[""] = std::numeric_limits<std::int64_t>::min();
  large.created_unix_ns = -1;
  EXPECT_EQ(parse(serialize(large), nullptr), large);
}

// FORMAT.md in bytes. If this fails, increment kEntrySchema; keep this entry and add one of the new schema.
constexpr const char* kGoldenSchema1 =
    "89515545524e0d0a0100000009000000"                                              // magic, schema, sections
    "22010000000000000100000000000000"                                              // size, flags
    "080706050403020100002a36fe9c9717"                                              // compiler order, created
    "0000000000002940"                                                              // compile_ms
    "01000000000000000d00000000000000"                                              // what
    "02000000000000000100000000000000"                                              // who
    "03000000000000000d00000000000000"                                              // compiler
    "04000000000000000100000000000000"                                              // kernel
    "05000000000000002600000000000000"                                              // numbers
    "06000000000000000500000000000000"                                              // cubin
    "07000000000000000300000000000000"                                              // ptx
    "08000000000000000000000000000000"                                              // source
    "09000000000000000000000000000000"                                              // log
    "363a736368656d613d313a310a"                                                    // what
    "77"                                                                            // who
    "6e767274632031332e302e3838"                                                    // compiler
    "6b"                                                                            // kernel
    "090000007265676973746572732000000000000000050000007370696c6cffffffffffffffff"  // numbers
    "7f00454c46"                                                                    // cubin
    "707478"                                                                        // ptx
    "a339ed42d3552108b1d78f478011c725";                                             // checksum

TEST(Entry, GoldenSchema1) {
  const std::string bytes = serialize(small_entry());
  EXPECT_EQ(to_hex(bytes.data(), bytes.size()), kGoldenSchema1);
}

TEST(Entry, EverySingleByteFlipIsFound) {
  const std::string bytes = serialize(small_entry());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int flip = 1; flip < 256; ++flip) {
      const std::string damaged = with_byte(bytes, at, bytes[at] ^ flip);
      ASSERT_FALSE(parse(damaged, nullptr)) << "byte " << at << " flipped by " << flip;
    }
  }
}

TEST(Entry, EveryTruncationAndAdditionIsFound) {
  const std::string bytes = serialize(small_entry());
  // A copy of exactly that size, so that a sanitizer detects a read past the end.
  for (std::size_t size = 0; size < bytes.size(); ++size) reason(std::string(bytes.data(), size));
  reason(bytes + '\0');
  reason(bytes + bytes);
}

TEST(Entry, ReasonsSayWhatIsWrong) {
  const std::string bytes = serialize(small_entry());
  EXPECT_NE(reason("hello").find("first bytes"), std::string::npos);
  EXPECT_NE(reason(bytes.substr(0, 20)).find("truncated"), std::string::npos);
  EXPECT_NE(reason(bytes.substr(0, 100)).find("size is 100 bytes"), std::string::npos);
  EXPECT_NE(reason(with_byte(bytes, 8, 2)).find("schema 2"), std::string::npos);
  EXPECT_NE(reason(with_byte(bytes, 210, 'x')).find("checksum"), std::string::npos);
}

// With a correct checksum every byte is set to every value: parsed or refused, never read out of bounds.
TEST(Entry, HostileBytesAreReadInBounds) {
  const std::string bytes = serialize(small_entry());
  for (std::size_t at = 24; at < bytes.size() - 16; ++at) {
    for (const int value : {0, 1, 127, 128, 255}) {
      const std::string changed = resealed(with_byte(bytes, at, value));
      const auto parsed = parse(changed, nullptr);
      if (parsed) {
        EXPECT_EQ(serialize(*parsed), changed);
      }
    }
  }
}

TEST(Entry, SectionSizesThatOverflowAreRefused) {
  std::string bytes = serialize(small_entry());
  for (std::size_t i = 0; i < 8; ++i) bytes[64 + i] = '\xff';
  EXPECT_EQ(reason(resealed(bytes)), "invalid section table");
}

}  // namespace
}  // namespace quern::cache
