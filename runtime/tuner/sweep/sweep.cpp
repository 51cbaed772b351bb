#include "tuner/sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "api/images.h"
#include "api/runtime_state.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "plan/config.h"
#include "plan/variants.h"
#include "quern/version.h"
#include "tuner/evaluate/final_comparison.h"
#include "tuner/space/family_space.h"
#include "tuner/worker/worker_pool.h"

namespace quern {
namespace {

constexpr std::size_t kFinalists = 6;
constexpr double kNear = 1.03;  // times the best: limit for finalists

Config default_config(const FamilySpace& space, const DeviceModel& model) {
  const AnyProblem& problem = space.problem();
  return variants_of(problem.family(), space.step(), problem.data(), space.target(), model, {}).front().config;
}

class Sweep {
 public:
  Sweep(Runtime& runtime, const AnyProblem& problem, const SweepSettings& settings,
        const std::function<void(const SweepProgress&)>& progress)
      : runtime_(runtime),
        settings_(settings),
        progress_(progress),
        place_(place_of(runtime, settings.devices.at(0))),
        strategy_(settings.strategy.empty() ? strategies()[0] : find_strategy(settings.strategy)),
        space_(problem, place_.device.target, settings.step == nullptr ? problem.family().steps[0] : *settings.step),
        default_point_(space_.find(default_config(space_, model_of(place_.device)))) {
    if (default_point_ < 0)
      throw Error(Code::unsupported, Stage::tool, "the family's default config is not in its tuning space");
  }

  Journal run() {
    if (!settings_.path.empty()) writer_.emplace(settings_.path);
    resume();
    LiveBackend backend(space_, pool(), backend_settings(), runtime_.state().log,
                        [this](const SweepTrial& trial) { add(trial); });
    start(backend);
    for (const SweepTrial& trial : before_) backend.know(trial);
    report_progress(backend);
    Reporting reporting(*this, backend);
    strategy_.search(space_.space(), first_points(), settings_.seed, reporting);
    backend.rest();
    journal_.trials = backend.trials();
    if (!stopped()) finish(backend);
    return std::move(journal_);
  }

 private:
  // Reports each step, on the search's thread.
  class Reporting : public Backend {
   public:
    Reporting(Sweep& sweep, LiveBackend& backend) : sweep_(sweep), backend_(backend) {}
    std::optional<Trial> any_of(const std::vector<int>& candidates) override {
      const auto trial = backend_.any_of(candidates);
      sweep_.report_progress(backend_);
      return trial;
    }

   private:
    Sweep& sweep_;
    LiveBackend& backend_;
  };

  bool stopped() const { return settings_.worker.stop && settings_.worker.stop(); }

  WorkerPool pool() const {
    return make_worker_pool({settings_.devices, settings_.worker, settings_.jobs, settings_.regime,
                             space_.option(default_point_), settings_.memory_bytes, settings_.throttle},
                            runtime_, space_.problem());
  }

  BackendSettings backend_settings() const {
    BackendSettings backend;
    backend.model = place_.model;
    backend.budget = settings_.budget;
    backend.stop_on_evidence = settings_.stop_on_evidence;
    backend.stop = settings_.worker.stop;
    for (const SweepTrial& trial : before_) backend.seconds_before = std::max(backend.seconds_before, trial.at_s);
    return backend;
  }

  // The head that this sweep writes, except what only an evaluator knows.
  SweepHead head() const {
    const Table<Parameter>& parameters = space_.step().parameters;
    SweepHead head;
    head.family = space_.problem().family().name;
    head.problem = space_.problem().text();
    head.device = place_.device.name;
    head.target = space_.target().text();
    head.regime = name(settings_.regime);
    for (std::size_t i = 0; i < space_.space().axes().size(); ++i) {
      const Axis& axis = space_.space().axes()[i];
      head.axes.push_back({axis.name, axis.values, parameters[static_cast<int>(i)].sentence, axis.otherwise});
    }
    head.points = space_.size();
    head.default_config = space_.text(default_point_);
    head.space = digest();
    head.strategy = strategy_.name;
    head.seed = settings_.seed;
    head.budget = settings_.budget;
    head.started_unix_ns = real_file_system().now_unix_ns();
    head.quern = QUERN_VERSION;
    head.command = settings_.command;
    head.compiler = runtime_.state().compiler.identity(space_.target());
    return head;
  }

