#include "report/sweep_charts.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"
#include "report/chart.h"
#include "report/html.h"

namespace quern::tool::report {
namespace {

// The time range of a chart's axis; slower configs are drawn on its upper border.
struct Range {
  double low = 0;
  double high = 0;
  int beyond = 0;
};

// Up to `wanted`, but at least the default, and at most the slowest.
Range times_range(const SweepView& view, double wanted) {
  std::vector<double> times;
  for (const int i : view.by_time) times.push_back(view.us(i));
  const double high =
      std::min(std::max(wanted, view.default_us() * 1.05), std::max(times.back(), view.default_us()) * 1.01);
  const auto first_beyond = std::upper_bound(times.begin(), times.end(), high);
  return {times.front() / 1.02, high, static_cast<int>(times.end() - first_beyond)};
}

std::string beyond_note(const Range& range) {
  if (range.beyond == 0) return "";
  return cat(" At the upper border: ", count_of(range.beyond, "slower one"), ".");
}

// The range near the best, where the search is decided.
Range near_best(const SweepView& view) { return times_range(view, 1.6 * view.us(view.best)); }
// All but the outliers.
Range usual_times(const SweepView& view) {
  const auto place = static_cast<std::size_t>(0.95 * static_cast<double>(view.by_time.size() - 1));
  return times_range(view, 1.25 * view.us(view.by_time[place]));
}

Scale times_scale(const Chart& chart, const Range& range) {
  return {range.low, range.high, chart.y0(), chart.y1(), Kind::log};
}

// "default" next to a horizontal line at the default's time.
void rule_for_default(Chart& chart, const Scale& y, double us) {
  if (us <= 0) return;
  chart.line(chart.x0(), y(us), chart.x1(), y(us), "default rule");
  chart.text(chart.x1(), y(us) - 5, "mark end halo", "default");
}

const char* style_of(const SweepView& view, int i) {
  if (i == view.leader()) return "winner";
  return i == view.standard ? "default" : "point";
}

// The winner and the default last, so that no other point hides them.
void draw_points(const SweepView& view, const std::function<void(int)>& draw) {
  for (const int i : view.shown) {
    if (i != view.leader() && i != view.standard) draw(i);
  }
  if (view.standard >= 0 && view.standard != view.leader()) draw(view.standard);
  if (view.leader() >= 0) draw(view.leader());
}

std::string selection_note(const SweepView& view) {
  const bool all = view.shown.size() == view.timed.size();
  return all ? "" : " A sample is drawn: all of the best, and an even sample of the rest.";
}

// The position of a config on the axis of a convergence chart, from its number and its line.
using Along = std::function<double(int evaluation, const SweepTrial& trial)>;

// Ticks on the upper border, a few hundred at most.
void draw_failures(Chart& chart, const Scale& x, const SweepView& view, const Along& along) {
  const std::size_t every = view.failed.size() / 300 + 1;
  for (std::size_t i = 0; i < view.failed.size(); i += every) {
    const double at = x(along(view.failed_evaluations[i], *view.failed[i]));
    chart.line(at, chart.y1() - 5, at, chart.y1() + 1, "failed");
  }
}

void draw_best_so_far(Chart& chart, const Scale& x, const Scale& y, const SweepView& view, const Along& along) {
  std::vector<std::pair<double, double>> steps;
  double best = 0;
  for (const Timed& timed : view.timed) {
    const double us = timed.trial->us;
    if (best > 0 && us >= best) continue;
    const double at = x(along(timed.evaluation, *timed.trial));
    if (best > 0) steps.emplace_back(at, y(best));
    steps.emplace_back(at, y(us));
    best = us;
  }
  steps.emplace_back(chart.x1(), y(best));
  chart.polyline(steps, "best");
}

std::string convergence(const SweepView& view, const char* title, const char* x_title, const Along& along, double end,
                        Kind kind) {
  if (view.timed.empty()) return "";
  Chart chart({});
  const Range range = near_best(view);
  const Scale x(0, end, chart.x0(), chart.x1(), kind);
  const Scale y = times_scale(chart, range);
  chart.x_axis(x, x_title);
  chart.y_axis(y, "Time of a config, µs");
  draw_points(view, [&](int i) {
    const bool special = i == view.leader() || i == view.standard;
    const Timed& timed = view.at(i);
    const char* const style = view.us(i) > range.high ? "beyond" : style_of(view, i);
    chart.dot(x(along(timed.evaluation, *timed.trial)), y(view.us(i)), style, i, special ? 4.5 : 2.2);
  });
  rule_for_default(chart, y, view.default_us());
  draw_best_so_far(chart, x, y, view, along);
  draw_failures(chart, x, view, along);
  const char* failures = view.failed.empty() ? "" : " Ticks at the top: configs that failed.";
  const std::string note =
      cat("Line: best so far. Points: configs.", failures, beyond_note(range), selection_note(view));
  return figure("", title, note, chart.svg(cat(title, ", best ", us_text(view.us(view.best)), " µs")));
}

// ---- The distribution

struct Bins {
  double width = 0;
  double low = 0;
  std::vector<int> counts;
};

Bins bins_of(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const std::vector<double> ticks = Scale(*least, *most, 0, 1).ticks(30);
  Bins bins;
  bins.width = ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
  bins.low = std::floor(*least / bins.width) * bins.width;
  bins.counts.resize(static_cast<std::size_t>((*most - bins.low) / bins.width) + 1);
  for (const double value : values) ++bins.counts[static_cast<std::size_t>((value - bins.low) / bins.width)];
  return bins;
}

void mark_above(Chart& chart, double x, double y, const char* style, const std::string& label) {
  const bool left = x > (chart.x0() + chart.x1()) / 2;
  chart.line(x, y, x, chart.y0(), cat(style, " rule"));
  chart.text(x + (left ? -4 : 4), y + 8, left ? "mark end halo" : "mark halo", label);
}

std::string distribution(const SweepView& view, const char* title, const char* x_title, double reference) {
  std::vector<double> values;
  for (const int i : view.by_time) values.push_back(std::min(100 * reference / view.us(i), 1e6));
  const Bins bins = bins_of(values);
  Frame frame;
  frame.top = 54;
  Chart chart(frame);
  // Few bins get a margin, so that the bars are not too wide.
  const double margin = bins.counts.size() < 6 ? 3 * bins.width : 0;
  const double end = bins.low + bins.width * static_cast<double>(bins.counts.size());
  const Scale x(bins.low - margin, end + margin, chart.x0(), chart.x1());
  const Scale y(0, *std::max_element(bins.counts.begin(), bins.counts.end()), chart.y0(), chart.y1(), Kind::count);
  chart.x_axis(x, x_title);
  chart.y_axis(y, "");
  chart.text(0, 12, "title", "Configs");
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    const double from = bins.low + bins.width * static_cast<double>(i);
    const double top = y(bins.counts[i]);
    if (bins.counts[i] > 0)
      chart.rectangle(x(from) + 0.5, top, x(from + bins.width) - x(from) - 1, chart.y0() - top, "bar");
  }
  if (view.default_us() > 0) mark_above(chart, x(100 * reference / view.default_us()), 20, "default", "default");
  mark_above(chart, x(100 * reference / view.leader_us()), 36, "winner", view.winner >= 0 ? "winner" : "best");
  const std::string note = cat(count_of(static_cast<std::int64_t>(values.size()), "config"), " with a time.");
  return figure("", title, note, chart.svg(title));
}

// ---- Resources

using Figure = std::function<double(const SweepTrial&)>;

std::string against_time(const SweepView& view, const char* title, const char* x_title, const Figure& figure_of) {
  double least = 0;
  double most = 0;
  for (const int i : view.shown) {
    const double value = figure_of(*view.at(i).trial);
    if (value <= 0) continue;
    least = least == 0 ? value : std::min(least, value);
    most = std::max(most, value);
  }
  if (most == 0) return "";
  Chart chart({});
  const Range range = usual_times(view);
  const Scale x(least, most, chart.x0() + 8, chart.x1() - 8, most > 20 * least ? Kind::log : Kind::linear);
  const Scale y = times_scale(chart, range);
  chart.x_axis(x, x_title);
  chart.y_axis(y, "Time of a config, µs");
  bool spills = false;
  draw_points(view, [&](int i) {
    const SweepTrial& trial = *view.at(i).trial;
    if (figure_of(trial) <= 0) return;
    const double at = x(figure_of(trial));
    const std::string style = trial.us > range.high ? "beyond" : style_of(view, i);
    spills = spills || trial.spills > 0;
    if (trial.spills > 0) {
      chart.triangle(at, y(trial.us), style == "point" ? "spill" : style, i);
    } else {
      chart.dot(at, y(trial.us), style, i, i == view.leader() || i == view.standard ? 4.5 : 2.4);
    }
  });
  const std::string note = cat(spills ? "Triangles: registers spill to memory." : "", beyond_note(range));
  return figure("", title, note, chart.svg(title));
}

// ---- Finalists

void draw_finalist(Chart& chart, const Scale& x, double y, const SweepView& view, const SweepFinalist& finalist) {
  const bool wins = view.journal->result && finalist.config == view.journal->result->winner;
  chart.label(chart.x0() + 4, y, wins ? "mark" : "tick", short_name(view, finalist.config));
  chart.line(x(-finalist.high), y + 10, x(-finalist.low), y + 10, wins ? "interval winner" : "interval");
  chart.diamond(x(-(finalist.low + finalist.high) / 2), y + 10, wins ? "winner" : "point solid");
}

}  // namespace

