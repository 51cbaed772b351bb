// Made-up tuning spaces and a backend that answers from them.
#ifndef QUERN_TESTS_UNIT_TUNER_SYNTHETIC_H_
#define QUERN_TESTS_UNIT_TUNER_SYNTHETIC_H_

#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/search/search.h"

namespace quern::test {

constexpr double kFailed = std::numeric_limits<double>::infinity();

// Axes a, b, … with values "0", "1", …, as many as `extents` says; `legal` picks among all points.
inline Space grid(
    const std::vector<int>& extents,
    const std::function<bool(const std::vector<int>&)>& legal = [](const auto&) { return true; }) {
  std::vector<Axis> axes;
  for (const int extent : extents) {
    Axis axis{std::string(1, static_cast<char>('a' + axes.size())), {}};
    for (int value = 0; value < extent; ++value) axis.values.push_back(std::to_string(value));
    axes.push_back(axis);
  }
  std::vector<std::vector<int>> points;
  std::vector<int> point(extents.size(), 0);
  for (bool more = true; more;) {
    if (legal(point)) points.push_back(point);
    std::size_t a = extents.size();
    while (a > 0 && ++point[a - 1] == extents[a - 1]) point[--a] = 0;
    more = a > 0;
  }
  return {std::move(axes), std::move(points)};
}

// Answers with `time` of a point's indices, the candidate that `choose` picks (default the first), `budget` times.
class TestBackend : public Backend {
 public:
  using Time = std::function<double(const std::vector<int>&)>;
  TestBackend(const Space& space, Time time, int budget = std::numeric_limits<int>::max())
      : space_(space), time_(std::move(time)), budget_(budget) {}

  std::optional<Trial> any_of(const std::vector<int>& candidates) override {
    legal_call = legal_call && !candidates.empty() && !stopped_;
    for (const int point : candidates) {
      legal_call = legal_call && point >= 0 && point < space_.size() && asked_.count(point) == 0;
    }
    stopped_ = static_cast<int>(trials.size()) >= budget_;
    if (stopped_ || !legal_call) return std::nullopt;
    const int point = candidates[choose(candidates.size())];
    asked_.insert(point);
    trials.push_back({point, time_(space_.indices(point))});
    return trials.back();
  }

  double best() const {
    double us = kFailed;
    for (const Trial& trial : trials) us = std::min(us, trial.us);
    return us;
  }
  std::vector<int> points() const {
    std::vector<int> all;
    for (const Trial& trial : trials) all.push_back(trial.point);
    return all;
  }

  std::function<std::size_t(std::size_t)> choose = [](std::size_t) { return std::size_t{0}; };
  std::vector<Trial> trials;
  bool legal_call = true;  // no empty list, no point twice or out of range, nothing after the stop

 private:
  const Space& space_;
  Time time_;
  int budget_;
  bool stopped_ = false;
  std::set<int> asked_;
};

}  // namespace quern::test

#endif  // QUERN_TESTS_UNIT_TUNER_SYNTHETIC_H_
