#include "tuner/search/replay.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "base/text.h"
#include "tuner/search/evidence.h"

namespace quern {
namespace {

// Results of one search. -1: not reached.
struct Run {
  int within_5 = -1;
  int within_1 = -1;
  int stop = -1;
  double stop_regret = 0;
};

// A backend that answers at once with the first candidate, and ends when every point is known.
class Replay : public Backend {
 public:
  explicit Replay(const SavedSpace& saved) : saved_(saved), best_us_(saved.us[static_cast<std::size_t>(saved.best)]) {}

  std::optional<Trial> any_of(const std::vector<int>& candidates) override {
    if (run_.within_1 >= 0 && run_.stop >= 0) return std::nullopt;
    const Trial trial{candidates.front(), saved_.us[static_cast<std::size_t>(candidates.front())]};
    ++evaluations_;
    found_us_ = std::min(found_us_, trial.us);
    evidence_.add(trial);
    note_near();
    if (run_.stop < 0 && evidence_.enough()) note_stop();
    return trial;
  }

  Run finish() {
    if (run_.stop < 0) note_stop();  // it ran out of points first
    return run_;
  }

 private:
  void note_near() {
    if (run_.within_5 < 0 && found_us_ <= best_us_ * 1.05) run_.within_5 = evaluations_;
    if (run_.within_1 < 0 && found_us_ <= best_us_ * 1.01) run_.within_1 = evaluations_;
  }
  void note_stop() {
    run_.stop = evaluations_;
    run_.stop_regret = 100 * (found_us_ / best_us_ - 1);
  }

  const SavedSpace& saved_;
  double best_us_;
  double found_us_ = std::numeric_limits<double>::infinity();
  int evaluations_ = 0;
  Evidence evidence_;
  Run run_;
};

// By nearest rank.
template <class Member>
double quantile(const std::vector<Run>& runs, Member member, double share) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(static_cast<double>(run.*member));
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

std::vector<Run> run_all(const SavedSpace& saved, Strategy search, int seeds, std::uint64_t first_seed) {
  std::vector<Run> runs(static_cast<std::size_t>(seeds));
  std::atomic<std::size_t> next{0};  // dynamic scheduling: runs differ in length
  parallel_for(seeds, 1, [&](std::int64_t, std::int64_t) {
    for (std::size_t i = next++; i < runs.size(); i = next++) {
      Replay backend(saved);
      search(saved.space, saved.first, first_seed + i, backend);
      runs[i] = backend.finish();
    }
  });
  return runs;
}

}  // namespace

ReplayScore replay(const SavedSpace& saved, Strategy search, int seeds, std::uint64_t first_seed) {
  if (seeds < 1) throw Error(Code::bad_input, Stage::tool, cat("a replay needs at least one seed, not ", seeds));
  const std::vector<Run> runs = run_all(saved, search, seeds, first_seed);
  return {quantile(runs, &Run::within_5, 0.5),   quantile(runs, &Run::within_5, 0.9),
          quantile(runs, &Run::within_1, 0.5),   quantile(runs, &Run::within_1, 0.9),
          quantile(runs, &Run::stop, 0.5),       quantile(runs, &Run::stop_regret, 0.5),
          quantile(runs, &Run::stop_regret, 0.9)};
}

ReplayScore mean_score(const std::vector<ReplayScore>& scores) {
  const auto mean = [&](double ReplayScore::*member, auto to, auto from) {
    double sum = 0;
    for (const ReplayScore& score : scores) sum += to(score.*member);
    return from(sum / static_cast<double>(scores.size()));
  };
  const auto log = [](double x) { return std::log(x); };
  const auto exp = [](double x) { return std::exp(x); };
  const auto same = [](double x) { return x; };
  return {mean(&ReplayScore::median_5, log, exp),         mean(&ReplayScore::p90_5, log, exp),
          mean(&ReplayScore::median_1, log, exp),         mean(&ReplayScore::p90_1, log, exp),
          mean(&ReplayScore::stop_evaluations, log, exp), mean(&ReplayScore::stop_regret_p50, same, same),
          mean(&ReplayScore::stop_regret_p90, same, same)};
}

}  // namespace quern