std::string figure(std::string_view style, std::string_view title, std::string_view note, const std::string& svg) {
  const std::string caption = cat(text_element("b", "", title), note.empty() ? "" : " ", note);
  return element("figure", style.empty() ? "" : cat("class=\"", style, "\""),
                 cat(element("figcaption", "", caption), svg));
}

int shade_of(double us, double best) {
  static constexpr double kBehind[kShades - 1] = {1.01, 1.02, 1.05, 1.1, 1.2, 1.5};
  int shade = 0;
  while (shade < kShades - 1 && us > best * kBehind[shade]) ++shade;
  return shade;
}

std::string convergence_over_evaluations(const SweepView& view) {
  return convergence(
      view, "Convergence over evaluations", "configs tried",
      [](int evaluation, const SweepTrial&) { return static_cast<double>(evaluation); }, view.evaluations, Kind::count);
}

std::string convergence_over_seconds(const SweepView& view) {
  double end = view.journal->result ? view.journal->result->seconds : 0;
  for (const Timed& timed : view.timed) end = std::max(end, timed.trial->at_s);
  if (end <= 0) return "";
  return convergence(
      view, "Convergence over time", "seconds", [](int, const SweepTrial& trial) { return trial.at_s; }, end,
      Kind::linear);
}

std::string distribution_chart(const SweepView& view) {
  if (view.timed.empty()) return "";
  if (view.head().copy_us > 0)
    return distribution(view, "Speed of all configs", "percent of a copy of the same bytes", view.head().copy_us);
  return distribution(view, "Speed of all configs", "percent of the best", view.us(view.best));
}

