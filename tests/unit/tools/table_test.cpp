#include "io/table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "io/layout.h"

namespace quern::tool {
namespace {

std::size_t widest(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string_view line : split(text, '\n')) widest = std::max(widest, width_of(line));
  return widest;
}

std::vector<Row> two_rows() {
  return {Row().add("name", "a").add("us", Value(1.5)).add("meaning", "short"),
          Row()
              .add("name", "bb")
              .add("us", Value(10.25))
              .add("meaning", "a sentence that is longer than a narrow terminal and goes on for a while")};
}

TEST(Table, IsMarkdownInAPipe) {
  const std::vector<Row> rows = {Row().add("name", "a  b").add("us", Value(1.5)),
                                 Row().add("name", "×").add("us", Value())};
  EXPECT_EQ(table_text(rows, 0),
            "| name |   us |\n"
            "|------|-----:|\n"
            "| a  b | 1.50 |\n"
            "| ×    | -    |\n");
  EXPECT_EQ(table_text(rows, 80), table_text(rows, 0)) << "a table that fits is not changed";
  EXPECT_EQ(table_text({}, 80), "");
  EXPECT_GT(widest(table_text(two_rows(), 0)), 80u) << "however wide it is";
}

TEST(Table, BreaksTextsWithinTheirCells) {
  EXPECT_EQ(table_text(two_rows(), 50),
            "| name |    us | meaning                         |\n"
            "|------|------:|---------------------------------|\n"
            "| a    |  1.50 | short                           |\n"
            "| bb   | 10.25 | a sentence that is longer than  |\n"
            "|      |       | a narrow terminal and goes on   |\n"
            "|      |       | for a while                     |\n");
}

TEST(Table, IsABlockARowWhereColumnsWouldBeTooNarrow) {
  EXPECT_EQ(table_text(two_rows(), 30),
            "name     a\n"
            "us       1.50\n"
            "meaning  short\n"
            "\n"
            "name     bb\n"
            "us       10.25\n"
            "meaning  a sentence that is\n"
            "         longer than a narrow\n"
            "         terminal and goes on\n"
            "         for a while\n");
}

TEST(Table, FitsEveryTerminal) {
  Row row;
  for (int i = 0; i < 14; ++i) row.add(cat("column_", i), std::string(static_cast<std::size_t>(3 * i), 'x'));
  for (std::size_t columns = 40; columns < 400; columns += 7) {
    EXPECT_LE(widest(table_text({row, row}, columns)), columns);
    EXPECT_LE(widest(table_text(two_rows(), columns)), columns);
  }
}

TEST(Layout, WrapsAtSpacesAndBreaksWhatIsLonger) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrap("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap("", 7), Lines{""});
  EXPECT_EQ(wrap("a /a/long/path b", 6), (Lines{"a", "/a/long/path", "b"}));
  EXPECT_EQ(wrap_hard("a /a/long/path b", 6), (Lines{"a", "/a/lon", "g/path", "b"}));
  EXPECT_EQ(wrap_hard("ääääää", 4), (Lines{"ääää", "ää"})) << "characters, not bytes";
}

// Finding A9: text from an entry or a pack is escaped, so it cannot control the terminal.
TEST(Table, ControlCharactersAreEscaped) {
  const std::string table = table_text({Row().add("compiler", std::string("\x1b[2J\n| fake"))}, 0);
  EXPECT_NE(table.find("\\x1b[2J\\x0a| fake"), std::string::npos) << table;
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace quern::tool
