// The tables of a sweep's section.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/text.h"
#include "report/html.h"
#include "report/sweep_section.h"

namespace quern::tool::report {
namespace {

std::string cell(std::string_view style, std::string_view text) {
  return text_element("td", style.empty() ? "" : cat("class=\"", style, "\""), text);
}

std::string number_cell(std::string_view text) { return cell("n", text); }

std::string head_cell(std::string_view style, std::string_view name, std::string_view unit = "") {
  const std::string below = unit.empty() ? "" : cat(" ", text_element("span", "class=\"unit\"", unit));
  return element("th", cat("scope=\"col\"", style.empty() ? "" : cat(" class=\"", style, "\"")),
                 cat(escape(name), below));
}

// In a box of its own: a wide one scrolls there, not the page.
std::string table(const std::string& head, const std::string& rows) {
  const std::string body = cat(element("thead", "", element("tr", "", head)), element("tbody", "", rows));
  return element("div", "class=\"scroll\"", element("table", "", body));
}

std::string value_text(const SweepView& view, int index, std::size_t axis) {
  const int value = index < 0 ? -1 : view.at(index).values[axis];
  return value < 0 ? std::string(kDash) : view.head().axes[axis].values[static_cast<std::size_t>(value)];
}

// ---- The best

constexpr std::size_t kBest = 20;

// Half the middle 60 % of the samples, in percent of their median: how sure a single time is.
std::string spread_text(const SweepTrial& trial) {
  if (trial.samples.size() < 5) return std::string(kDash);
  std::vector<double> sorted = trial.samples;
  std::sort(sorted.begin(), sorted.end());
  return cat("±", fixed(50 * (quantile(sorted, 0.8) - quantile(sorted, 0.2)) / trial.us, 1));
}

std::string badge(const SweepView& view, int index, const std::set<std::string_view>& rivals) {
  if (index == view.winner) return "<span class=\"badge w\">winner</span>";
  if (index == view.standard) return "<span class=\"badge d\">default</span>";
  const bool rival = rivals.count(view.at(index).trial->config) != 0;
  return rival ? "<span class=\"badge r\">rival</span>" : "";
}

struct Columns {
  int us_digits;  // one number of digits a column, so that its points are aligned
  bool copy;
  bool standard;
};

std::string best_row(const SweepView& view, int index, std::size_t rank, const Columns& columns,
                     const std::set<std::string_view>& rivals) {
  const SweepTrial& trial = *view.at(index).trial;
  std::string row = cat(number_cell(std::to_string(rank)), element("td", "", badge(view, index, rivals)));
  row += number_cell(fixed(trial.us, columns.us_digits)) + number_cell(spread_text(trial));
  if (columns.standard) row += number_cell(number_text(100 * (trial.us / view.us(view.standard) - 1), 1));
  if (columns.copy) row += number_cell(number_text(view.copy_percent(trial.us), 1));
  for (std::size_t axis = 0; axis < view.head().axes.size(); ++axis) row += number_cell(value_text(view, index, axis));
  row += number_cell(count_text(trial.registers)) + number_cell(count_text(trial.shared_bytes));
  row += number_cell(count_text(trial.spills)) + number_cell(fixed(trial.compile_ms, 0));
  return element("tr", cat(index == view.winner ? "class=\"winner\" " : "", "data-i=\"", index, "\""), row);
}

std::string best_head(const SweepView& view, const Columns& columns) {
  std::string head = cat(head_cell("n", "#"), head_cell("", ""));
  head += head_cell("n", "time", "µs") + head_cell("n", "spread", "%");
  if (columns.standard) head += head_cell("n", "vs default", "%");
  if (columns.copy) head += head_cell("n", "of copy", "%");
  for (const SweepAxis& axis : view.head().axes) head += head_cell("n", axis.name);
  head += head_cell("n", "registers") + head_cell("n", "shared", "B") + head_cell("n", "spills", "B");
  return head + head_cell("n", "compile", "ms");
}

// ---- Failures

struct Kind {
  int count = 0;
  const SweepTrial* example = nullptr;
};

std::string failure_rows(const std::array<Kind, kFailureKindCount>& kinds) {
  std::vector<int> order;
  for (int i = 0; i < kFailureKindCount; ++i) {
    if (kinds[static_cast<std::size_t>(i)].count > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return kinds[static_cast<std::size_t>(a)].count > kinds[static_cast<std::size_t>(b)].count;
  });
  std::string rows;
  for (const int i : order) {
    const Kind& kind = kinds[static_cast<std::size_t>(i)];
    const std::string example = cat(escape(kind.example->why), "<br>", text_element("code", "", kind.example->config));
    rows += element("tr", "",
                    cat(cell("nowrap", kFailureKinds[i].name), number_cell(count_text(kind.count)),
                        cell("", kFailureKinds[i].sentence), element("td", "", example)));
  }
  return rows;
}

// ---- Facts

std::string fact(std::string_view name, std::string_view text, bool code = false) {
  if (text.empty()) return "";
  const std::string value = code ? text_element("code", "", text) : escape(text);
  return element("div", code ? "class=\"long\"" : "", cat(text_element("dt", "", name), element("dd", "", value)));
}

std::string clocks_text(const SweepClocks& clocks) {
  if (clocks.sm_mhz <= 0) return "";
  const std::string memory = clocks.memory_mhz > 0 ? cat(", memory ", number_text(clocks.memory_mhz, 0), " MHz") : "";
  return cat("SM ", number_text(clocks.sm_mhz, 0), " MHz", memory);
}

std::string budget_text(const SweepBudget& budget) {
  std::vector<std::string> parts;
  if (budget.evaluations > 0) parts.push_back(count_of(budget.evaluations, "evaluation"));
  if (budget.seconds > 0) parts.push_back(seconds_text(budget.seconds));
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string space_text(const SweepHead& head) {
  std::string text = count_of(static_cast<std::int64_t>(head.axes.size()), "parameter");
  if (head.points > 0) text += cat(", ", count_of(head.points, "legal config"));
  return text;
}

std::string methods_text(const SweepView& view) {
  std::set<std::string> methods;
  for (const Timed& timed : view.timed) {
    if (!timed.trial->method.empty()) methods.insert(timed.trial->method);
  }
  return join({methods.begin(), methods.end()}, ", ");
}

std::string equal_images_text(const SweepView& view) {
  const auto shares = [](const Timed& timed) { return !timed.trial->same_as.empty(); };
  const auto count = std::count_if(view.timed.begin(), view.timed.end(), shares);
  return count == 0 ? "" : cat(count_of(count, "config"), " with the time of another whose image is equal");
}

}  // namespace

std::string best_table(const SweepView& view) {
  std::set<std::string_view> rivals;
  if (view.journal->result) rivals.insert(view.journal->result->rivals.begin(), view.journal->result->rivals.end());
  const Columns columns = {us_digits(view.us(view.best)), view.head().copy_us > 0, view.standard >= 0};
  std::string rows;
  for (std::size_t i = 0; i < std::min(kBest, view.by_time.size()); ++i)
    rows += best_row(view, view.by_time[i], i + 1, columns, rivals);
  return table(best_head(view, columns), rows);
}

// Winner and default side by side.
std::string config_table(const SweepView& view) {
  const char* name = view.winner >= 0 ? "winner" : "best so far";
  std::string head = head_cell("", "");
  std::string leader = cell("nowrap", name);
  std::string standard = cell("nowrap", "default");
  for (std::size_t axis = 0; axis < view.head().axes.size(); ++axis) {
    const std::string value = value_text(view, view.leader(), axis);
    const std::string usual = value_text(view, view.standard, axis);
    head += head_cell("n", view.head().axes[axis].name);
    leader += cell(view.standard >= 0 && value != usual ? "n changed" : "n", value);
    standard += number_cell(usual);
  }
  const std::string rows = element("tr", "", leader) + (view.standard >= 0 ? element("tr", "", standard) : "");
  const std::string text = element("p", "", text_element("code", "", view.at(view.leader()).trial->config));
  return table(head, rows) + text;
}

std::string failures_part(const SweepView& view) {
  if (view.failed.empty()) return "<p>No config failed.</p>";
  std::array<Kind, kFailureKindCount> kinds;
  for (const SweepTrial* trial : view.failed) {
    Kind& kind = kinds[static_cast<std::size_t>(*trial->failure)];
    if (kind.count++ == 0) kind.example = trial;
  }
  const std::string head = cat(head_cell("", "kind"), head_cell("n", "configs"), head_cell("", "what it means"),
                               head_cell("", "an example"));
  return table(head, failure_rows(kinds));
}

std::string environment_facts(const SweepView& view) {
  const SweepHead& head = view.head();
  const bool clocked = head.clocks.sm_mhz > 0;
  std::string out = fact("Device", head.device) + fact("Target", head.target) + fact("Driver", head.driver);
  out += fact("Compiler", head.compiler) + fact("Clocks", clocks_text(head.clocks));
  if (head.clocks.power_limit_w > 0) out += fact("Power limit", cat(number_text(head.clocks.power_limit_w, 0), " W"));
  if (clocked) out += fact("Throttled", head.clocks.throttled.empty() ? "no" : head.clocks.throttled);
  out += fact("Regime", head.regime) + fact("Method", methods_text(view));
  out += fact("Started", date_text(head.started_unix_ns)) + fact("Space", space_text(head));
  out += fact("Strategy", head.strategy) + fact("Seed", std::to_string(head.seed));
  out += fact("Budget", budget_text(head.budget)) + fact("quern", head.quern);
  out += fact("Equal images", equal_images_text(view));
  out += fact("Command", head.command, true) + fact("Space digest", head.space, true);
  return element("dl", "class=\"facts\"", out);
}

}  // namespace quern::tool::report
