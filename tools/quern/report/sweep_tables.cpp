// The tables of a sweep's section, except that of the best configs.
#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "report/html.h"
#include "report/sections.h"

namespace quern::tool::report {
namespace {

// ---- Failures

struct Failures {
  int count = 0;
  const SweepTrial* example = nullptr;
};

std::string failure_rows(const std::array<Failures, kFailureKindCount>& kinds) {
  std::vector<int> order;
  for (int i = 0; i < kFailureKindCount; ++i) {
    if (kinds[static_cast<std::size_t>(i)].count > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return kinds[static_cast<std::size_t>(a)].count > kinds[static_cast<std::size_t>(b)].count;
  });
  std::string rows;
  for (const int i : order) {
    const Failures& kind = kinds[static_cast<std::size_t>(i)];
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

std::string clocks_text(const ClockRates& clocks) {
  if (clocks.sm_mhz <= 0) return "";
  const std::string memory = clocks.memory_mhz > 0 ? cat(", memory ", clocks.memory_mhz, " MHz") : "";
  return cat("SM ", clocks.sm_mhz, " MHz", memory);
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

// Winner and default next to each other.
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
  std::array<Failures, kFailureKindCount> kinds;
  for (const SweepTrial* trial : view.failed) {
    Failures& kind = kinds[static_cast<std::size_t>(*trial->failure)];
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
