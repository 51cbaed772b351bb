#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

#include "base/text.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/html_report.h"
#include "report/sweep_charts.h"
#include "report/sweep_view.h"
#include "report_sweeps.h"

namespace quern::tool {
namespace {

using report::Kind;
using report::Scale;
using report::SweepView;

// ---- More sweeps

Journal long_sweep(int trials) {
  Journal journal;
  journal.head = some_head();
  for (SweepAxis& axis : journal.head.axes) {
    axis.values.clear();
    for (int value = 0; value < 150; ++value) axis.values.push_back(std::to_string(value));
  }
  for (int i = 0; i < trials; ++i)
    journal.trials.push_back(trial(cat("vector=", i % 150, " unroll=", i / 150), 10 + (i * 7919 % trials) * 0.001, i));
  return journal;
}

// ---- A checker of tags: every one that is opened is closed, in order, and no attribute is left open.

std::string name_of(std::string_view tag) {
  const auto ends = [](char byte) { return std::isalnum(static_cast<unsigned char>(byte)) == 0; };
  return {tag.begin(), std::find_if(tag.begin(), tag.end(), ends)};
}

bool may_stay_open(const std::string& name) {
  static const std::set<std::string> kVoid = {"meta", "br"};
  return kVoid.count(name) != 0;
}

// "" or the error.
std::string imbalance(std::string_view html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at)) {
    const std::size_t end = html.find('>', at);
    if (end == std::string_view::npos) return "a tag has no end";
    const std::string_view tag = html.substr(at + 1, end - at - 1);
    at = end;
    if (tag.front() == '!') continue;
    if (tag.find('<') != std::string_view::npos) return cat("a tag within the tag ", tag);
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return cat("an open value in ", tag);
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return cat("</", tag.substr(1), "> closes nothing");
      open.pop_back();
    } else if (tag.back() != '/' && !may_stay_open(name_of(tag))) {
      open.push_back(name_of(tag));
      if (open.back() == "script" || open.back() == "style") at = html.find(cat("</", open.back()), at);
    }
  }
  return open.empty() ? "" : cat("<", open.back(), "> stays open");
}

void expect_sound(const std::string& html) {
  EXPECT_EQ(imbalance(html), "");
  for (const char* bad : {"nan", "inf", "-0 ", "e+"}) EXPECT_FALSE(has(html, cat("=\"", bad))) << bad;
  EXPECT_FALSE(has(html, "http")) << "it reaches for the network";
  EXPECT_FALSE(has(html, "@import"));
}

TEST(Report, TheCheckerSeesWhatIsWrong) {
  EXPECT_EQ(imbalance("<p>a<br><b>c</b></p>"), "");
  EXPECT_NE(imbalance("<p>a</b>"), "");
  EXPECT_NE(imbalance("<p>a"), "");
  EXPECT_NE(imbalance("<p class=\"a>b</p>"), "");
  EXPECT_NE(imbalance("<p <b>c</p>"), "");
}

TEST(Report, HasEverySection) {
  const std::string html = html_report({finished()});
  expect_sound(html);
  for (const char* part : {"gather rows=64 count=64",
                           "The winner is 16.7",
                           "Faster than the default",
                           "+16.7\u00a0%",
                           "95\u00a0% interval +16.1\u00a0% to +17.2\u00a0%",
                           "faster than the default, in percent of its time",
                           "Noise band",
                           "1\u00a0rival within it",
                           "90.0\u00a0%",
                           "Configs tried",
                           "of 6\u00a0legal configs",
                           "stopped by evidence",
                           "Convergence over evaluations",
                           "Convergence over time",
                           "Speed of all configs",
                           "percent of a copy",
                           "Finalists against the default",
                           "What each parameter does",
                           "bytes an access",
                           "explains",
                           "Configs across all parameters",
                           "Registers and time",
                           "Compile time and time",
                           "The best configs",
                           "Failures",
                           "out[3] is 1 and should be 2",
                           "Environment",
                           "580.1",
                           "NVRTC 13.0",
                           "SM 1980 MHz, memory 3201 MHz",
                           "700 W",
                           "100\u00a0evaluations, 60.0\u00a0s",
                           "ils",
                           "42",
                           "rotate"})
    EXPECT_TRUE(has(html, part)) << part;
  EXPECT_FALSE(has(html, "Overview"));
}

