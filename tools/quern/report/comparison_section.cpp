#include "report/sections.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/page_parts.h"
#include "report/sweep_charts.h"

namespace quern::tool::report {
namespace {

constexpr std::size_t kDrawn = 1500;

std::string interval_text(const Difference& d) {
  return cat("95\u00a0% interval ", signed_percent(d.low), " to ", signed_percent(d.high));
}

// "3.2 % faster", "not significantly different".
std::string against_first(const Difference& d) {
  if (!d.told_apart()) return cat("not significantly different (", interval_text(d), ")");
  return cat(percent_text(std::abs(d.percent), 1), d.percent > 0 ? " faster" : " slower", " (", interval_text(d), ")");
}

// ---- Head to head

// A config with its times in both sweeps, if measured.
struct ConfigTimes {
  const char* name;
  int first = -1;
  int second = -1;
};

ConfigTimes row_of_first(const Comparison& c, const char* name, int index) {
  const Pair* const pair = index < 0 ? nullptr : c.of_first(index);
  return {name, index, pair == nullptr ? -1 : pair->second};
}

ConfigTimes row_of_second(const Comparison& c, const char* name, int index) {
  const Pair* const pair = index < 0 ? nullptr : c.of_second(index);
  return {name, pair == nullptr ? -1 : pair->first, index};
}

std::string time_cell(const SweepView& view, int index) {
  return number_cell(index < 0 ? "not measured" : us_text(view.us(index)));
}

// How much slower than the best of its own sweep.
std::string behind_cell(const SweepView& view, int index) {
  return number_cell(index < 0 ? std::string(kDash) : number_text(100 * (view.us(index) / view.us(view.best) - 1), 1));
}

std::string row_html(const Comparison& c, const ConfigTimes& row) {
  if (row.first < 0 && row.second < 0) return "";
  const SweepView& holder = row.first >= 0 ? *c.first : *c.second;
  const std::string& config = holder.at(row.first >= 0 ? row.first : row.second).trial->config;
  std::string out = cell("nowrap", row.name) + time_cell(*c.first, row.first) + time_cell(*c.second, row.second);
  if (row.first >= 0 && row.second >= 0) {
    const Difference d = difference(*c.first->at(row.first).trial, *c.second->at(row.second).trial);
    out += number_cell(signed_percent(d.percent));
    out += number_cell(cat(signed_percent(d.low), " to ", signed_percent(d.high)));
  } else {
    out += number_cell(kDash) + number_cell(kDash);
  }
  out += behind_cell(*c.first, row.first) + behind_cell(*c.second, row.second);
  return element("tr", "", out + element("td", "", text_element("code", "", short_name(holder, config))));
}

std::string head_to_head(const Comparison& c) {
  std::string head = head_cell("", "config") + head_cell("n", "first", "µs") + head_cell("n", "second", "µs");
  head += head_cell("n", "second is faster by") + head_cell("n", "95 % interval");
  head += head_cell("n", "slower than the first's best", "%") + head_cell("n", "slower than the second's best", "%");
  head += head_cell("", "what differs from the default");
  const std::string& best = c.first->at(c.first->leader()).trial->config;
  const bool one_best = best == c.second->at(c.second->leader()).trial->config;
  std::string rows = row_html(c, row_of_first(c, one_best ? "best of both" : "best of the first", c.first->leader()));
  if (!one_best) rows += row_html(c, row_of_second(c, "best of the second", c.second->leader()));
  const bool one_default = c.first->head().default_config == c.second->head().default_config && c.first->standard >= 0;
  rows += row_html(c, row_of_first(c, one_default ? "default" : "default of the first", c.first->standard));
  if (!one_default) rows += row_html(c, row_of_second(c, "default of the second", c.second->standard));
  return table(head, rows);
}

// ---- All common configs

std::string agreement_text(const Comparison& c) {
  const std::string count = count_of(static_cast<std::int64_t>(c.common.size()), "config");
  std::string text = cat(count, " with a time in both.");
  if (c.ranked)
    text += cat(" Rank agreement (Spearman) ", number_text(c.rank_agreement, 2), ": at 1 both order them alike.");
  int faster = 0;
  int slower = 0;
  for (const Pair& pair : c.common) {
    const Difference d = difference(*c.first->at(pair.first).trial, *c.second->at(pair.second).trial);
    faster += d.low > 0 ? 1 : 0;
    slower += d.high < 0 ? 1 : 0;
  }
  return text + cat(" In the second ", count_text(faster), faster == 1 ? " is" : " are", " faster and ",
                    count_text(slower), " slower, beyond their intervals.");
}

Scale scale_of(double low, double high, double from, double to) {
  return {low / 1.03, high * 1.03, from, to, Kind::log};
}

// Draws every n-th common config.
std::size_t step_of(const Comparison& c) { return c.common.size() / kDrawn + 1; }

std::string scatter(const Comparison& c) {
  double low = 0;
  double high = 0;
  for (const Pair& pair : c.common) {
    const auto [less, more] = std::minmax({c.first->us(pair.first), c.second->us(pair.second)});
    low = low == 0 ? less : std::min(low, less);
    high = std::max(high, more);
  }
  Frame frame;
  frame.height = 420;
  Chart chart(frame);
  const Scale x = scale_of(low, high, chart.x0(), chart.x1());
  const Scale y = scale_of(low, high, chart.y0(), chart.y1());
  chart.x_axis(x, "time in the first, µs");
  chart.y_axis(y, "Time in the second, µs");
  chart.line(x(low), y(low), x(high), y(high), "default rule");
  for (std::size_t i = 0; i < c.common.size(); i += step_of(c))
    chart.dot(x(c.first->us(c.common[i].first)), y(c.second->us(c.common[i].second)), "point", static_cast<int>(i));
  const char* const sample = step_of(c) > 1 ? " An even sample is drawn." : "";
  return figure("", "Each config in both sweeps", cat("Below the dashed line the second is faster.", sample),
                chart.svg("Times of each config in both sweeps"));
}

std::string scatter_data(const Comparison& c) {
  std::vector<Drawn> configs;
  for (std::size_t i = 0; i < c.common.size(); i += step_of(c)) {
    const Pair& pair = c.common[i];
    const std::string times = cat(us_text(c.first->us(pair.first)), " and ", us_text(c.second->us(pair.second)));
    configs.push_back({static_cast<int>(i), times, c.first->at(pair.first).values});
  }
  return drawn_data(c.first->head().axes, configs);
}

// ---- What differs

std::string fact_row(std::string_view name, const std::string& first, const std::string& second) {
  if (first.empty() && second.empty()) return "";
  const char* const style = first == second ? "" : "changed";
  return element("tr", "", cat(cell("nowrap", name), cell("", first), cell(style, second)));
}

std::string megahertz(int value) { return value > 0 ? cat(value, " MHz") : ""; }

std::string environments(const Comparison& c) {
  const SweepHead& a = c.first->head();
  const SweepHead& b = c.second->head();
  std::string rows = fact_row("Problem", a.problem, b.problem) + fact_row("Device", a.device, b.device);
  rows += fact_row("Target", a.target, b.target) + fact_row("Driver", a.driver, b.driver);
  rows += fact_row("Compiler", a.compiler, b.compiler) + fact_row("quern", a.quern, b.quern);
  rows += fact_row("SM clock", megahertz(a.clocks.sm_mhz), megahertz(b.clocks.sm_mhz));
  rows += fact_row("Regime", a.regime, b.regime) + fact_row("Strategy", a.strategy, b.strategy);
  rows += fact_row("Seed", std::to_string(a.seed), std::to_string(b.seed));
  rows += fact_row("Space digest", a.space, b.space);
  rows += fact_row("Started", date_text(a.started_unix_ns), date_text(b.started_unix_ns));
  rows += fact_row("Configs tried", count_text(c.first->evaluations), count_text(c.second->evaluations));
  return table(head_cell("", "") + head_cell("", "first") + head_cell("", "second"), rows);
}

}  // namespace

std::string comparison_verdict(const Comparison& c) {
  if (c.first->leader() < 0 || c.second->leader() < 0) return "One of the sweeps has no config that passed.";
  const SweepTrial& a = *c.first->at(c.first->leader()).trial;
  const SweepTrial& b = *c.second->at(c.second->leader()).trial;
  const char* const same = a.config == b.config ? " Both chose the same config." : "";
  return cat("The best of the second is ", against_first(difference(a, b)), ": ", us_text(b.us), "\u00a0µs against ",
             us_text(a.us), "\u00a0µs.", same);
}

std::string comparison_section(const Comparison& c) {
  std::string out = text_element("h2", "", "Comparison");
  out += text_element("p", "class=\"verdict\"", comparison_verdict(c));
  for (const std::string& note : c.notes) out += text_element("p", "class=\"note\"", cat("Note: ", note, "."));
  out += text_element(
      "p", "class=\"soft\"",
      "The sweeps were separate runs: differences are of medians, not of pairs, and each interval is the range if "
      "both medians are anywhere in their own 95 % confidence intervals. Positive: the second is faster.");
  if (c.first->leader() >= 0 && c.second->leader() >= 0) out += heading("Head to head") + head_to_head(c);
  if (!c.common.empty()) {
    out += heading("All configs of both") + text_element("p", "", agreement_text(c));
    out += element("div", "class=\"charts\"", scatter(c)) + scatter_data(c);
  }
  out += heading("Environments") + environments(c);
  return element("section", "class=\"sweep\" id=\"comparison\"", out);
}

}  // namespace quern::tool::report
