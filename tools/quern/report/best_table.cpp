// The table of a sweep's best configs. Configs with equal image and launch share a row: one of them was measured.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "report/html.h"
#include "report/sections.h"

namespace quern::tool::report {
namespace {

constexpr std::size_t kBest = 20;

// Indices into SweepView::timed; the first represents the group.
using Group = std::vector<int>;

const std::string& measured_config(const SweepTrial& trial) {
  return trial.same_as.empty() ? trial.config : trial.same_as;
}

// The best, fastest first. A group is represented by the winner, else the default, else the first in the file.
std::vector<Group> best_groups(const SweepView& view) {
  std::vector<Group> groups;
  std::map<std::string_view, std::size_t> place;
  for (const int i : view.by_time) {
    const auto [at, is_new] = place.emplace(measured_config(*view.at(i).trial), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(i);
  }
  groups.resize(std::min(groups.size(), kBest));
  for (Group& group : groups) {
    for (const int special : {view.standard, view.winner}) {
      const auto found = std::find(group.begin(), group.end(), special);
      if (found != group.end()) std::rotate(group.begin(), found, found + 1);
    }
  }
  return groups;
}

// Half the middle 60 % of the samples, in percent of their median: the uncertainty of a single time.
std::string spread_text(const SweepTrial& trial) {
  if (trial.samples.size() < 5) return std::string(kDash);
  std::vector<double> sorted = trial.samples;
  std::sort(sorted.begin(), sorted.end());
  return cat("±", fixed(50 * (quantile(sorted, 0.8) - quantile(sorted, 0.2)) / trial.us, 1));
}

struct Columns {
  int us_digits = 0;  // the same for the whole column, so that decimal points are aligned
  bool copy = false;
  bool standard = false;
  bool counts = false;            // show the number of configs of a row
  std::vector<std::size_t> axes;  // those in which the rows differ
  std::vector<std::string> same;  // "stages=1": the other axes
};

std::set<int> values_of(const SweepView& view, const Group& group, std::size_t axis) {
  std::set<int> values;
  for (const int i : group) values.insert(view.at(i).values[axis]);
  return values;
}

Columns columns_of(const SweepView& view, const std::vector<Group>& groups) {
  Columns columns;
  columns.us_digits = us_digits(view.us(view.best));
  columns.copy = view.head().copy_us > 0;
  columns.standard = view.standard >= 0;
  for (const Group& group : groups) columns.counts = columns.counts || group.size() > 1;
  for (std::size_t axis = 0; axis < view.head().axes.size(); ++axis) {
    std::set<int> values;
    for (const Group& group : groups) values.merge(values_of(view, group, axis));
    if (values.size() > 1 || groups.size() == 1) {
      columns.axes.push_back(axis);
    } else {
      columns.same.push_back(cat(view.head().axes[axis].name, "=", value_text(view, groups.front().front(), axis)));
    }
  }
  return columns;
}

std::string badges(const SweepView& view, const Group& group, const std::set<std::string_view>& rivals) {
  const auto is_in = [&](int index) { return std::find(group.begin(), group.end(), index) != group.end(); };
  if (is_in(view.winner)) return "<span class=\"badge w\">winner</span>";
  if (is_in(view.standard)) return "<span class=\"badge d\">default</span>";
  const bool rival = std::any_of(group.begin(), group.end(),
                                 [&](int index) { return rivals.count(view.at(index).trial->config) != 0; });
  return rival ? "<span class=\"badge r\">rival</span>" : "";
}

// For many values: the first and the last.
std::string values_cell(const SweepView& view, const Group& group, std::size_t axis) {
  const std::set<int> values = values_of(view, group, axis);
  if (values.size() == 1) return number_cell(value_text(view, group.front(), axis));
  std::vector<std::string> texts;
  for (const int value : values)
    texts.push_back(value < 0 ? std::string(kDash) : view.head().axes[axis].values[static_cast<std::size_t>(value)]);
  return cell("n any", texts.size() > 3 ? cat(texts.front(), " … ", texts.back()) : join(texts, ", "));
}

std::string row_of(const SweepView& view, const Group& group, std::size_t rank, const Columns& columns,
                   const std::set<std::string_view>& rivals) {
  const int index = group.front();
  const SweepTrial& trial = *view.at(index).trial;
  std::string row = cat(number_cell(std::to_string(rank)), element("td", "", badges(view, group, rivals)));
  if (columns.counts) row += number_cell(std::to_string(group.size()));
  row += number_cell(fixed(trial.us, columns.us_digits)) + number_cell(spread_text(trial));
  if (columns.standard) row += number_cell(number_text(100 * (1 - trial.us / view.us(view.standard)), 1));
  if (columns.copy) row += number_cell(number_text(view.copy_percent(trial.us), 1));
  for (const std::size_t axis : columns.axes) row += values_cell(view, group, axis);
  row += number_cell(count_text(trial.registers)) + number_cell(count_text(trial.shared_bytes));
  row += number_cell(count_text(trial.spills));
  row += number_cell(trial.compile_ms > 0 ? fixed(trial.compile_ms, 0) : std::string(kDash));
  return element("tr", cat(index == view.winner ? "class=\"winner\" " : "", "data-i=\"", index, "\""), row);
}

std::string head_of(const SweepView& view, const Columns& columns) {
  std::string head = cat(head_cell("n", "#"), head_cell("", ""));
  if (columns.counts) head += head_cell("n", "configs");
  head += head_cell("n", "time", "µs") + head_cell("n", "spread", "%");
  if (columns.standard) head += head_cell("n", "faster than the default", "%");
  if (columns.copy) head += head_cell("n", "of copy", "%");
  for (const std::size_t axis : columns.axes) head += head_cell("n", view.head().axes[axis].name);
  head += head_cell("n", "registers") + head_cell("n", "shared", "B") + head_cell("n", "spills", "B");
  return head + head_cell("n", "compile", "ms");
}

std::string notes(const Columns& columns) {
  std::string out;
  if (!columns.same.empty())
    out += element("p", "class=\"soft\"",
                   cat("All of these have ", text_element("code", "", join(columns.same, " ")), "."));
  if (columns.counts)
    out += text_element("p", "class=\"soft\"",
                        "A row of several configs: their images and launches are equal, so one of them was measured. "
                        "A parameter with several values makes no difference there.");
  return out;
}

}  // namespace

std::vector<int> best_rows(const SweepView& view) {
  std::vector<int> rows;
  for (const Group& group : best_groups(view)) rows.push_back(group.front());
  return rows;
}

std::string best_table(const SweepView& view) {
  std::set<std::string_view> rivals;
  if (view.journal->result) rivals.insert(view.journal->result->rivals.begin(), view.journal->result->rivals.end());
  const std::vector<Group> groups = best_groups(view);
  const Columns columns = columns_of(view, groups);
  std::string rows;
  for (std::size_t i = 0; i < groups.size(); ++i) rows += row_of(view, groups[i], i + 1, columns, rivals);
  return table(head_of(view, columns), rows) + notes(columns);
}

}  // namespace quern::tool::report