TEST(Report, SeveralSweepsHaveAnOverview) {
  Journal other = finished();
  other.head.problem = "rope tokens=8";
  const std::string html = html_report({finished(), other, interrupted(2)});
  expect_sound(html);
  EXPECT_TRUE(has(html, "Overview"));
  EXPECT_TRUE(has(html, "<a href=\"#sweep-2\">rope tokens=8</a>"));
  EXPECT_TRUE(has(html, "not finished"));
  for (const char* id : {"id=\"sweep-1\"", "id=\"sweep-2\"", "id=\"sweep-3\""}) EXPECT_EQ(count(html, id), 1) << id;
}

TEST(Report, TextsAreNoMarkup) {
  const std::string evil = "</script><script>alert(1)</script> & \"quoted\" 'x' <!--";
  Journal journal = finished();
  SweepHead& head = journal.head;
  for (std::string* text : {&head.problem, &head.device, &head.target, &head.regime, &head.strategy, &head.command,
                            &head.driver, &head.compiler, &head.quern, &head.space, &head.clocks.throttled})
    *text = evil;
  head.axes.push_back({evil, {evil}, evil});
  journal.trials.push_back(failure("vector=8 " + evil, FailureKind::compile, evil));
  journal.trials.front().method = evil;
  journal.result->stopped = evil;
  journal.result->why = evil;
  journal.skipped.push_back({3, evil});
  const std::string html = html_report({journal, journal});
  expect_sound(html);
  EXPECT_FALSE(has(html, "<script>alert"));
  EXPECT_TRUE(has(html, "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot;"));
  // One block of data for each sweep, and the page's script.
  EXPECT_EQ(count(html, "</script>"), 3);
}

TEST(Report, ShowsAnInterruptedSweepAsFarAsItWent) {
  const std::string html = html_report({interrupted(3)});
  expect_sound(html);
  EXPECT_TRUE(has(html, "This sweep was not finished: 3\u00a0configs of 6 tried."));
  EXPECT_TRUE(has(html, "Best so far"));
  EXPECT_TRUE(has(html, "not confirmed by paired re-runs"));
  EXPECT_TRUE(has(html, "<td class=\"n\">16.7</td>"));
  EXPECT_FALSE(has(html, "Finalists against the default"));
}

TEST(Report, OneConfigIsEnough) {
  const std::string html = html_report({interrupted(1)});
  expect_sound(html);
  EXPECT_TRUE(has(html, "Convergence over evaluations"));
  EXPECT_FALSE(has(html, "What each parameter does"));
}

TEST(Report, WithoutAnyTimeThereAreTheFailures) {
  Journal journal = interrupted(0);
  expect_sound(html_report({journal}));
  journal.trials = {failure("vector=4 unroll=1", FailureKind::crash, "illegal address"),
                    failure("vector=4 unroll=2", FailureKind::crash, "another"),
                    failure("vector=8 unroll=2", FailureKind::compile, "no such type")};
  const std::string html = html_report({journal});
  expect_sound(html);
  EXPECT_TRUE(has(html, "No config passed"));
  EXPECT_TRUE(has(html, "illegal address"));
  EXPECT_FALSE(has(html, "another"));
  EXPECT_FALSE(has(html, "<svg"));
  EXPECT_LT(html.find(">crash<"), html.find(">compile<"));
  expect_sound(html_report({}));
}

TEST(Report, SaysWhatTheFileLacks) {
  Journal journal = finished();
  journal.unfinished = true;
  journal.skipped = {{7, "invalid JSON"}};
  journal.head.clocks.throttled = "power cap";
  const std::string html = html_report({journal});
  EXPECT_TRUE(has(html, "ends within a line"));
  EXPECT_TRUE(has(html, "the first is line 7: invalid JSON"));
  EXPECT_TRUE(has(html, "The clocks were throttled: power cap"));
}

