// The charts by parameter: the effect of each value on the time, and whole configs across all parameters.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/sweep_charts.h"

namespace quern::tool::report {
namespace {

// Jitter in [-1, 1): the same for a config in every chart and report, with neighbours far apart.
double spread(int index) {
  const double part = index * 0.6180339887498949;
  return 2 * (part - std::floor(part)) - 1;
}

// ---- Effects

struct Column {
  double x;
  double half;  // of its width
};

Column column_of(const Chart& chart, std::size_t value, std::size_t count) {
  const double step = (chart.x1() - chart.x0()) / static_cast<double>(count);
  return {chart.x0() + step * (static_cast<double>(value) + 0.5), std::min(step * 0.36, 16.0)};
}

void draw_box(Chart& chart, const Scale& y, const Column& column, const std::vector<double>& times) {
  const double lower = y(quantile(times, 0.25));
  const double upper = y(quantile(times, 0.75));
  chart.line(column.x, y(quantile(times, 0.05)), column.x, y(quantile(times, 0.95)), "whisker");
  chart.rectangle(column.x - column.half, upper, 2 * column.half, std::max(lower - upper, 0.8), "box");
  const double median = y(quantile(times, 0.5));
  chart.line(column.x - column.half, median, column.x + column.half, median, "median");
}

// The values' names, and under each, if there is room, the best time of a config with it.
void draw_labels(Chart& chart, const SweepView& view, const Effect& effect) {
  const SweepAxis& axis = view.head().axes[static_cast<std::size_t>(effect.axis)];
  const int leader = view.leader();
  const int chosen = leader < 0 ? -1 : view.at(leader).values[static_cast<std::size_t>(effect.axis)];
  double name_from = 0;
  double best_from = 0;
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    const double x = column_of(chart, i, axis.values.size()).x;
    const bool wins = static_cast<int>(i) == chosen;
    const double half = text_width(axis.values[i]) / 2;
    if (x - half >= name_from) {
      chart.text(x, chart.y0() + 15, wins ? "tick middle strong" : "tick middle", axis.values[i]);
      name_from = x + half + 5;
    }
    const std::string best = effect.times[i].empty() ? std::string(kDash) : us_text(effect.times[i].front());
    const double best_half = text_width(best) / 2;
    if (x - best_half < best_from) continue;
    chart.text(x, chart.y0() + 30, wins ? "tick middle strong" : "tick middle faint", best);
    best_from = x + best_half + 5;
  }
}

std::size_t drawn(const Effect& effect) {
  return static_cast<std::size_t>(
      std::count_if(effect.times.begin(), effect.times.end(), [](const auto& times) { return !times.empty(); }));
}

void draw_values(Chart& chart, const SweepView& view, const Effect& effect, const Scale& y) {
  const auto place = static_cast<std::size_t>(effect.axis);
  // Boxes show the distribution; points can be selected.
  const std::size_t every = std::max<std::size_t>(view.shown.size() / 400, 1);
  for (std::size_t i = 0; i < view.shown.size(); ++i) {
    const int index = view.shown[i];
    const int value = view.at(index).values[place];
    if (value < 0 || (i % every != 0 && index != view.leader())) continue;
    const Column column = column_of(chart, static_cast<std::size_t>(value), effect.times.size());
    chart.dot(column.x + spread(index) * column.half, y(view.us(index)), "point", index, 1.9);
  }
  for (std::size_t i = 0; i < effect.times.size(); ++i) {
    if (effect.times[i].empty()) continue;
    const Column column = column_of(chart, i, effect.times.size());
    draw_box(chart, y, column, effect.times[i]);
    chart.diamond(column.x, y(effect.times[i].front()), "marginal", 4);
  }
}

std::string effect_chart(const SweepView& view, const Effect& effect, double low, double high) {
  const SweepAxis& axis = view.head().axes[static_cast<std::size_t>(effect.axis)];
  Frame frame;
  frame.width = 360;
  frame.height = 236;
  frame.top = 22;
  frame.bottom = 40;
  Chart chart(frame);
  const Scale y(low, high, chart.y0(), chart.y1(), Kind::log);
  chart.y_axis(y, "µs");
  draw_values(chart, view, effect, y);
  chart.line(chart.x0(), chart.y0(), chart.x1(), chart.y0(), "axis");
  draw_labels(chart, view, effect);
  const std::string share = cat("explains ", percent_text(100 * effect.share, effect.share < 0.0995 ? 1 : 0));
  const std::string note = cat(text_element("span", "class=\"share\"", share), "<br>", escape(axis.sentence));
  return figure("", axis.name, note, chart.svg(cat(axis.name, " against time; ", share, " of the variance")));
}

// ---- Parallel coordinates

double axis_x(const Chart& chart, std::size_t axis, std::size_t axes) {
  return chart.x0() + (chart.x1() - chart.x0()) * static_cast<double>(axis) / static_cast<double>(axes);
}

double value_y(const Chart& chart, int value, std::size_t count) {
  if (count < 2) return (chart.y0() + chart.y1()) / 2;
  return chart.y0() + (chart.y1() - chart.y0()) * value / static_cast<double>(count - 1);
}

void draw_parameter_axes(Chart& chart, const SweepView& view) {
  const std::vector<SweepAxis>& axes = view.head().axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double x = axis_x(chart, i, axes.size());
    chart.line(x, chart.y0() + 8, x, chart.y1() - 8, "axis");
    chart.text(x, i % 2 == 0 || axes.size() < 8 ? 13 : 28, "title middle", axes[i].name);
    double free_below = chart.frame().height;
    for (std::size_t v = 0; v < axes[i].values.size(); ++v) {
      const double y = value_y(chart, static_cast<int>(v), axes[i].values.size());
      if (y > free_below) continue;
      chart.label(x - 6, y + 4, "tick end", axes[i].values[v]);
      free_below = y - 13;
    }
  }
}