std::string registers_chart(const SweepView& view) {
  return against_time(view, "Registers and time", "registers a thread",
                      [](const SweepTrial& trial) { return static_cast<double>(trial.registers); });
}

// Only compiled configs: an image from the cache has no compile time, and one that equals another has the other's.
std::string compile_chart(const SweepView& view) {
  return against_time(view, "Compile time and time", "compile, ms",
                      [](const SweepTrial& trial) { return trial.same_as.empty() ? trial.compile_ms : 0; });
}

std::string finalists_chart(const SweepView& view) {
  const std::vector<SweepFinalist>& finalists = view.journal->finalists;
  if (finalists.empty()) return "";
  const double band = view.journal->result ? std::abs(view.journal->result->band_percent) : 0;
  double low = -band;
  double high = band;
  for (const SweepFinalist& finalist : finalists) {
    low = std::min(low, -finalist.high);
    high = std::max(high, -finalist.low);
  }
  const std::size_t rows = std::min<std::size_t>(finalists.size(), 12);
  Frame frame;
  frame.left = 8;
  frame.top = 8;
  frame.height = 56 + 32 * static_cast<double>(rows);
  Chart chart(frame);
  const double margin = std::max((high - low) * 0.04, 0.05);
  const Scale x(low - margin, high + margin, chart.x0(), chart.x1());
  if (band > 0) chart.rectangle(x(-band), chart.y1(), x(band) - x(-band), chart.y0() - chart.y1(), "band");
  chart.x_axis(x, "faster than the default, in percent of its time");
  chart.line(x(0), chart.y1(), x(0), chart.y0(), "default rule");
  for (std::size_t i = 0; i < rows; ++i)
    draw_finalist(chart, x, chart.y1() + 14 + 32 * static_cast<double>(i), view, finalists[i]);
  const char* note = band > 0 ? "95 % confidence intervals of paired re-runs, best first. Shaded: the noise band."
                              : "95 % confidence intervals of paired re-runs, best first.";
  return figure("", "Finalists against the default", note, chart.svg("Finalists against the default"));
}

}  // namespace quern::tool::report
