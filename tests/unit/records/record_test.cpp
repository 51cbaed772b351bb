// One record as a line: it is read back, and a changed line is refused.
#include "records/record.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/hash.h"
#include "base/text.h"
#include "plan/problem.h"
#include "quern/quern.h"
#include "unit/records/support.h"

namespace quern::test {
namespace {

std::string why(std::string_view line) {
  const ParsedLine parsed = parse_record(line);
  EXPECT_NE(parsed.kind, ParsedLine::Kind::record) << line;
  return parsed.why;
}

// The object with its check put right.
std::string checked(const std::string& object) {
  return cat(object.substr(0, object.size() - 1), ",\"check\":\"", hash128(object).hex(), "\"}");
}

std::string with(std::string line, const std::string& from, const std::string& to) {
  const std::size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  line = line.replace(at, from.size(), to);
  return checked(line.substr(0, line.find(",\"check\"")) + "}");
}

TEST(RecordLine, ReadsAsItWasWritten) {
  const ParsedLine parsed = parse_record(record_line(whole_record()));
  ASSERT_EQ(parsed.kind, ParsedLine::Kind::record) << parsed.why;
  EXPECT_EQ(parsed.record, whole_record());
  EXPECT_EQ(record_line(parsed.record), record_line(whole_record()));
}

TEST(RecordLine, IsOneAsciiLineThatStartsWithTheSchemaAndEndsWithTheCheck) {
  const std::string line = record_line(whole_record());
  EXPECT_EQ(line.find("{\"quern_record\":1,\"family\":\"gather\","), 0u);
  EXPECT_EQ(line.find(",\"check\":\""), line.size() - 44);
  for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
}

TEST(RecordLine, AnyFlippedBitIsSeen) {
  const std::string line = record_line(record_for("gather width=8"));
  for (std::size_t at = 0; at < 8 * line.size(); ++at) {
    std::string flipped = line;
    flipped[at / 8] = static_cast<char>(flipped[at / 8] ^ (1 << at % 8));
    EXPECT_NE(parse_record(flipped).kind, ParsedLine::Kind::record) << flipped;
  }
}

TEST(RecordLine, AnyCutIsSeen) {
  const std::string line = record_line(record_for("gather width=8"));
  for (std::size_t size = 0; size < line.size(); ++size)
    EXPECT_EQ(parse_record(std::string_view(line).substr(0, size)).kind, ParsedLine::Kind::damaged) << size;
}

TEST(RecordLine, ANewerSchemaIsRefusedByName) {
  const ParsedLine parsed = parse_record(R"({"quern_record":2,"whatever":[]})");
  EXPECT_EQ(parsed.kind, ParsedLine::Kind::newer);
  EXPECT_EQ(parsed.why, "it is of schema 2, this quern reads up to 1; a newer quern wrote it");
  EXPECT_EQ(parse_record(R"({"quern_record":18446744073709551615})").kind, ParsedLine::Kind::newer);
}

TEST(RecordLine, UnknownMembersAreIgnored) {
  const std::string line = with(record_line(whole_record()), "\"us\":9.69", "\"weather\":{\"sun\":[1]},\"us\":9.69");
  const ParsedLine parsed = parse_record(line);
  ASSERT_EQ(parsed.kind, ParsedLine::Kind::record) << parsed.why;
  EXPECT_EQ(parsed.record, whole_record());
}

TEST(RecordLine, OnlyTheEvidenceMayBeMissing) {
  const std::string object =
      R"({"quern_record":1,"family":"f","problem":"p","device":"d","target":"t","regime":"cold","config":"","us":1})";
  const ParsedLine parsed = parse_record(checked(object));
  ASSERT_EQ(parsed.kind, ParsedLine::Kind::record) << parsed.why;
  EXPECT_EQ(parsed.record.us, 1);
  EXPECT_EQ(parsed.record.compiler, "");
  for (const char* name : {"family", "problem", "device", "target", "regime", "config", "us"}) {
    std::string without = object;
    without.replace(without.find(cat("\"", name, "\"")), 2 + std::string(name).size(), "\"x\"");
    EXPECT_EQ(why(checked(without)), cat(name, " is missing"));
  }
}

TEST(RecordLine, SaysWhatIsWrong) {
  const std::string line = record_line(whole_record());
  EXPECT_EQ(why("[]"), "it is not a JSON object");
  EXPECT_EQ(why("{\"problem\":\"gather\"}"), "it is no record of quern");
  EXPECT_EQ(why("nonsense"), "invalid JSON at byte 2");
  EXPECT_EQ(why(R"({"quern_record":"1"})"), "quern_record is no schema");
  EXPECT_EQ(why(R"({"quern_record":1e999})"), "it has a number that is too large");
  EXPECT_EQ(why(R"({"quern_record":1})"), "its check does not hold: bytes were changed or are missing");
  EXPECT_EQ(why(with(line, "\"samples\":31", "\"samples\":3000000000")), "samples is out of range");
  EXPECT_EQ(why(with(line, "\"samples\":31", "\"samples\":-1")), "samples is negative");
  EXPECT_EQ(why(with(line, "\"us\":9.69", "\"us\":\"9\"")), "us is not a number");
  EXPECT_EQ(why(with(line, "\"us\":9.69", "\"us\":-9")), "us is negative");
  EXPECT_EQ(why(with(line, "\"family\":\"gather\"", "\"family\":3")), "family is not a string");
  EXPECT_EQ(why(with(line, "\"rivals\":[", "\"rivals\":[1,")), "rivals[0] is not an object");
  EXPECT_EQ(why(with(line, "\"sm_mhz\":1980", "\"sm_mhz\":1.5")), "sm_mhz is not an integer");
}

TEST(RecordLine, WhatCouldNotBeReadAgainIsNotWritten) {
  Record record = whole_record();
  record.seconds = std::numeric_limits<double>::infinity();
  EXPECT_THROW(record_line(record), Error);
  record = whole_record();
  record.device = "\xff";
  EXPECT_THROW(record_line(record), Error);
}

TEST(RecordTexts, AreForPeople) {
  EXPECT_EQ(driver_text(13000), "13.0");
  EXPECT_EQ(driver_text(12080), "12.8");
  EXPECT_EQ(date_text(kNovember), "2026-11-21");
}

TEST(SpaceDigest, ChangesWithTheSpace) {
  const std::string digest = space_digest(Gather::family().steps[0]);
  EXPECT_NE(digest, space_digest(Pointwise::family().steps[0]));
  const Step& step = Gather::family().steps[0];
  Step changed = step;
  changed.constraints.count -= 1;
  EXPECT_NE(space_digest(changed), digest);
  changed = step;
  changed.parameters.count -= 1;
  EXPECT_NE(space_digest(changed), digest);
  std::vector<Parameter> always(step.parameters.begin(), step.parameters.end());
  for (Parameter& parameter : always) parameter.applies = nullptr;
  changed = step;
  changed.parameters.rows = always.data();
  EXPECT_NE(space_digest(changed), digest) << "a parameter that applies by condition";
}

}  // namespace
}  // namespace quern::test