void draw_time_axis(Chart& chart, const Scale& y) {
  const std::vector<double> ticks = y.ticks(6);
  const std::vector<std::string> texts = tick_texts(ticks);
  chart.line(chart.x1(), chart.y0() + 8, chart.x1(), chart.y1() - 8, "axis");
  chart.text(chart.x1(), 13, "title middle", "time, µs");
  for (std::size_t i = 0; i < ticks.size(); ++i) chart.text(chart.x1() + 7, y(ticks[i]) + 4, "tick", texts[i]);
}

std::vector<std::pair<double, double>> path_of(const Chart& chart, const SweepView& view, int index,
                                               const Scale& time) {
  const std::vector<SweepAxis>& axes = view.head().axes;
  std::vector<std::pair<double, double>> path;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int value = view.at(index).values[i];
    if (value < 0) continue;
    const double room =
        (chart.y0() - chart.y1()) / static_cast<double>(std::max<std::size_t>(axes[i].values.size(), 2));
    path.emplace_back(axis_x(chart, i, axes.size()),
                      value_y(chart, value, axes[i].values.size()) + spread(index) * std::min(room * 0.25, 7.0));
  }
  path.emplace_back(chart.x1(), time(view.us(index)));
  return path;
}

// At most this many lines, slowest first, so that the best are on top.
std::vector<int> lines_of(const SweepView& view) {
  constexpr std::size_t kMost = 500;
  std::vector<int> order = view.shown;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return view.us(a) < view.us(b); });
  std::vector<int> lines;
  const std::size_t first = order.size() <= kMost ? order.size() : kMost / 2;
  const std::size_t every = order.size() <= kMost ? 1 : (order.size() - first) / (kMost - first) + 1;
  for (std::size_t i = 0; i < order.size(); i += i < first ? 1 : every) lines.push_back(order[i]);
  std::reverse(lines.begin(), lines.end());
  return lines;
}

std::string legend() {
  static constexpr const char* kTexts[kShades] = {"1 %", "2 %", "5 %", "10 %", "20 %", "50 %", "more"};
  std::string out = "<span class=\"legend\">slower than the best by up to ";
  for (int i = 0; i < kShades; ++i) out += cat("<span class=\"key\"><i class=\"s", i, "\"></i>", kTexts[i], "</span> ");
  return out + "</span>";
}

}  // namespace

std::string effect_charts(const SweepView& view) {
  if (view.timed.size() < 2) return "";
  const double low = view.us(view.best);
  std::vector<double> times;
  for (const int i : view.by_time) times.push_back(view.us(i));
  const double high = std::min(times.back(), quantile(times, 0.98) * 1.2);
  std::string out;
  for (const Effect& effect : view.effects) {
    if (drawn(effect) > 1) out += effect_chart(view, effect, low / 1.03, high * 1.02);
  }
  return out;
}

std::string parallel_chart(const SweepView& view) {
  if (view.timed.size() < 2 || view.head().axes.empty()) return "";
  Frame frame;
  frame.width = std::max(940.0, 110.0 * static_cast<double>(view.head().axes.size()));
  frame.height = 340;
  frame.left = 56;
  frame.right = 60;
  frame.top = 46;
  frame.bottom = 18;
  Chart chart(frame);
  const double best = view.us(view.best);
  const double worst = view.us(view.by_time.back());
  const Scale time(best, worst, chart.y0(), chart.y1(), Kind::log);
  for (const int i : lines_of(view)) {
    if (i != view.leader()) chart.polyline(path_of(chart, view, i, time), cat("path s", shade_of(view.us(i), best)), i);
  }
  chart.polyline(path_of(chart, view, view.leader(), time), "path top", view.leader());
  draw_parameter_axes(chart, view);
  draw_time_axis(chart, time);
  return figure("wide", "Configs across all parameters", legend(),
                element("div", "class=\"scroll\"", chart.svg("Configs across all parameters")));
}

}  // namespace quern::tool::report