TEST(Report, DrawsEachConfigAndEachFailure) {
  Journal journal = finished();
  const std::string html = html_report({journal});
  // Two convergence charts have every config within reach of the best; vector=4 takes twice as long.
  EXPECT_TRUE(has(html, "At the upper border: 1\u00a0slower one."));
  EXPECT_EQ(count(html, "class=\"beyond\""), 4);  // in both convergence charts and in both of resources
  EXPECT_EQ(count(html, "class=\"failed\""), 2);
  EXPECT_EQ(count(html, "class=\"interval"), 2);
  EXPECT_TRUE(has(html, ">vector=16 unroll=2<"));
  EXPECT_EQ(count(html, "<polyline"), 2 + 4);
  EXPECT_FALSE(has(html, "A sample is drawn"));
  EXPECT_TRUE(has(html_report({long_sweep(5000)}), "A sample is drawn"));
  EXPECT_EQ(count(html, "<tr class=\"winner\" data-i=\"1\">"), 1);
  EXPECT_EQ(count(html, "<tr data-i="), 3);
}

// Regression: a single chart in its row was stretched to the page's width.
TEST(Report, ALoneChartKeepsItsSize) {
  Journal journal = finished();
  for (SweepTrial& t : journal.trials) t.registers = 0;
  const std::string html = html_report({journal});
  EXPECT_FALSE(has(html, "Registers and time"));
  EXPECT_TRUE(has(html, ".charts { display: grid; grid-template-columns: repeat(auto-fill,"));
}

// The best configs' rows repeated themselves, and their last columns were cut.
TEST(Report, ConfigsThatLaunchAlikeAreOneRow) {
  Journal journal = finished();
  journal.head.axes.push_back({"threads", {"64", "128", "256", "512"}, "of a block"});
  journal.head.default_config += " threads=128";
  for (SweepTrial& t : journal.trials) t.config += " threads=128";
  journal.result->winner += " threads=128";
  for (const char* threads : {"64", "256", "512"}) {
    journal.trials.push_back(trial(std::string("vector=16 unroll=2 threads=") + threads, 10, 9));
    journal.trials.back().same_as = "vector=16 unroll=2 threads=128";
  }
  const std::string html = html_report({journal});
  EXPECT_EQ(count(html, "<tr data-i=") + count(html, "<tr class=\"winner\" data-i="), 4);
  EXPECT_TRUE(has(html, "winner</span></td><td class=\"n\">4</td><td class=\"n\">10.00</td>"));
  EXPECT_TRUE(has(html, "<td class=\"n any\">64 … 512</td>"));
  EXPECT_TRUE(has(html, "A parameter with several values makes no difference there."));
}

TEST(Report, WhatAllOfTheBestHaveIsSaidOnceAndIsNoColumn) {
  Journal journal = finished();
  journal.head.axes.push_back({"stages", {"1", "2"}, ""});
  for (SweepTrial& t : journal.trials) t.config += " stages=1";
  const std::string html = html_report({journal});
  EXPECT_TRUE(has(html, "All of these have <code>stages=1</code>."));
  const std::string table = html.substr(html.find("The best configs"));
  EXPECT_FALSE(has(table.substr(0, table.find("</table>")), "stages"));
}

// A table that is wider than the page shows that it continues.
TEST(Report, ATableThatScrollsHasAShadeAtItsEdge) {
  EXPECT_TRUE(has(html_report({finished()}), ".scroll { overflow-x: auto; background: linear-gradient("));
}

// Numbers of the parallel coordinates lay on the lines, and the finalists' labels under the default's.
TEST(Report, LabelsOnLinesHaveAPlate) {
  const std::string html = html_report({finished()});
  EXPECT_TRUE(has(html, "class=\"plate\"/><text x=\"12\" y=\"22\" class=\"mark\">vector=16 unroll=2</text>")) << html;
  EXPECT_EQ(count(html, "class=\"plate\""), 2 + 3 + 2);
}

// Images that came from the cache, and those equal to another, have no compile time of their own.
TEST(Report, OnlyWhatWasCompiledHasACompileTime) {
  Journal journal = finished();
  const int all = count(html_report({journal}), "data-i=\"2\"");
  journal.trials[2].same_as = journal.trials[1].config;
  EXPECT_EQ(count(html_report({journal}), "data-i=\"2\""), all - 2);  // in the chart, and in the table
  journal.trials[2].same_as.clear();
  journal.trials[2].compile_ms = 0;
  EXPECT_EQ(count(html_report({journal}), "data-i=\"2\""), all - 1);
}

