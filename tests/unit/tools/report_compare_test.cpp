// Two sweeps side by side.
#include <gtest/gtest.h>

#include "quern/error.h"
#include "report/html_report.h"
#include "report/sections.h"
#include "report_sweeps.h"

namespace quern::tool {
namespace {

using report::compare;
using report::Comparison;
using report::comparison_verdict;
using report::Difference;
using report::view_of;

SweepTrial sampled(double from, double step) {
  SweepTrial out = trial("vector=8 unroll=1", from + 10 * step, 1);
  out.samples.clear();
  for (int i = 0; i < 21; ++i) out.samples.push_back(from + i * step);
  return out;
}

std::string refusal(const std::vector<Journal>& journals) {
  try {
    html_comparison(journals);
  } catch (const Error& error) {
    return error.sentence;
  }
  return "";
}

TEST(ReportCompare, ADifferenceIsPositiveWhereTheSecondIsFasterAndHasItsInterval) {
  // Of 21 samples the median is between the 6th and the 16th: 10.5 to 11.5, and 9.5 to 10.5.
  const Difference d = report::difference(sampled(10, 0.1), sampled(9, 0.1));
  EXPECT_NEAR(d.percent, 100 * (1 - 10.0 / 11), 1e-9);
  EXPECT_NEAR(d.low, 100 * (1 - 10.5 / 10.5), 1e-9);
  EXPECT_NEAR(d.high, 100 * (1 - 9.5 / 11.5), 1e-9);
  EXPECT_FALSE(d.told_apart());
  EXPECT_TRUE(report::difference(sampled(10, 0.1), sampled(8, 0.1)).told_apart());
  EXPECT_LT(report::difference(sampled(8, 0.1), sampled(10, 0.1)).high, 0);
  SweepTrial few = sampled(10, 0.1);
  few.samples.resize(5);
  EXPECT_EQ(report::difference(few, few).low, 0);
  EXPECT_EQ(report::difference(few, few).high, 0);
}

TEST(ReportCompare, PairsConfigsByTheirTextAndRanksThem) {
  const Journal first = finished();
  Journal second = finished();
  second.trials.erase(second.trials.begin());
  std::swap(second.trials[0], second.trials[2]);
  const auto a = view_of(first, 100);
  const auto b = view_of(second, 100);
  const Comparison same = compare(a, b);
  ASSERT_EQ(same.common.size(), 3U);
  for (const report::Pair& pair : same.common)
    EXPECT_EQ(a.at(pair.first).trial->config, b.at(pair.second).trial->config);
  EXPECT_NEAR(same.rank_agreement, 1, 1e-12);
  EXPECT_EQ(same.of_first(0), nullptr);
  EXPECT_NE(same.of_second(0), nullptr);

  Journal reversed = finished();
  for (SweepTrial& t : reversed.trials) t.us = t.us > 0 ? 100 / t.us : 0;
  const auto c = view_of(reversed, 100);
  EXPECT_NEAR(compare(a, c).rank_agreement, -1, 1e-12);
  EXPECT_FALSE(compare(a, view_of(interrupted(2), 100)).ranked);
}

TEST(ReportCompare, ThePageSaysWhichIsFasterOnWhatAndHowSure) {
  Journal second = finished();
  second.head.device = "NVIDIA B200";
  second.head.space = "other";
  for (SweepTrial& t : second.trials) {
    t.us *= 0.8;
    for (double& sample : t.samples) sample *= 0.8;
  }
  const std::string html = html_comparison({finished(), second});
  for (const char* part : {"The best of the second is 20.0\u00a0% faster", "8.000\u00a0µs against 10.00\u00a0µs",
                           "Both chose the same config.", "Head to head", "best of both", "+20.0\u00a0%",
                           "4\u00a0configs with a time in both. Rank agreement (Spearman) 1.00",
                           "In the second 4 are faster and 0 slower", "Each config in both sweeps",
                           "<td class=\"changed\">NVIDIA B200</td>", "the tuning spaces differ", "id=\"sweep-2\""})
    EXPECT_TRUE(has(html, part)) << part;
  EXPECT_FALSE(has(html, "the problems differ"));
  EXPECT_LT(html.find("id=\"comparison\""), html.find("id=\"sweep-1\""));
}

TEST(ReportCompare, WhatCannotBeToldApartIsNotCalledFaster) {
  Journal first = finished();
  Journal second = finished();
  first.trials[1] = sampled(10, 0.1);
  second.trials[1] = sampled(9.9, 0.1);
  first.trials[1].config = second.trials[1].config = "vector=16 unroll=2";
  const auto a = view_of(first, 100);
  const auto b = view_of(second, 100);
  EXPECT_TRUE(has(comparison_verdict(compare(a, b)), "not significantly different"));
}

TEST(ReportCompare, SaysWhereTheTwoAreNotOfTheSameWork) {
  Journal second = finished();
  second.head.problem = "gather rows=65 count=64";
  second.head.regime = "warm";
  second.head.clocks.throttled = "power cap";
  second.trials.clear();
  const std::string html = html_comparison({finished(), second});
  for (const char* part :
       {"the problems differ, so the times are not for the same work",
        "the first was measured with a cold L2, the second with a warm one",
        "the clocks of the second were throttled: power cap", "One of the sweeps has no config that passed."})
    EXPECT_TRUE(has(html, part)) << part;
}

TEST(ReportCompare, TakesTwoSweepsOfOneFamily) {
  EXPECT_EQ(refusal({finished()}), "--compare takes two sweeps; 1 was given");
  EXPECT_EQ(refusal({finished(), finished(), finished()}), "--compare takes two sweeps; 3 were given");
  Journal other = finished();
  other.head.family = "rope";
  EXPECT_EQ(refusal({finished(), other}), "--compare takes two sweeps of one family; these are of gather and rope");
}

}  // namespace
}  // namespace quern::tool
