// The fast path for a record's line gives the result of a JSON parser, or leaves the line to one.
#include "records/written_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "api/builtin_families.h"
#include "base/hash.h"
#include "base/text.h"
#include "records/record_layers.h"
#include "unit/records/support.h"

namespace quern::test {
namespace {

std::string without_check(const std::string& line) { return line.substr(0, line.rfind(",\"check\":\"")); }

// The same members in the order of their names, which only a JSON parser reads.
ParsedLine read_sorted(const std::string& members) {
  const std::string object = nlohmann::json::parse(members + "}").dump();
  return parse_record(cat(object.substr(0, object.size() - 1), ",\"check\":\"", hash128(object).hex(), "\"}"));
}

void expect_read_alike(const std::string& line) {
  Record record;
  ASSERT_TRUE(read_written_line(without_check(line), record)) << line;
  const ParsedLine parsed = read_sorted(without_check(line));
  ASSERT_EQ(parsed.kind, ParsedLine::Kind::record) << parsed.why;
  EXPECT_EQ(parsed.record, record);
}

// With nothing in it that JSON escapes.
Record plain_record() {
  Record record = whole_record();
  record.rivals.back().config = "unroll=8";
  return record;
}

bool reads(const std::string& members) {
  Record record;
  return read_written_line(members, record);
}

std::string with(const std::string& from, const std::string& to) {
  std::string members = without_check(record_line(plain_record()));
  const std::size_t at = members.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return members.replace(at, from.size(), to);
}

TEST(WrittenLine, EveryShippedRecordIsReadAsByAParser) {
  int lines = 0;
  for (const Family* family : builtin_families()) {
    for (const ReadRecord& item : parse_records(shipped_records(*family), family->name).records) {
      expect_read_alike(item.line);
      ++lines;
    }
  }
  EXPECT_GT(lines, 50);
}

TEST(WrittenLine, NumbersOfEverySizeAreReadAsByAParser) {
  Record record = plain_record();
  for (int exponent = -300; exponent <= 300; exponent += 7) {
    record.us = std::ldexp(1.1, 3 * exponent);
    record.seconds = std::nextafter(record.us, 0.0);
    record.seed = static_cast<std::uint64_t>(record.us < 1e18 ? record.us : 1e18);
    expect_read_alike(record_line(record));
  }
}

TEST(WrittenLine, WithoutRivalsAndTexts) {
  expect_read_alike(record_line(plain_record()));
  expect_read_alike(record_line(record_for("gather width=8")));
  expect_read_alike(record_line(Record{}));
}

TEST(WrittenLine, AnEscapedTextIsLeftToAParser) {
  const std::string line = record_line(whole_record());
  EXPECT_FALSE(reads(without_check(line)));
  EXPECT_EQ(parse_record(line).record, whole_record());
}

TEST(WrittenLine, EveryOtherFormIsLeftToAParser) {
  EXPECT_TRUE(reads(with("", "")));
  EXPECT_TRUE(reads(with("\"us\":9.69", "\"us\":9")));
  EXPECT_TRUE(reads(with("\"us\":9.69", "\"us\":9e-3")));
  for (const char* number : {"09.69", "9.", "9.e1", ".9", "-9", "+9", "9 ", " 9", "1e999", "inf", "nan", "0x9", "9e",
                             "\"9\"", "", "null", "9,9", "9.6.9"})
    EXPECT_FALSE(reads(with("\"us\":9.69", cat("\"us\":", number)))) << number;
  for (const char* number : {"031", "31.0", "3e1", "-31", "3000000000", "\"31\""})
    EXPECT_FALSE(reads(with("\"samples\":31", cat("\"samples\":", number)))) << number;
  for (const char* text : {"gat\tr", "gat\x7fr", "gat\xffr", "gat\\u0065r", "gat\"r"})
    EXPECT_FALSE(reads(with("\"gather\"", cat("\"", text, "\"")))) << text;
  EXPECT_FALSE(reads(with("\"us\":9.69,", "")));
  EXPECT_FALSE(reads(with("\"us\":9.69,", "\"us\":9.69,\"x\":1,")));
  EXPECT_FALSE(reads(with("\"us\":9.69,", "\"us\":9.69,\"us\":9.69,")));
  EXPECT_FALSE(reads(with(",\"us\"", " ,\"us\"")));
  EXPECT_FALSE(reads(with("\"rivals\":[", "\"rivals\":[,")));
  EXPECT_FALSE(reads(with("\"rivals\":[", "\"rivals\":[1,")));
  EXPECT_FALSE(reads(with("},{", "}{")));
  EXPECT_FALSE(reads(with("\"quern_record\":1", "\"quern_record\":2")));
  EXPECT_FALSE(reads(with("\"quern_record\":1", "\"quern_record\":11")));
  EXPECT_FALSE(reads(with("", "") + ",\"x\":1"));
}

TEST(WrittenLine, AnyCutIsSeen) {
  const std::string members = with("", "");
  const std::size_t digits = std::to_string(kNovember).size();  // a number that is cut is a number
  for (std::size_t size = 0; size <= members.size() - digits; ++size)
    EXPECT_FALSE(reads(members.substr(0, size))) << size;
}

}  // namespace
}  // namespace quern::test