TEST(Report, WithoutACopyTheBestIsTheMeasure) {
  Journal journal = finished();
  journal.head.copy_us = 0;
  const std::string html = html_report({journal});
  expect_sound(html);
  EXPECT_TRUE(has(html, "percent of the best"));
  EXPECT_FALSE(has(html, "of copy"));
}

TEST(Report, OddNumbersBreakNothing) {
  Journal journal = finished();
  journal.head.axes = {};
  expect_sound(html_report({journal}));
  journal = finished();
  journal.trials[0].us = 1e308;
  journal.trials[1].us = 5e-324;
  journal.trials[2].us = journal.trials[3].us = std::nextafter(10.0, 11.0);
  journal.trials[3].registers = journal.trials[3].spills = -1;
  journal.trials[3].samples.clear();
  journal.result->winner = "unknown=1";
  journal.result->default_us = 0;
  journal.result->seconds = -1;
  journal.finalists = {{"x", 1, 1e300, -1e300, 0}};
  expect_sound(html_report({journal}));
}

TEST(Report, StaysSmallHoweverLongTheSweep) {
  const Journal journal = long_sweep(20000);
  const std::string html = html_report({journal, journal, journal});
  expect_sound(html);
  const std::size_t download = download_of(html).size();
  EXPECT_LT(html.size() - download, 3U << 20);
  EXPECT_LT(download, 3 * 20000 * 36U);
  EXPECT_TRUE(has(html, "20\u202f000"));
}

// ---- SweepView

TEST(SweepView, TheLaterLineOfAConfigHolds) {
  Journal journal = interrupted(4);
  journal.trials.push_back(trial("vector=4 unroll=1", 5, 6));
  const SweepView view = report::view_of(journal, 100);
  EXPECT_EQ(view.evaluations, 4);
  ASSERT_EQ(view.timed.size(), 4U);
  EXPECT_EQ(view.at(view.best).trial->us, 5);
  EXPECT_EQ(view.at(view.standard).trial->config, "vector=8 unroll=1");
  EXPECT_EQ(view.winner, -1);
  EXPECT_EQ(view.leader(), view.best);
}

TEST(SweepView, ThinningKeepsTheBestAndTheEnds) {
  const Journal journal = long_sweep(5000);
  const SweepView view = report::view_of(journal, 300);
  EXPECT_LE(view.shown.size(), 302U);
  EXPECT_GT(view.shown.size(), 290U);
  EXPECT_TRUE(std::is_sorted(view.shown.begin(), view.shown.end()));
  const std::set<int> shown(view.shown.begin(), view.shown.end());
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(shown.count(view.by_time[i]), 1U) << i;
  EXPECT_GT(view.us(*std::max_element(view.shown.begin(), view.shown.end(),
                                      [&](int a, int b) { return view.us(a) < view.us(b); })),
            14.9);
}

TEST(SweepView, SharesAreThoseOfTheVariance) {
  Journal journal;
  journal.head = some_head();
  // Only vector has an effect, unroll has none.
  for (const char* unroll : {"1", "2"}) {
    journal.trials.push_back(trial(cat("vector=4 unroll=", unroll), 40, 1));
    journal.trials.push_back(trial(cat("vector=8 unroll=", unroll), 20, 1));
    journal.trials.push_back(trial(cat("vector=16 unroll=", unroll), 10, 1));
  }
  const SweepView view = report::view_of(journal, 100);
  ASSERT_EQ(view.effects.size(), 2U);
  EXPECT_EQ(view.effects[0].axis, 0);
  EXPECT_NEAR(view.effects[0].share, 1, 1e-12);
  EXPECT_NEAR(view.effects[1].share, 0, 1e-12);
  EXPECT_EQ(view.effects[0].times[2], (std::vector<double>{10, 10}));
}

