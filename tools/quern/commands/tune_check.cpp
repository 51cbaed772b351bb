#include "commands/tune_actions.h"

#include <algorithm>
#include <cmath>

#include "api/runtime_state.h"
#include "base/text.h"
#include "io/progress.h"
#include "plan/problem.h"
#include "plan/variants.h"
#include "testbench/open_device.h"
#include "tuner/worker/worker_pool.h"

namespace quern::tool {
namespace {

// The command to run when there are no records to check.
std::string sweep_first(const CheckRequest& request) {
  std::string problem = join(request.records.words, " ");
  if (problem.empty()) problem = "FAMILY";
  if (problem.find('=') == std::string::npos) problem += " FIELD=VALUE...";
  return cat("; sweep first: quern tune ", problem,
             request.device == "cuda:0" ? "" : cat(" --device ", request.device));
}

class Checks {
 public:
  Checks(Runtime& runtime, const CheckRequest& request, const Global& global)
      : runtime_(runtime),
        request_(request),
        global_(global),
        worker_(worker_settings(runtime, request.worker, global)) {}

  int run() {
    parse_device(request_.device);
    check_worker(request_.worker);
    const std::vector<PlacedRecord> asked = find_records(runtime_, request_.records).records;
    if (asked.empty()) throw wrong(cat("there are no such records", sweep_first(request_)));
    require_worker_store(runtime_, request_.worker, global_);
    place_ = place_of(runtime_, request_.device);
    const std::vector<Record> records = of_this_device(asked);
    if (place_->device.target.host) warn_of_emulation();
    const std::vector<CheckedRecord> all = check(records);
    if (!request_.records.json) print_all(all);
    const bool good = std::none_of(all.begin(), all.end(), [](const auto& c) { return c.fails() || c.flips(); });
    return good ? kDone : kSomeFailed;
  }

 private:
  std::vector<Record> of_this_device(const std::vector<PlacedRecord>& asked) const {
    const Device& device = place_->device;
    std::vector<Record> records;
    for (const PlacedRecord& item : asked) {
      if (item.record.device == device.name && item.record.target == device.target.text())
        records.push_back(item.record);
    }
    if (!records.empty()) return records;
    const Record& other = asked.front().record;
    throw Error(
        Code::unsupported, Stage::tool,
        cat("there are no records for ", device.name, ", ", device.target.text(), ", among the ", asked.size(),
            " that were asked for (the first is for ", other.device, ", ", other.target, ")", sweep_first(request_)));
  }

  std::vector<CheckedRecord> check(const std::vector<Record>& records) const {
    std::vector<CheckedRecord> all;
    Progress progress(records.size(), 0, stderr_screen(request_.records.json));
    for (const Record& record : records) {
      progress.show(all.size(), record.problem);
      all.push_back(check_one(record));
      if (request_.records.json) print_json("quern.tune.check/1", check_row(all.back()));
    }
    return all;
  }

  CheckedRecord check_one(const Record& record) const {
    CheckedRecord checked{record, {}, {}, {}};
    std::optional<FamilySpace> space;
    RecheckPoints points;
    try {
      const AnyProblem problem = problem_of(record);
      const Step* const step = step_of_config(problem.family(), record.config);
      space.emplace(problem, place_->device.target, step == nullptr ? problem.family().steps[0] : *step);
      checked.hints = differences(record, space->step(), toolchain());
      points = points_of(record, *space, default_point(*space));
      parse_regime(record.regime);
    } catch (const Error& error) {
      if (error.code != Code::bad_input) throw;
      checked.hints.push_back(cat("not measured: ", error.sentence));
      return checked;
    }
    if (points.lost_rivals > 0)
      checked.hints.push_back(cat("rivals that are not legal any more: ", points.lost_rivals));
    measure(*space, points, checked);
    return checked;
  }

  void measure(const FamilySpace& space, const RecheckPoints& points, CheckedRecord& checked) const {
    WorkerPoolSettings pool;
    pool.devices = {request_.device};
    pool.worker = worker_;
    pool.regime = parse_regime(checked.record.regime);
    pool.trusted = space.option(points.default_point);
    pool.memory_bytes = memory_bytes(request_.worker);
    try {
      const auto evaluator = single_evaluator(pool, *place_, runtime_, space.problem());
      checked.now = recheck(*evaluator, space, points);
      for (const SweepTrial& trial : checked.now->failed)
        checked.hints.push_back(cat(trial.config, " fails: ", name(*trial.failure)));
    } catch (const Error& error) {
      if (error.code == Code::no_compiler || error.code == Code::no_device) throw;
      checked.error = error.sentence;
    }
  }