  // Digest of the space and of the sources: times of other kernels do not apply.
  std::string digest() const {
    const Variant variant{"", space_.config(default_point_)};
    const AnyProblem& problem = space_.problem();
    const cache::Key key = key_of_image(
        runtime_.state(), {&problem.family(), &space_.step(), problem.data(), space_.target(), variant, false});
    return hash128(cat(space_.digest(), key.what_hash.hex())).hex();
  }

  // How another sweep's file differs from this sweep's; "" if it does not.
  std::string difference_from(const SweepHead& there) const {
    const SweepHead here = head();
    const struct {
      const char* what;
      const std::string& there;
      const std::string& here;
    } rows[] = {{"problem", there.problem, here.problem},
                {"device", there.device, here.device},
                {"target", there.target, here.target},
                {"regime", there.regime, here.regime},
                {"space", there.space, here.space}};
    for (const auto& row : rows) {
      if (row.there != row.here) return cat("its ", row.what, " is ", row.there, "; this one's is ", row.here);
    }
    return {};
  }

  // Whether a sweep with this result already used what this one's budget allows.
  bool has_enough(const SweepResult& result) const {
    const SweepBudget& budget = settings_.budget;
    return result.stopped != "budget" || (budget.evaluations > 0 && result.evaluations >= budget.evaluations) ||
           (budget.seconds > 0 && result.seconds >= budget.seconds);
  }

  // Resumes an earlier run of the same sweep from its file. Where allowed, the file is reset instead, under its lock:
  // removing it by name could remove a file that another process has just started.
  void resume() {
    if (!writer_ || !writer_->before()) return;
    const Journal& before = *writer_->before();
    const std::string other = difference_from(before.head);
    if (settings_.may_start_over && (!other.empty() || (before.result && has_enough(*before.result))))
      return writer_->start_over();
    if (!other.empty())
      throw Error(Code::bad_input, Stage::tool,
                  cat(settings_.path, " is another sweep's file: ", other, "; give another file, or remove it"));
    before_ = before.trials;
    journal_.head = before.head;
  }

  void start(LiveBackend& backend) {
    const DeviceFacts facts = backend.facts();
    const std::string& wanted = place_.device.name;
    if (facts.device != wanted || facts.target != space_.target().text())
      throw Error(Code::unsupported, Stage::tool,
                  cat("in this process ", settings_.devices.front(), " is ", wanted, " (", space_.target().text(),
                      "), in its worker it is ", facts.device, " (", facts.target,
                      "); both must see the same devices (CUDA_VISIBLE_DEVICES)"));
    if (!journal_.head.problem.empty()) return;
    journal_.head = head();
    journal_.head.driver = facts.driver;
    journal_.head.clocks = facts.clocks;
    journal_.head.bytes = facts.bytes;
    journal_.head.copy_us = facts.copy_us;
    if (writer_) writer_->append(journal_.head);
  }

  void add(const SweepTrial& trial) {
    if (writer_) writer_->append(trial);
  }

  std::vector<int> first_points() const {
    std::vector<int> first = {default_point_};
    const auto add = [&](const std::string& config) {
      const int point = config.empty() ? -1 : space_.find(config);
      if (point >= 0 && std::find(first.begin(), first.end(), point) == first.end()) first.push_back(point);
    };
    add(settings_.incumbent);
    for (const std::string& config : settings_.related) add(config);
    return first;
  }

  void report_progress(LiveBackend& backend) const {
    SweepProgress now;
    backend.look([&](const std::vector<SweepTrial>& trials, int evaluations) {
      now.measured = evaluations;
      for (const SweepTrial& trial : trials) {
        if (trial.failure || (now.best_us > 0 && trial.us >= now.best_us)) continue;
        now.best_us = trial.us;
        now.best = trial.config;
      }
    });
    now.points = space_.size();
    now.seconds = backend.seconds();
    now.known = static_cast<int>(before_.size());
    progress_(now);
  }

