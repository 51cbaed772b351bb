#include "report/csv.h"

#include <algorithm>

#include "base/text.h"
#include "report/sweep_view.h"

namespace quern::tool::report {
namespace {

using Cells = std::vector<std::string>;

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string line_of(const Cells& cells) {
  Cells fields;
  for (const std::string& text : cells) fields.push_back(quoted(text));
  return join(fields, ",") + "\r\n";
}

std::string if_positive(double value, int digits) { return value > 0 ? fixed(value, digits) : ""; }

std::vector<std::string> axes_of(const std::vector<Journal>& journals) {
  std::vector<std::string> names;
  for (const Journal& journal : journals) {
    for (const SweepAxis& axis : journal.head.axes) {
      if (std::find(names.begin(), names.end(), axis.name) == names.end()) names.push_back(axis.name);
    }
  }
  return names;
}

std::string value_of(const std::string& config, const std::string& axis) {
  for (const std::string_view change : split(config, ' ')) {
    if (change.size() > axis.size() && change.substr(0, axis.size()) == axis && change[axis.size()] == '=')
      return std::string(change.substr(axis.size() + 1));
  }
  return "";
}

std::string role_of(const Journal& journal, const std::string& config) {
  if (journal.result && config == journal.result->winner) return "winner";
  if (config == journal.head.default_config) return "default";
  if (!journal.result) return "";
  const std::vector<std::string>& rivals = journal.result->rivals;
  return std::find(rivals.begin(), rivals.end(), config) == rivals.end() ? "" : "rival";
}

void add_times(Cells& cells, const SweepView& view, const SweepTrial& trial) {
  std::vector<double> sorted = trial.samples;
  std::sort(sorted.begin(), sorted.end());
  cells.push_back(if_positive(trial.us, 4));
  for (const double part : {0.2, 0.8}) cells.push_back(sorted.empty() ? "" : fixed(quantile(sorted, part), 4));
  const double standard = view.standard < 0 ? 0 : view.us(view.standard);
  cells.push_back(trial.us > 0 && standard > 0 ? fixed(100 * (1 - trial.us / standard), 2) : "");
  cells.push_back(trial.us > 0 ? if_positive(view.copy_percent(trial.us), 2) : "");
}

std::string row_of(const SweepView& view, const SweepTrial& trial, int evaluation,
                   const std::vector<std::string>& axes) {
  const SweepHead& head = view.head();
  Cells cells = {head.problem,
                 head.device,
                 head.target,
                 head.regime,
                 std::to_string(evaluation),
                 role_of(*view.journal, trial.config)};
  for (const std::string& axis : axes) cells.push_back(value_of(trial.config, axis));
  add_times(cells, view, trial);
  for (const std::int64_t figure : {trial.registers, trial.shared_bytes, trial.spills})
    cells.push_back(trial.failure ? "" : std::to_string(figure));
  cells.push_back(trial.same_as.empty() ? if_positive(trial.compile_ms, 2) : "");
  cells.push_back(trial.same_as);
  cells.emplace_back(trial.failure ? name(*trial.failure) : "");
  cells.insert(cells.end(), {trial.why, trial.image, if_positive(trial.at_s, 3)});
  return line_of(cells);
}

std::string head_line(const std::vector<std::string>& axes) {
  Cells cells = {"problem", "device", "target", "regime", "evaluation", "role"};
  cells.insert(cells.end(), axes.begin(), axes.end());
  cells.insert(cells.end(), {"us", "us_p20", "us_p80", "faster_percent", "copy_percent", "registers", "shared_bytes",
                             "spill_bytes", "compile_ms", "same_as", "failure", "why", "image", "at_s"});
  return line_of(cells);
}

struct Evaluated {
  const SweepTrial* trial;
  int evaluation;
};

std::vector<Evaluated> rows_of(const SweepView& view) {
  std::vector<Evaluated> rows;
  for (const Timed& timed : view.timed) rows.push_back({timed.trial, timed.evaluation});
  for (std::size_t i = 0; i < view.failed.size(); ++i) rows.push_back({view.failed[i], view.failed_evaluations[i]});
  std::sort(rows.begin(), rows.end(),
            [](const Evaluated& a, const Evaluated& b) { return a.evaluation < b.evaluation; });
  return rows;
}

}  // namespace

std::string csv_of(const std::vector<Journal>& journals) {
  const std::vector<std::string> axes = axes_of(journals);
  std::string text = head_line(axes);
  for (const Journal& journal : journals) {
    const SweepView view = view_of(journal, 0);
    for (const Evaluated& row : rows_of(view)) text += row_of(view, *row.trial, row.evaluation, axes);
  }
  return text;
}

}  // namespace quern::tool::report