  AnyProblem problem_of(const Record& record) const {
    AnyProblem problem = runtime_.parse(record.problem);
    check_problem(problem.family(), problem.data());
    if (const auto open = quern::open_extents(problem.family(), problem.data()); !open.empty())
      throw problem_error(problem.family(), problem.data(), cat(open.front()->name, " is open"));
    return problem;
  }

  int default_point(const FamilySpace& space) const {
    const AnyProblem& problem = space.problem();
    const int point = space.find(
        variants_of(problem.family(), space.step(), problem.data(), space.target(), model_of(place_->device), {})
            .front()
            .config);
    if (point < 0)
      throw problem_error(problem.family(), problem.data(), "its default config is not in the family's tuning space");
    return point;
  }

  Toolchain toolchain() const {
    RuntimeState& state = runtime_.state();
    return {driver_text(state.driver()->version()), state.compiler.identity(place_->device.target)};
  }

  static void print_all(const std::vector<CheckedRecord>& all) {
    std::vector<Row> rows;
    for (const CheckedRecord& checked : all) rows.push_back(check_row(checked));
    print_table(rows);
    print_line(check_summary(all));
  }

  Runtime& runtime_;
  const CheckRequest& request_;
  const Global& global_;
  const WorkerSettings worker_;
  std::optional<DevicePlace> place_;
};

Value us_or_nothing(double us) { return us > 0 ? Value(us) : Value(); }

Value text_or_nothing(const std::string& text) { return text.empty() ? Value() : Value(text); }

// One line: later lines of an error are lists of places and logs.
std::string failure_of(const CheckedRecord& checked) {
  std::string why = checked.error;
  if (checked.now && checked.now->recorded.failure)
    why = cat(name(*checked.now->recorded.failure), ": ", checked.now->recorded.why);
  return why.substr(0, why.find('\n'));
}

// Of factors, so that many small regrets and one large one both count.
double geometric_mean(const std::vector<double>& regrets) {
  double logs = 0;
  for (const double regret : regrets) logs += std::log1p(regret);
  return std::expm1(logs / static_cast<double>(regrets.size()));
}

std::string counted(std::size_t count, const char* word) { return cat(count, " ", word, count == 1 ? "" : "s"); }

template <class Is>
std::size_t count_where(const std::vector<CheckedRecord>& all, Is is) {
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is));
}

}  // namespace

Row check_row(const CheckedRecord& checked) {
  const std::optional<Rechecked>& now = checked.now;
  const bool passed = now && now->regret;
  const auto percent = [&](double Interval::*part) { return passed ? Value(100 * ((*now->regret).*part)) : Value(); };
  Row row;
  row.add("problem", checked.record.problem).add("regime", checked.record.regime);
  row.add("config", checked.record.config);
  row.add("us", passed ? us_or_nothing(now->recorded.us) : Value()).add("was_us", checked.record.us);
  row.add("default_us", now ? us_or_nothing(now->default_us) : Value());
  row.add("regret_percent", percent(&Interval::middle)).add("regret_low", percent(&Interval::low));
  row.add("regret_high", percent(&Interval::high)).add("flip", passed ? Value(checked.flips()) : Value());
  row.add("beaten_by", text_or_nothing(now ? now->faster : "")).add("failure", text_or_nothing(failure_of(checked)));
  return row.add("hint", text_or_nothing(join(checked.hints, "; ")));
}

std::string check_summary(const std::vector<CheckedRecord>& all) {
  std::vector<double> regrets;
  for (const CheckedRecord& checked : all) {
    if (checked.now && checked.now->regret) regrets.push_back(checked.now->regret->middle);
  }
  const std::size_t failed = count_where(all, [](const auto& c) { return c.fails(); });
  const std::size_t skipped = count_where(all, [](const auto& c) { return !c.now && !c.fails(); });
  std::string text = cat(counted(all.size(), "record"), ", ",
                         counted(count_where(all, [](const auto& c) { return c.flips(); }), "flip"));
  if (failed > 0) text += cat(", ", failed, " failed");
  if (skipped > 0) text += cat(", ", skipped, " not measured");
  if (regrets.empty()) return text;
  const auto percent = [](double fraction) { return cat(fixed(100 * fraction, 2), " %"); };
  return cat(text, "; regret: p95 ", percent(quantile(regrets, 0.95)), ", worst ", percent(quantile(regrets, 1)),
             ", geometric mean ", percent(geometric_mean(regrets)));
}

int tune_check(Runtime& runtime, const CheckRequest& request, const Global& global) {
  return Checks(runtime, request, global).run();
}

}  // namespace quern::tool