  // ---- the end

  const SweepTrial* trial_of(int point) const {
    for (const SweepTrial& trial : journal_.trials) {
      if (trial.config == space_.text(point)) return &trial;
    }
    return nullptr;
  }

  // The default, the incumbent, and the best that have distinct launches, where they passed.
  std::vector<int> final_points() const {
    std::vector<const SweepTrial*> passed;
    for (const SweepTrial& trial : journal_.trials) {
      if (!trial.failure && trial.same_as.empty()) passed.push_back(&trial);
    }
    std::stable_sort(passed.begin(), passed.end(),
                     [](const SweepTrial* a, const SweepTrial* b) { return a->us < b->us; });
    std::vector<int> points;
    const auto add = [&](int point) {
      const SweepTrial* trial = point < 0 ? nullptr : trial_of(point);
      if (trial == nullptr || trial->failure) return;
      if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(point);
    };
    add(default_point_);
    add(settings_.incumbent.empty() ? -1 : space_.find(settings_.incumbent));
    for (const SweepTrial* trial : passed) {
      if (points.size() < kFinalists && trial->us <= kNear * passed.front()->us) add(space_.find(trial->config));
    }
    return points;
  }

  void finish(LiveBackend& backend) {
    SweepResult result;
    const std::vector<int> points = final_points();
    if (!points.empty()) decide(backend, points, result);
    result.evaluations = backend.evaluations();
    result.seconds = backend.seconds();
    result.stopped = backend.stopped();
    result.complete = static_cast<int>(journal_.trials.size()) == space_.size();
    journal_.result = result;
    if (writer_) writer_->append(result);
  }

  void decide(LiveBackend& backend, const std::vector<int>& points, SweepResult& result) {
    const int incumbent = settings_.incumbent.empty() ? -1 : space_.find(settings_.incumbent);
    std::vector<Finalist> contenders;
    for (const int point : points) contenders.push_back({point, {}, point == default_point_, point == incumbent});
    const FinalComparison final_comparison =
        compare_finalists(std::move(contenders), [&](int a, int b) { return backend.compare(a, b, kRounds); });
    write(final_comparison.finalists, final_comparison.decision, result);
  }

  void write(const std::vector<Finalist>& finalists, const Decision& decision, SweepResult& result) {
    const double base_us = trial_of(finalists.front().point)->us;
    const auto us_of = [&](const Finalist& f) { return base_us * (1 + f.difference.middle); };
    for (const Finalist& f : finalists)
      journal_.finalists.push_back({space_.text(f.point), us_of(f), 100 * f.difference.low, 100 * f.difference.high,
                                    &f == &finalists.front() ? 0 : kRounds});
    std::stable_sort(journal_.finalists.begin(), journal_.finalists.end(),
                     [](const SweepFinalist& a, const SweepFinalist& b) { return a.us < b.us; });
    if (writer_) writer_->append(journal_.finalists);
    const Finalist& winner = finalists[decision.winner];
    result.winner = space_.text(winner.point);
    result.why = decision.why;
    result.us = us_of(winner);
    result.default_us = finalists.front().is_default ? base_us : 0;
    result.percent = 100 * winner.difference.middle;
    result.low = 100 * winner.difference.low;
    result.high = 100 * winner.difference.high;
    result.band_percent = 100 * decision.band;
    for (const std::size_t rival : decision.rivals) result.rivals.push_back(space_.text(finalists[rival].point));
  }

  Runtime& runtime_;
  const SweepSettings settings_;
  const std::function<void(const SweepProgress&)> progress_;
  const DevicePlace place_;
  const StrategyRow& strategy_;
  const FamilySpace space_;
  const int default_point_;
  std::optional<JournalWriter> writer_;
  std::vector<SweepTrial> before_;
  Journal journal_;
};

}  // namespace

Journal sweep(Runtime& runtime, const AnyProblem& problem, const SweepSettings& settings,
              const std::function<void(const SweepProgress&)>& progress) {
  return Sweep(runtime, problem, settings, progress).run();
}

}  // namespace quern