TEST(SweepView, QuantilesLieBetweenNeighbours) {
  EXPECT_EQ(report::quantile({1, 2, 3}, 0.5), 2);
  EXPECT_EQ(report::quantile({1, 2}, 0.25), 1.25);
  EXPECT_EQ(report::quantile({7}, 0.95), 7);
  EXPECT_EQ(report::quantile({1, 2, 3}, 1), 3);
}

// ---- Charts and texts

TEST(Chart, TicksAreRound) {
  EXPECT_EQ(Scale(0, 10, 0, 100).ticks(5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(Scale(33, 47, 0, 100).ticks(5), (std::vector<double>{35, 40, 45}));
  EXPECT_EQ(Scale(0, 1, 0, 100, Kind::count).ticks(5), (std::vector<double>{0, 1}));
  EXPECT_EQ(Scale(1, 100, 0, 1, Kind::log).ticks(6), (std::vector<double>{1, 2, 5, 10, 20, 50, 100}));
  EXPECT_EQ(Scale(1, 1e6, 0, 1, Kind::log).ticks(5).size(), 7U);
  EXPECT_EQ(report::tick_texts({-0.5, 0, 0.5}), (std::vector<std::string>{"\u22120.5", "0.0", "0.5"}));
  EXPECT_EQ(report::tick_texts({0.5, 1, 2, 5}), (std::vector<std::string>{"0.5", "1", "2", "5"}));
  EXPECT_EQ(report::tick_texts({1000}), (std::vector<std::string>{"1000"}));
}

TEST(Chart, ScalesKeepToTheirBorders) {
  const Scale log(1, 100, 0, 50, Kind::log);
  EXPECT_NEAR(log(10), 25, 1e-12);
  EXPECT_EQ(log(0.001), 0);
  EXPECT_EQ(log(1e9), 50);
  const Scale flat(35, 35, 0, 10);
  EXPECT_NEAR(flat(35), 5, 1e-9);
  EXPECT_LT(Scale(1, std::nextafter(1.0, 2.0), 0, 10).ticks(5).size(), 20U);
}

TEST(Html, NumbersForPeople) {
  EXPECT_EQ(report::us_text(35.1234), "35.12");
  EXPECT_EQ(report::us_text(0.81234), "0.8123");
  EXPECT_EQ(report::us_text(12345.6), "12346");
  EXPECT_EQ(report::us_text(0), "\u2013");
  EXPECT_EQ(report::signed_percent(0.54), "+0.5\u00a0%");
  EXPECT_EQ(report::signed_percent(-0.54), "\u22120.5\u00a0%");
  EXPECT_EQ(report::signed_percent(-0.04), "0.0\u00a0%");
  EXPECT_EQ(report::signed_percent(0.04), "0.0\u00a0%");
  EXPECT_EQ(report::count_of(1, "config"), "1\u00a0config");
  EXPECT_EQ(report::count_of(0, "config"), "0\u00a0configs");
  EXPECT_EQ(report::count_text(999), "999");
  EXPECT_EQ(report::count_text(-1), "\u22121");
  EXPECT_EQ(report::count_text(std::numeric_limits<std::int64_t>::min()).size(), 3 + 19 + 6 * 3);
  EXPECT_EQ(report::count_text(20000), "20\u202f000");
  EXPECT_EQ(report::seconds_text(14.23), "14.2\u00a0s");
  EXPECT_EQ(report::seconds_text(200), "3\u00a0min\u00a020\u00a0s");
  EXPECT_EQ(report::date_text(1'763'720'000'000'000'000), "2025-11-21 10:13 UTC");
}

TEST(Html, EscapesForBothPlaces) {
  EXPECT_EQ(report::escape("<a & \"b\" 'c'>\x01"), "&lt;a &amp; &quot;b&quot; &#39;c&#39;&gt;\ufffd");
  EXPECT_EQ(report::script_string("</script>\"\\\n"), "\"\\u003c/script\\u003e\\u0022\\u005c\\u000a\"");
}

TEST(Html, ShadesAreStepsBehindTheBest) {
  EXPECT_EQ(report::shade_of(100, 100), 0);
  EXPECT_EQ(report::shade_of(103, 100), 2);
  EXPECT_EQ(report::shade_of(1000, 100), report::kShades - 1);
}

}  // namespace
}  // namespace quern::tool
