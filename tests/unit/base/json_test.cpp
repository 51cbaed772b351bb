// Structs as JSON: one table of members for writing and reading.
#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace quern::test {
namespace {

struct Inner {
  std::string name;
  int count = 0;
  bool operator==(const Inner&) const = default;
};
constexpr auto members(const Inner&) {
  return std::tuple{required("name", &Inner::name), always("count", &Inner::count)};
}

struct Outer {
  std::uint64_t seed = 0;
  std::int64_t offset = 0;
  double us = 0;
  bool complete = false;
  std::string why;
  std::vector<double> samples;
  std::vector<Inner> list;
  std::optional<Inner> part;
  Inner inner;
  bool operator==(const Outer&) const = default;
};
constexpr auto members(const Outer&) {
  return std::tuple{
      required("seed", &Outer::seed),   always("offset", &Outer::offset), always("us", &Outer::us),
      always("done", &Outer::complete), optional("why", &Outer::why),     optional("samples", &Outer::samples),
      always("list", &Outer::list),     optional("part", &Outer::part),   always("inner", &Outer::inner),
  };
}

Outer full() {
  return {std::numeric_limits<std::uint64_t>::max(),
          -5,
          0.1 + 0.2,
          true,
          "\"w\" \xc3\xa4",
          {35, 1e-300},
          {{"a", 1}, {}},
          Inner{},
          {"i", 2}};
}

Outer read(std::string_view text) {
  Outer outer;
  read_json(parse_object(text), "it", outer);
  return outer;
}

// The reason of the Damage with which it is refused; "" where it is not.
std::string refusal(std::string_view text) {
  try {
    read(text);
    return "";
  } catch (const Damage& damage) {
    return damage.reason;
  }
}

TEST(Json, WritesMembersInTheOrderOfTheTable) {
  EXPECT_EQ(line_of(json_of(full())),
            R"({"seed":18446744073709551615,"offset":-5,"us":0.30000000000000004,"done":true,"why":"\"w\" ä",)"
            R"("samples":[35.0,1e-300],"list":[{"name":"a","count":1},{"name":"","count":0}],)"
            R"("part":{"name":"","count":0},"inner":{"name":"i","count":2}})");
}

TEST(Json, LeavesOutOptionalMembersThatHaveTheirDefault) {
  EXPECT_EQ(line_of(json_of(Outer{})),
            R"({"seed":0,"offset":0,"us":0.0,"done":false,"list":[],"inner":{"name":"","count":0}})");
}

TEST(Json, AddsMembersToAnObject) {
  Json json = {{"schema", 1}};
  add_members(Inner{"a", 2}, json);
  EXPECT_EQ(line_of(json), R"({"schema":1,"name":"a","count":2})");
}

TEST(Json, ReadsWhatItWrites) {
  EXPECT_EQ(read(line_of(json_of(full()))), full());
  EXPECT_EQ(read(line_of(json_of(Outer{}))), Outer{});
}

TEST(Json, NeedsRequiredMembersOnly) {
  EXPECT_EQ(read(R"({"seed":0})"), Outer{});
  EXPECT_EQ(refusal("{}"), "seed is missing");
  EXPECT_EQ(refusal(R"({"seed":0,"inner":{}})"), "name is missing");
}

TEST(Json, PassesOverUnknownMembers) { EXPECT_EQ(read(R"({"later":{"a":[1]},"seed":0,"name":3})"), Outer{}); }

TEST(Json, ReplacesWhatHasNoForm) {
  EXPECT_EQ(line_of(json_of(std::string("\xe2\x82"))), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(line_of(json_of(std::numeric_limits<double>::quiet_NaN())), "null");
}

TEST(Json, SaysWhichMemberIsWrong) {
  const auto of = [](const char* name, const char* value) {
    return refusal(cat("{\"seed\":0,\"", name, "\":", value, "}"));
  };
  EXPECT_EQ(of("seed", "-1"), "seed is out of range");
  EXPECT_EQ(of("seed", "1.5"), "seed is not an integer");
  EXPECT_EQ(of("offset", "9223372036854775808"), "offset is out of range");
  EXPECT_EQ(of("us", "\"1\""), "us is not a number");
  EXPECT_EQ(of("done", "1"), "done is neither true nor false");
  EXPECT_EQ(of("why", "null"), "why is not a string");
  EXPECT_EQ(of("samples", "{}"), "samples is not an array");
  EXPECT_EQ(of("samples", "[1,null]"), "samples[1] is not a number");
  EXPECT_EQ(of("list", "[[]]"), "list[0] is not an object");
  EXPECT_EQ(of("list", R"([{"name":"","count":3000000000}])"), "count is out of range");
  EXPECT_EQ(of("part", "null"), "part is not an object");
}

TEST(Json, RefusesWhatIsNotOneObject) {
  EXPECT_EQ(refusal("[]"), "it is not a JSON object");
  EXPECT_EQ(refusal("nonsense"), "invalid JSON at byte 2");
  EXPECT_EQ(refusal(R"({"seed":1e999})"), "it has a number that is too large");
}

}  // namespace
}  // namespace quern::test
