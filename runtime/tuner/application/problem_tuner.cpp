#include "tuner/application/problem_tuner.h"

#include <algorithm>
#include <chrono>

#include "api/builtin_families.h"
#include "api/runtime_state.h"
#include "base/log.h"
#include "base/text.h"
#include "plan/problem.h"
#include "records/records_file.h"
#include "testbench/open_device.h"
#include "tuner/sweep/sweep_records.h"
#include "tuner/sweep/tuning_lock.h"

namespace quern {
namespace {

std::string option_of(std::string config) {
  std::replace(config.begin(), config.end(), ' ', ',');
  return config;
}

TunedConfig measured(const Journal& journal) {
  const SweepResult& result = *journal.result;
  const double gain = -result.percent;
  return {option_of(result.winner),
          cat("measured, ", result.evaluations, " configs in ", fixed(result.seconds, 1),
              " s: ", gain < 0.05 ? "no faster than" : cat(fixed(gain, 1), " % faster than"), " the default"),
          true};
}

// A separate Runtime for sweeps: it reads the records again, and it does not tune.
Runtime runtime_for_sweeps(const TuningTask& task) {
  Options options = task.options;
  options.tuning.mode = Tuning::lookup;
  options.tuning.tuner.reset();
  options.compiler.warm = false;
  Runtime runtime(std::move(options));
  for (const Family* family : task.families) {
    if (runtime.state().families.count(family->name) == 0) runtime.add(*family);
  }
  return runtime;
}

// `quern` knows its builtin families. Compared by name, as the Runtime's family may be from another library.
bool is_unknown_to_the_worker(const TuningTask& task) {
  const std::vector<const Family*> known = builtin_families();
  const auto is_this = [&](const Family* family) { return std::string_view(family->name) == task.family->name; };
  return task.options.tuning.worker.empty() && std::none_of(known.begin(), known.end(), is_this);
}

// The worker must have checked the same image that the application will launch.
void require_same_image(const TuningTask& task, const Journal& journal) {
  const std::string& winner = journal.result->winner;
  if (trial_of(journal, winner)->image == task.key_of(option_of(winner))) return;
  throw Error(Code::unsupported, Stage::tool,
              cat("the worker ", task.worker,
                  " makes other images than this process: it is another build of quern, or uses another compiler "
                  "(QUERN_NVRTC) or other options (Options::compiler.lineinfo)"));
}

}  // namespace

void ProblemTuner::warn_once(const TuningTask& task, const std::string& sentence) {
  {
    const std::lock_guard lock(warning_);
    if (!warned_.insert(sentence).second) return;
  }
  Log(*task.options.log.level, task.options.log.sink).warning(sentence);
}

SweepSettings ProblemTuner::settings_for(const TuningTask& task, const Device& device) const {
  SweepSettings settings;
  settings.budget.seconds = task.seconds;
  settings.may_start_over = true;
  settings.memory_bytes = task.memory_bytes;
  settings.jobs = task.jobs;
  settings.throttle = {task.share, task.hold, rest_};
  settings.devices = {DeviceName{device.target.host, device.ordinal}.text()};
  const WorkerLibraries libraries{task.options.compiler.nvrtc, task.options.compiler.cxx, task.options.libcuda};
  settings.worker = worker_of(task.worker, task.options.cache.directory, libraries);
  settings.worker.stop = task.stop;
  return settings;
}

void ProblemTuner::keep(const AnyProblem& problem, const Journal& journal, const TuningTask& task) {
  const std::string& path = task.options.tuning.records;
  if (path.empty()) return;
  const int error =
      RecordsFile(real_file_system(), path).append(record_of(problem.family().steps[0], journal, SweepSettings{}.seed));
  if (error != 0) warn_once(task, cat("cannot write ", path, ": ", error_text(error), "; tuning results are not kept"));
}

std::optional<TunedConfig> ProblemTuner::sweep_problem(Runtime& runtime, const AnyProblem& problem,
                                                       const TuningTask& task, const Device& device) {
  SweepSettings settings = settings_for(task, device);
  settings.path = sweep_path(runtime, problem, cat(device.name, "\napplication"));
  const TuningLock lock(real_file_system(), settings.path.empty() ? "" : settings.path + ".lock", task.stop);
  KnownConfigs known = known_configs(runtime, problem, problem.family().steps[0], {device, live_model(device)});
  if (!known.incumbent.empty()) return TunedConfig{option_of(known.incumbent), "measured by another process", false};
  if (!lock.held()) throw Stopped();
  settings.related = std::move(known.related);
  const Journal journal = sweep(runtime, problem, settings, [](const SweepProgress&) {});
  if (!journal.result) throw Stopped();
  if (journal.result->winner.empty())
    throw problem_error(problem.family(), problem.data(), no_winner_text(journal, settings.path));
  require_same_image(task, journal);
  keep(problem, journal, task);
  return measured(journal);
}

std::optional<TunedConfig> ProblemTuner::tune_or_throw(const TuningTask& task, const AnyProblem& problem,
                                                       const std::string& name) {
  if (is_unknown_to_the_worker(task)) {
    warn_once(task, cat("not tuned: the worker ", task.worker, " does not know the family ", task.family->name,
                        "; name a program in QUERN_WORKER that does (quern/worker.h)"));
    return std::nullopt;
  }
  Runtime runtime = runtime_for_sweeps(task);
  const Device device = describe_device(*runtime.state().driver(), task.device);
  runtime.state().log.info(cat("tuning ", name));
  return sweep_problem(runtime, problem, task, device);
}

std::optional<TunedConfig> ProblemTuner::tune_once(const TuningTask& task, const AnyProblem& problem,
                                                   const std::string& name) {
  // The key is part of it, since another Runtime may make other images.
  const std::string subject = cat(name, "\n", task.key_of(""));
  std::unique_lock lock(mutex_, std::defer_lock);
  while (!lock.try_lock_for(std::chrono::milliseconds(20))) {
    if (task.stop()) return std::nullopt;
  }
  if (const auto found = tuned_.find(subject); found != tuned_.end()) return found->second;
  auto tuned = tune_or_throw(task, problem, name);
  if (tuned) tuned_.emplace(subject, *tuned).first->second.swept = false;
  return tuned;
}

std::optional<TunedConfig> ProblemTuner::tune(const TuningTask& task) {
  const AnyProblem problem(*task.family, task.problem);
  const std::string name = cat(problem.text(), " on device ", task.device);
  try {
    return tune_once(task, problem, name);
  } catch (const Stopped&) {
    Log(*task.options.log.level, task.options.log.sink)
        .info(cat(name, " was not tuned completely; measurements so far are kept"));
  } catch (const Error& error) {
    warn_once(task, cat("not tuned: ", error.sentence, error.problem.empty() ? "" : cat(" [", error.problem, "]")));
  } catch (const std::exception& error) {
    warn_once(task, cat("not tuned: ", error.what()));
  }
  return std::nullopt;
}

std::shared_ptr<Tuner> make_tuner() { return std::make_shared<ProblemTuner>(); }

}  // namespace quern
