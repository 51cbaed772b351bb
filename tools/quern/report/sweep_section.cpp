#include "report/sections.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/html.h"
#include "report/page_parts.h"
#include "report/sweep_charts.h"

namespace quern::tool::report {
namespace {

constexpr const char* kUnit = "\u00a0µs";

std::string tile(std::string_view label, const std::string& value, std::string_view small) {
  const std::string below = small.empty() ? "" : text_element("small", "", small);
  return element("div", "", cat(text_element("dt", "", label), element("dd", "", cat(escape(value), below))));
}

bool has_gain(const SweepView& view) { return view.leader_us() > 0 && view.default_us() > 0; }

// In percent of the default's time; positive: faster. The file has differences of times, with the opposite sign.
double gain_of(const SweepView& view) {
  if (view.journal->result && view.winner >= 0) return -view.journal->result->percent;
  return 100 * (1 - view.leader_us() / view.default_us());
}

std::string interval_text(const SweepResult& result) {
  return cat("95\u00a0% interval ", signed_percent(-result.high), " to ", signed_percent(-result.low));
}

std::string tried_text(const SweepView& view) {
  const std::int64_t points = view.head().points;
  return points > 0 ? cat("of ", count_of(points, "legal config")) : "";
}

std::string speed_note(const SweepView& view, double us) {
  if (view.head().bytes <= 0 || us <= 0) return "";
  return cat(number_text(static_cast<double>(view.head().bytes) / us / 1e3, 0), "\u00a0GB/s");
}

std::string copy_text(const SweepView& view, double us) {
  const double percent = view.copy_percent(us);
  return percent > 0 ? percent_text(percent, 1) : std::string(kDash);
}

std::string tiles(const SweepView& view) {
  const auto& result = view.journal->result;
  const bool won = result && view.winner >= 0;
  const double us = view.leader_us();
  const double standard = view.default_us();
  std::string out;
  out += tile(won ? "Winner" : "Best so far", us > 0 ? us_text(us) + kUnit : std::string(kDash), speed_note(view, us));
  out += tile("Default", standard > 0 ? us_text(standard) + kUnit : std::string(kDash), speed_note(view, standard));
  out += tile("Faster than the default", gain_text(view),
              won              ? interval_text(*result)
              : has_gain(view) ? "not confirmed by paired re-runs"
                               : "");
  out += tile("Percent of a copy", copy_text(view, us),
              view.head().copy_us > 0 ? cat("a copy takes ", us_text(view.head().copy_us), kUnit) : "not measured");
  if (won)
    out += tile("Noise band", percent_text(result->band_percent, 1),
                cat(count_of(static_cast<std::int64_t>(result->rivals.size()), "rival"), " within it"));
  out += tile("Configs tried", count_text(view.evaluations), tried_text(view));
  if (result) out += tile("Sweep", seconds_text(result->seconds), cat("stopped by ", result->stopped));
  return element("dl", "class=\"tiles\"", out);
}

// If the whole interval has one sign, it is written without signs, as in the sentence.
std::string faster_by(const SweepResult& result) {
  const bool one_side = result.high <= 0 || result.low >= 0;
  const auto [least, most] = std::minmax({std::abs(result.low), std::abs(result.high)});
  const std::string interval =
      one_side ? cat("95\u00a0% interval ", fixed(least, 1), " to ", percent_text(most, 1)) : interval_text(result);
  return cat("The winner is ", percent_text(std::abs(result.percent), 1), result.percent <= 0 ? " faster" : " slower",
             " than the default (", interval, ").");
}

std::string verdict(const SweepView& view) {
  const auto& result = view.journal->result;
  if (view.timed.empty()) return "No config passed: there is nothing to choose from.";
  if (!result)
    return cat("This sweep was not finished: ", count_of(view.evaluations, "config"),
               view.head().points > 0 ? cat(" of ", count_text(view.head().points)) : "", " tried",
               ". What follows is the best so far, not confirmed by paired re-runs.");
  if (view.winner < 0) return "The sweep chose no config that this file has a time of.";
  const std::string band = percent_text(result->band_percent, 1);
  if (result->why == "default")
    return cat("The default stays: nothing beats it by more than the noise band of ", band, ".");
  if (result->why == "incumbent")
    return cat("The recorded winner stays: nothing beats it by more than the noise band of ", band, ". ",
               faster_by(*result));
  if (result->why == "first in order")
    return cat(faster_by(*result), " Several configs are within the noise band of ", band,
               "; the first of them in canonical order is taken.");
  return faster_by(*result);
}

// Caveats that the reader should know before trusting the numbers.
std::string warnings(const SweepView& view) {
  std::string out;
  const std::string& throttled = view.head().clocks.throttled;
  if (!throttled.empty())
    out += text_element("p", "class=\"note\"", cat("The clocks were throttled: ", throttled, "."));
  if (const std::size_t skipped = view.journal->skipped.size(); skipped != 0)
    out +=
        text_element("p", "class=\"note\"",
                     cat(count_of(static_cast<std::int64_t>(skipped), "damaged line"), " skipped; the first is line ",
                         view.journal->skipped.front().line, ": ", view.journal->skipped.front().reason, "."));
  if (view.journal->unfinished)
    out += text_element("p", "class=\"note\"", "The file ends within a line: the sweep was stopped while writing it.");
  return out;
}

// Data of the drawn configs for the script.
std::string drawn_data(const SweepView& view) {
  std::vector<int> drawn = view.shown;
  for (const int i : best_rows(view)) drawn.push_back(i);
  std::sort(drawn.begin(), drawn.end());
  drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  std::vector<Drawn> configs;
  for (const int i : drawn) configs.push_back({i, fixed(view.us(i), us_digits(view.us(i))), view.at(i).values});
  return drawn_data(view.head().axes, configs);
}

std::string where_and_when(const SweepHead& head) {
  std::vector<std::string> parts;
  for (const std::string& text : {head.device, head.target, head.regime.empty() ? "" : cat(head.regime, " L2")}) {
    if (!text.empty()) parts.push_back(text);
  }
  if (head.started_unix_ns != 0) parts.push_back(date_text(head.started_unix_ns));
  return join(parts, " · ");
}

std::string charts_part(const SweepView& view) {
  const std::string effects = effect_charts(view);
  std::string out = heading("The search");
  out += element("div", "class=\"charts\"",
                 cat(convergence_over_evaluations(view), convergence_over_seconds(view), distribution_chart(view),
                     finalists_chart(view)));
  if (!effects.empty()) {
    out += heading("What each parameter does");
    out += text_element(
        "p", "class=\"soft\"",
        "Boxes: the middle half of the configs with a value, with the median; lines: 5 to 95 %; "
        "diamonds, and the numbers below: the best. The share is the part of the variance of log time "
        "that lies between the values; parameters depend on each other by constraints, so shares may overlap.");
    out += element("div", "class=\"charts small\"", effects);
  }
  out += parallel_chart(view);
  const std::string resources = cat(registers_chart(view), compile_chart(view));
  if (!resources.empty()) out += cat(heading("Resources"), element("div", "class=\"charts\"", resources));
  return out;
}

}  // namespace

std::string gain_text(const SweepView& view) {
  return has_gain(view) ? signed_percent(gain_of(view)) : std::string(kDash);
}

std::string outcome(const SweepView& view) {
  if (view.timed.empty()) return "no config passed";
  if (!view.journal->result) return "not finished";
  return view.journal->result->why;
}

std::string sweep_section(const SweepView& view, int number) {
  const SweepHead& head = view.head();
  std::string out = text_element("h2", "", head.problem);
  out += text_element("p", "class=\"soft\"", where_and_when(head));
  out += text_element("p", "class=\"verdict\"", verdict(view));
  out += warnings(view);
  out += tiles(view);
  if (!view.timed.empty()) {
    out += config_table(view);
    out += charts_part(view);
    out += cat(heading("The best configs"), best_table(view));
    out += drawn_data(view);
  }
  out += cat(heading("Failures"), failures_part(view));
  out += cat(heading("Environment"), environment_facts(view));
  return element("section", cat("class=\"sweep\" id=\"sweep-", number, "\""), out);
}

}  // namespace quern::tool::report
