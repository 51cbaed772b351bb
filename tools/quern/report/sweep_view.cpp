#include "report/sweep_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/text.h"
#include "report/html.h"

namespace quern::tool::report {
namespace {

int position(const std::vector<std::string>& values, std::string_view value) {
  const auto found = std::find(values.begin(), values.end(), value);
  return found == values.end() ? -1 : static_cast<int>(found - values.begin());
}

std::vector<int> values_of(const std::vector<SweepAxis>& axes, std::string_view config) {
  std::vector<int> values(axes.size(), -1);
  for (const std::string_view change : split(config, ' ')) {
    const std::size_t equals = std::min(change.find('='), change.size());
    const std::string_view value = change.substr(std::min(equals + 1, change.size()));
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].name == change.substr(0, equals)) values[i] = position(axes[i].values, value);
    }
  }
  return values;
}

// The last line of each config.
std::unordered_map<std::string_view, std::size_t> last_lines(const std::vector<SweepTrial>& trials) {
  std::unordered_map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < trials.size(); ++i) last[trials[i].config] = i;
  return last;
}

void sort_trials(const Journal& journal, SweepView& view) {
  const auto last = last_lines(journal.trials);
  for (std::size_t i = 0; i < journal.trials.size(); ++i) {
    const SweepTrial& trial = journal.trials[i];
    if (last.at(trial.config) != i) continue;
    ++view.evaluations;
    if (!trial.failure) {
      view.timed.push_back({&trial, view.evaluations, values_of(journal.head.axes, trial.config)});
      continue;
    }
    view.failed.push_back(&trial);
    view.failed_evaluations.push_back(view.evaluations);
  }
}

void rank(SweepView& view) {
  view.by_time.resize(view.timed.size());
  std::iota(view.by_time.begin(), view.by_time.end(), 0);
  std::stable_sort(view.by_time.begin(), view.by_time.end(), [&](int a, int b) { return view.us(a) < view.us(b); });
  if (!view.by_time.empty()) view.best = view.by_time.front();
  for (int i = 0; i < static_cast<int>(view.timed.size()); ++i) {
    const std::string& config = view.at(i).trial->config;
    if (view.journal->result && config == view.journal->result->winner) view.winner = i;
    if (config == view.head().default_config) view.standard = i;
  }
}

// A third for the best, the rest evenly over all ranks, so that the distribution keeps its shape.
void thin_out(SweepView& view, int most) {
  const std::size_t all = view.by_time.size();
  const auto limit = static_cast<std::size_t>(most);
  const std::size_t first = all <= limit ? all : limit / 3;
  std::vector<bool> chosen(all, false);
  for (std::size_t i = 0; i < first; ++i) chosen[static_cast<std::size_t>(view.by_time[i])] = true;
  for (std::size_t i = first; i < limit && all > limit; ++i) {
    const std::size_t at = first + (i - first) * (all - first) / (limit - first);
    chosen[static_cast<std::size_t>(view.by_time[at])] = true;
  }
  for (const int special : {view.winner, view.standard}) {
    if (special >= 0) chosen[static_cast<std::size_t>(special)] = true;
  }
  for (std::size_t i = 0; i < all; ++i) {
    if (chosen[i]) view.shown.push_back(static_cast<int>(i));
  }
}

double mean_log(const std::vector<double>& times) {
  double sum = 0;
  for (const double us : times) sum += std::log(us);
  return times.empty() ? 0 : sum / static_cast<double>(times.size());
}

// Eta squared of a one-way analysis of variance.
double explained(const std::vector<std::vector<double>>& groups) {
  std::vector<double> all;
  for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  const double mean = mean_log(all);
  double total = 0;
  for (const double us : all) total += std::pow(std::log(us) - mean, 2);
  double between = 0;
  for (const auto& group : groups) between += static_cast<double>(group.size()) * std::pow(mean_log(group) - mean, 2);
  return total > 0 ? std::min(between / total, 1.0) : 0;
}

Effect effect_of(const SweepView& view, int axis) {
  const auto place = static_cast<std::size_t>(axis);
  Effect effect;
  effect.axis = axis;
  effect.times.resize(view.head().axes[place].values.size());
  for (const int i : view.by_time) {
    const int value = view.at(i).values[place];
    if (value >= 0) effect.times[static_cast<std::size_t>(value)].push_back(view.us(i));
  }
  effect.share = explained(effect.times);
  return effect;
}

void find_effects(SweepView& view) {
  for (int i = 0; i < static_cast<int>(view.head().axes.size()); ++i) view.effects.push_back(effect_of(view, i));
  std::stable_sort(view.effects.begin(), view.effects.end(),
                   [](const Effect& a, const Effect& b) { return a.share > b.share; });
}

}  // namespace

double SweepView::leader_us() const {
  if (winner >= 0 && journal->result->us > 0) return journal->result->us;
  return leader() >= 0 ? us(leader()) : 0;
}

double SweepView::default_us() const {
  if (journal->result && journal->result->default_us > 0) return journal->result->default_us;
  return standard >= 0 ? us(standard) : 0;
}

double SweepView::copy_percent(double us) const { return us > 0 ? 100 * head().copy_us / us : 0; }

SweepView view_of(const Journal& journal, int most) {
  SweepView view;
  view.journal = &journal;
  sort_trials(journal, view);
  rank(view);
  thin_out(view, most);
  find_effects(view);
  return view;
}

std::string short_name(const SweepView& view, const std::string& config) {
  const std::vector<std::string_view> usual = split(view.head().default_config, ' ');
  std::vector<std::string> changed;
  for (const std::string_view value : split(config, ' ')) {
    if (std::count(usual.begin(), usual.end(), value) == 0) changed.emplace_back(value);
  }
  if (changed.empty()) return "default";
  std::string text = join(changed, " ");
  constexpr std::size_t kRoom = 64;
  if (text.size() > kRoom) text = cat(text.substr(0, text.rfind(' ', kRoom)), " …");
  return text;
}

double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::string value_text(const SweepView& view, int index, std::size_t axis) {
  const int value = index < 0 ? -1 : view.at(index).values[axis];
  return value < 0 ? std::string(kDash) : view.head().axes[axis].values[static_cast<std::size_t>(value)];
}

}  // namespace quern::tool::report
