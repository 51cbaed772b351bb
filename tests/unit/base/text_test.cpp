#include "base/text.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(Text, CatTakesTextAndNumbers) { EXPECT_EQ(cat("width=", 3, ' ', std::string("bytes"), -1), "width=3 bytes-1"); }

TEST(Text, ParsesWholeNumbersOnly) {
  EXPECT_EQ(parse_integer("-42"), -42);
  EXPECT_EQ(parse_integer("9223372036854775807"), 9223372036854775807);
  for (const char* bad : {"", " ", "4 ", " 4", "4x", "x", "1.5", "9223372036854775808", "--1", "0x10"})
    EXPECT_FALSE(parse_integer(bad)) << bad;
  EXPECT_EQ(parse_number("1.5e2"), 150.0);
  for (const char* bad : {"", "1.5x", "e", "1,5"}) EXPECT_FALSE(parse_number(bad)) << bad;
}

TEST(Text, SplitsAtEachSeparator) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split("", ','), Parts());
  EXPECT_EQ(split("a", ','), Parts({"a"}));
  EXPECT_EQ(split("a,b c", ','), Parts({"a", "b c"}));
  EXPECT_EQ(split("a,,b", ','), Parts({"a", "", "b"}));
  EXPECT_EQ(split(",a", ','), Parts({"", "a"}));
}

TEST(Text, JoinIsTheInverseOfSplit) {
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
}

// Finding A9.
TEST(Text, PrintableTextRulesNoTerminal) {
  EXPECT_EQ(printable("nvrtc 13.0 \xc3\xa4 \xe2\x82\xac"), "nvrtc 13.0 \xc3\xa4 \xe2\x82\xac");
  EXPECT_EQ(printable_lines("a\x1b[2Jb\n\tc\r"), "a\\x1b[2Jb\n\tc\\x0d");
  EXPECT_EQ(printable("a\x1b[2Jb\n\r\x7f"), "a\\x1b[2Jb\\x0a\\x0d\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\x9b"
            "2J")
      << "C1: the byte that begins it is escaped";
}

TEST(Text, TrimsBothEnds) {
  EXPECT_EQ(trim("\t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(trim("a"), "a");
}

TEST(Text, HexIsLowerCaseWithTwoDigitsAByte) {
  const unsigned char bytes[] = {0x00, 0x0a, 0xff, 0x10};
  EXPECT_EQ(to_hex(bytes, sizeof(bytes)), "000aff10");
  EXPECT_EQ(to_hex(bytes, 0), "");
}

TEST(Text, FixedHasThatManyDigits) {
  EXPECT_EQ(fixed(1.0, 2), "1.00");
  EXPECT_EQ(fixed(-0.125, 2), "-0.12");
  EXPECT_EQ(fixed(1e6, 0), "1000000");
}

TEST(Text, HumanBytesCountsInPowersOf1024) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.00 KiB");
  EXPECT_EQ(human_bytes(1.5 * 1024 * 1024), "1.50 MiB");
  EXPECT_EQ(human_bytes(3.0 * (1LL << 50)), "3072.00 TiB");
}

TEST(Text, ClosestSuggestsOnlyWhatIsClose) {
  const std::vector<std::string> names = {"width", "count", "dtype", "source_stride"};
  EXPECT_EQ(closest("widht", names), "width");
  EXPECT_EQ(closest("dtyp", names), "dtype");
  EXPECT_EQ(closest("sourcestride", names), "source_stride");
  EXPECT_EQ(closest("activation", names), "");
  EXPECT_EQ(closest("width", {}), "");
  EXPECT_EQ(closest("bf61", {"f64", "bf16"}), "bf16") << "two swapped neighbours are one edit";
}

TEST(Text, AliasesAreFoundWhateverTheirCase) {
  constexpr Alias kAliases[] = {{"cpu", "host"}, {"gpu", "cuda"}};
  EXPECT_EQ(meant_by("CPU", kAliases), "host");
  EXPECT_EQ(meant_by("gpu", kAliases), "cuda");
  EXPECT_EQ(meant_by("Vulkan", kAliases), "vulkan");
}

}  // namespace
}  // namespace quern
