#include "cache/key.h"

#include <gtest/gtest.h>

#include <set>

namespace quern::cache {
namespace {

std::string text_of(const std::vector<std::pair<std::string, std::string>>& fields) {
  KeyText text;
  for (const auto& [label, value] : fields) text.field(label, value);
  return text.text();
}

TEST(KeyText, IsReadable) { EXPECT_EQ(text_of({{"family", "gather"}}), "6:family=6:gather\n"); }

TEST(KeyText, NoTwoListsOfFieldsGiveOneText) {
  const std::set<std::string> texts = {
      text_of({}),
      text_of({{"", ""}}),
      text_of({{"a", "bc"}}),
      text_of({{"ab", "c"}}),
      text_of({{"abc", ""}}),
      text_of({{"", "abc"}}),
      text_of({{"a", "b"}, {"c", "d"}}),
      text_of({{"c", "d"}, {"a", "b"}}),
      text_of({{"a", "b\n1:c=1:d"}}),
      text_of({{"a", "b"}, {"c", "d"}, {"", ""}}),
      text_of({{"a", "b=1:c"}, {"d", ""}}),
      text_of({{"1:a", "1:b"}}),
      text_of({{"a=", "b"}}),
      text_of({{"a", "=b"}}),
      text_of({{"a", std::string("\0", 1)}}),
  };
  EXPECT_EQ(texts.size(), 15U);
}

TEST(KeyText, ParsesBackWhateverItHolds) {
  const std::vector<std::pair<std::string, std::string>> fields = {
      {"family", "gather"}, {"", ""}, {"source", "line\n7:x=3:y\n"}, {"bytes", std::string("\0\xff=:", 4)}};
  EXPECT_EQ(parse_key_text(text_of(fields)), fields);
}

TEST(KeyText, ParsingToleratesEverything) {
  EXPECT_EQ(parse_key_text("1:a=1:b\nnonsense").size(), 1U);
  for (const char* text :
       {"", "x", ":", "1", "1:", "1:a", "1:a=", "1:a=1:", "1:a=1:b", "9:a=1:b\n", "-1:a=1:b\n",
        "18446744073709551615:a=1:b\n", "99999999999999999999:a=1:b\n", "1:a=18446744073709551614:b\n"})
    EXPECT_TRUE(parse_key_text(text).empty()) << text;
}

TEST(Key, PutsTheSchemaInFront) {
  const Key key = make_key(KeyText().field("family", "gather").text(), "");
  const auto fields = parse_key_text(key.what);
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0], std::make_pair(std::string("schema"), std::to_string(kKeySchema)));
  EXPECT_EQ(fields[1].second, "gather");
}

TEST(Key, PathIsTheTwoHashes) {
  const Key key = make_key("what", "who");
  EXPECT_EQ(key.path(), hash128(key.what).hex() + "/" + hash128("who").hex());
  EXPECT_EQ(key.path().size(), 65U);
}

// A change here invalidates every existing cache.
TEST(Key, Golden) {
  const Key key = make_key(KeyText().field("family", "gather").text(), KeyText().field("compiler", "nvrtc").text());
  EXPECT_EQ(key.what, "6:schema=1:1\n6:family=6:gather\n");
  EXPECT_EQ(key.path(), "2cf8849e9cb7cfb158f02efdcb9f6b46/539b15782059131851e7c128be0e48e9");
}

TEST(Key, EachPartChangesOnlyItsOwnHash) {
  const Key key = make_key("what", "who");
  EXPECT_EQ(key.what_hash, make_key("what", "else").what_hash);
  EXPECT_EQ(key.who_hash, make_key("else", "who").who_hash);
  EXPECT_NE(key.what_hash, make_key("else", "who").what_hash);
  EXPECT_NE(key.who_hash, make_key("what", "else").who_hash);
}

}  // namespace
}  // namespace quern::cache
