#include "tuner/evaluate/recheck.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "plan/config.h"
#include "tuner/evaluate/final_comparison.h"

namespace quern {
namespace {

// Records write configs with spaces, --config takes commas; a file may have either.
Config config_of(const std::string& text, const FamilySpace& space, int default_point) {
  std::string changes;
  std::string spaced = text;
  std::replace(spaced.begin(), spaced.end(), ',', ' ');
  for (const std::string_view change : split(spaced, ' ')) {
    if (!change.empty()) changes += cat(changes.empty() ? "" : ",", change);
  }
  const AnyProblem& problem = space.problem();
  return parse_config(space.step(), changes, space.config(default_point), problem.data(), space.target());
}

// How much slower the first is than one with this difference from it.
double slower_than(double difference) { return std::max(0.0, 1 / (1 + difference) - 1); }

Interval regret_of(const std::vector<Finalist>& finalists) {
  const Finalist* best = nullptr;
  for (const Finalist& finalist : finalists) {
    if (finalist.is_incumbent) continue;
    if (best == nullptr || finalist.difference.middle < best->difference.middle) best = &finalist;
  }
  if (best == nullptr) return {};
  const Interval& difference = best->difference;
  return {slower_than(difference.high), slower_than(difference.middle), slower_than(difference.low)};
}

// There is no best time to compare with, so each gets its full number of samples.
SweepTrial evaluate(Evaluator& evaluator, const FamilySpace& space, int point) {
  SweepTrial trial = evaluator.evaluate(space.option(point), std::numeric_limits<double>::infinity());
  trial.config = space.text(point);
  return trial;
}

}  // namespace

std::vector<std::string> differences(const Record& record, const Step& step, const Toolchain& now) {
  std::vector<std::string> found;
  const auto changed = [&](const char* what, const std::string& then, const std::string& today) {
    if (!then.empty() && !today.empty() && then != today)
      found.push_back(cat(what, " ", then, " then, ", today, " now"));
  };
  if (!record.space_digest.empty() && record.space_digest != space_digest(step))
    found.emplace_back("made from another tuning space");
  changed("driver", record.driver, now.driver);
  changed("compiler", record.compiler, now.compiler);
  return found;
}

RecheckPoints points_of(const Record& record, const FamilySpace& space, int default_point) {
  RecheckPoints points;
  points.default_point = default_point;
  points.recorded = space.find(config_of(record.config, space, default_point));
  for (const Rival& rival : record.rivals) {
    try {
      const int point = space.find(config_of(rival.config, space, default_point));
      const bool known = point == points.recorded || point == default_point ||
                         std::find(points.rivals.begin(), points.rivals.end(), point) != points.rivals.end();
      if (!known) points.rivals.push_back(point);
    } catch (const Error&) {
      ++points.lost_rivals;
    }
  }
  return points;
}

Rechecked recheck(Evaluator& evaluator, const FamilySpace& space, const RecheckPoints& points) {
  Rechecked now;
  std::vector<Finalist> contenders;
  const auto enter = [&](int point) {
    const SweepTrial trial = evaluate(evaluator, space, point);
    if (point == points.recorded) now.recorded = trial;
    if (point == points.default_point && !trial.failure) now.default_us = trial.us;
    if (!trial.failure) contenders.push_back({point, {}, point == points.default_point, point == points.recorded});
    if (trial.failure && point != points.recorded) now.failed.push_back(trial);
  };
  enter(points.recorded);
  if (points.default_point != points.recorded) enter(points.default_point);
  if (now.recorded.failure) return now;  // nothing to compare with
  for (const int rival : points.rivals) enter(rival);
  const FinalComparison final_comparison = compare_finalists(
      std::move(contenders), [&](int a, int b) { return evaluator.rounds(space.option(a), space.option(b), kRounds); });
  now.regret = regret_of(final_comparison.finalists);
  const Finalist& winner = final_comparison.finalists[final_comparison.decision.winner];
  if (!winner.is_incumbent) now.faster = space.text(winner.point);
  return now;
}

}  // namespace quern
