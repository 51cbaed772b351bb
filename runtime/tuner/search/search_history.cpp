#include "tuner/search/search_history.h"

#include <algorithm>
#include <limits>

namespace quern {
namespace {

// More than any backend compiles ahead.
constexpr std::size_t kShown = 64;
constexpr int kDrawTries = 64;

}  // namespace

SearchHistory::SearchHistory(const Space& space, Backend& backend)
    : space_(space),
      backend_(backend),
      known_(static_cast<std::size_t>(space.size())),
      us_(known_.size(), std::numeric_limits<double>::infinity()) {}

void SearchHistory::learn(const Trial& trial) {
  known_[static_cast<std::size_t>(trial.point)] = 1;
  us_[static_cast<std::size_t>(trial.point)] = trial.us;
  trials_.push_back(trial);
}

std::optional<Trial> SearchHistory::any_of(const std::vector<int>& candidates) {
  if (over()) return std::nullopt;
  std::vector<int> shown;
  for (const int point : candidates) {
    if (shown.size() == kShown) break;
    if (!knows(point) && std::find(shown.begin(), shown.end(), point) == shown.end()) shown.push_back(point);
  }
  if (shown.empty()) return std::nullopt;
  const std::optional<Trial> trial = backend_.any_of(shown);
  if (trial) {
    learn(*trial);
  } else {
    stopped_ = true;
  }
  return trial;
}

bool SearchHistory::all_of(const std::vector<int>& points) {
  // A moving window: long lists are not scanned again for each point.
  std::vector<int> window;
  std::size_t taken = 0;
  do {
    std::erase_if(window, [&](int point) { return knows(point); });
    while (taken < points.size() && window.size() < kShown) window.push_back(points[taken++]);
  } while (any_of(window) || (taken < points.size() && !over()));
  return !over();
}

int SearchHistory::unknown(Random& random) const {
  for (int i = 0; i < kDrawTries; ++i) {
    const int point = random.below(known_.size());
    if (!knows(point)) return point;
  }
  int left = random.below(known_.size() - trials_.size());
  for (int point = 0;; ++point) {
    if (!knows(point) && left-- == 0) return point;
  }
}

std::vector<int> SearchHistory::unknowns(Random& random, int count) const {
  std::vector<int> points;
  const auto wanted = std::min(static_cast<std::size_t>(count), known_.size() - trials_.size());
  while (points.size() < wanted) {
    const int point = unknown(random);
    if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(point);
  }
  return points;
}

std::vector<int> SearchHistory::fastest(int count) const {
  std::vector<Trial> sorted = trials_;
  const auto wanted = std::min(static_cast<std::size_t>(count), sorted.size());
  std::stable_sort(sorted.begin(), sorted.end(), [](const Trial& a, const Trial& b) { return a.us < b.us; });
  std::vector<int> points;
  for (std::size_t i = 0; i < wanted; ++i) points.push_back(sorted[i].point);
  return points;
}

}  // namespace quern
