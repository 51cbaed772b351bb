#include "commands/tune_verdict.h"

#include <gtest/gtest.h>

namespace quern::tool {
namespace {

SweepResult result(const char* why, double percent) {
  SweepResult result;
  result.why = why;
  result.percent = percent;
  result.low = percent - 0.5;
  result.high = percent + 0.5;
  result.band_percent = 0.6;
  return result;
}

TEST(TuneVerdict, IsOneSentence) {
  EXPECT_EQ(verdict_text(result("default", 0)), "kept the default: no config was faster by more than 0.6 %");
  EXPECT_EQ(verdict_text(result("faster", -16.7)),
            "found a config that is 16.7 % faster than the default (95 % interval 16.2 to 17.2 %)");
  EXPECT_EQ(verdict_text(result("first in order", -3)),
            "took the first of several configs that are as fast, 3.0 % faster than the default (95 % interval 2.5 to "
            "3.5 %)");
  EXPECT_EQ(
      verdict_text(result("incumbent", 0.2)),
      "kept the recorded config, 0.2 % slower than the default (95 % interval -0.7 to 0.3 %): no config was faster "
      "by more than 0.6 %");
}

TEST(TuneVerdict, TheNextCommandCanBePasted) {
  EXPECT_EQ(report_command({"a.jsonl"}), "quern tune report a.jsonl --output report.html");
  EXPECT_EQ(report_command({"a b's.jsonl"}), "quern tune report 'a b'\\''s.jsonl' --output report.html");
  EXPECT_EQ(report_command({"d/1", "d/2", "d/3", "d/4", "d/5"}), "quern tune report d/*.jsonl --output report.html");
}

}  // namespace
}  // namespace quern::tool
