#include "tuner/application/problem_tuner.h"

#include <algorithm>
#include <chrono>

#include "api/builtin_families.h"
#include "api/images.h"
#include "api/runtime_state.h"
#include "base/find_program.h"
#include "base/text.h"
#include "plan/problem.h"
#include "plan/variants.h"
#include "records/records_file.h"
#include "testbench/open_device.h"
#include "tuner/sweep/sweep_records.h"
#include "tuner/sweep/tuning_lock.h"

namespace quern {
namespace {

std::string worker_name(const Options& options) { return options.tuning.worker.empty() ? "quern" : options.tuning.worker; }

std::string option_of(std::string config) {
  std::replace(config.begin(), config.end(), ' ', ',');
  return config;
}

TunedConfig measured(const Journal& journal) {
  const SweepResult& result = *journal.result;
  const double gain = -result.percent;
  return {option_of(result.winner),
          cat("measured, ", result.evaluations, " configs in ", fixed(result.seconds, 1),
              " s: ", gain < 0.05 ? "no faster than" : cat(fixed(gain, 1), " % faster than"), " the default")};
}

std::string why_no_store(RuntimeState& state) {
  if (*state.options.cache.mode != CacheMode::read_write) return "the cache is read-only or off (QUERN_CACHE)";
  return state.store.unusable();
}

}  // namespace

std::string find_worker(const Options& options, const Environment& environment) {
  return find_program(worker_name(options), environment[Variable::path]);
}

ProblemTuner::ProblemTuner(RuntimeState& state)
    : state_(state), program_(find_worker(state.options, state.environment)) {}

std::string ProblemTuner::unusable() {
  const std::string name = worker_name(state_.options);
  const std::string store = program_.empty() ? "" : why_no_store(state_);
  std::string why;
  if (program_.empty())
    why = cat("there is no worker: ", name, " cannot be run",
              name.find('/') == std::string::npos ? " or is not in PATH" : "",
              "; set QUERN_WORKER to the path of the quern command");
  else if (!store.empty())
    why = cat(store, "; workers share images in a directory that they may write (QUERN_CACHE_DIR)");
  if (!why.empty()) warn_once(cat("nothing is tuned: ", why, ", or QUERN_TUNE=lookup"));
  return why;
}

void ProblemTuner::warn_once(const std::string& sentence) {
  {
    const std::lock_guard lock(warning_);
    if (!warned_.insert(sentence).second) return;
  }
  state_.log.warning(sentence);
}

// A Runtime of a sweep's own: it reads the records anew, and nothing is tuned in it in turn.
Runtime ProblemTuner::runtime_for_sweeps() {
  Options options = state_.options;
  options.tuning.mode = Tuning::lookup;
  options.compiler.warm = false;
  options.driver = state_.driver();
  Runtime runtime(std::move(options));
  const std::lock_guard lock(state_.families_mutex);
  for (const auto& [name, family] : state_.families) {
    if (runtime.state().families.count(name) == 0) runtime.add(*family);
  }
  return runtime;
}

SweepSettings ProblemTuner::settings_for(const Device& device, const TuningLimits& limits) const {
  SweepSettings settings;
  settings.budget.seconds = limits.seconds;
  settings.may_start_over = true;
  settings.memory_bytes = limits.memory_bytes;
  settings.jobs = limits.jobs;
  settings.throttle = limits.throttle;
  settings.devices = {DeviceName{device.target.host, device.ordinal}.text()};
  const WorkerLibraries libraries{state_.compiler.nvrtc().path(), state_.options.compiler.cxx, state_.options.libcuda};
  settings.worker = worker_of(program_, state_.store.directory(), libraries);
  settings.worker.stop = limits.stop;
  return settings;
}

void ProblemTuner::keep(const AnyProblem& problem, const Journal& journal) {
  const std::string& path = state_.options.tuning.records;
  if (path.empty()) return;
  const int error = RecordsFile(real_file_system(), path).append(record_of(problem, journal, SweepSettings{}.seed));
  if (error != 0) warn_once(cat("cannot write ", path, ": ", error_text(error), "; what is tuned is not remembered"));
}

std::optional<TunedConfig> ProblemTuner::tune_or_throw(const AnyProblem& problem, const Device& device,
                                                       const TuningLimits& limits) {
  Runtime runtime = runtime_for_sweeps();
  SweepSettings settings = settings_for(device, limits);
  settings.path = sweep_path(runtime, problem, cat(device.name, "\napplication"));
  const TuningLock lock(real_file_system(), settings.path.empty() ? "" : settings.path + ".lock", limits.stop);
  KnownConfigs known = known_configs(runtime, problem, {device, live_model(device)});
  if (!known.incumbent.empty()) return TunedConfig{option_of(known.incumbent), "measured by another process"};
  if (!lock.held()) throw Stopped();
  settings.related = std::move(known.related);
  const Journal journal = sweep(runtime, problem, settings, [](const SweepProgress&) {});
  if (!journal.result) throw Stopped();
  if (journal.result->winner.empty())
    throw problem_error(problem.family(), problem.data(), no_winner_text(journal, settings.path));
  if (const std::string why = why_another(problem, device, journal); !why.empty())
    throw Error(Code::unsupported, Stage::tool, why);
  ++state_.sweeps;
  keep(problem, journal);
  return measured(journal);
}

// The image that passed is the one that this process will launch, or nothing was shown.
std::string ProblemTuner::why_another(const AnyProblem& problem, const Device& device, const Journal& journal) {
  const std::vector<Variant> variants =
      variants_of(problem.family(), problem.data(), device.target, model_of(device), option_of(journal.result->winner));
  const ImageRequest mine{&problem.family(), problem.data(), device.target, variants.front(), false};
  const std::string& its = trial_of(journal, journal.result->winner)->image;
  if (its == key_of_image(state_, mine).path()) return {};
  return cat(
      "the worker ", program_,
      " makes other images than this process: it is another build of quern, or has another compiler (QUERN_NVRTC) "
      "or other options (Options::compiler.lineinfo)");
}

// `quern` knows the families that come with it.
bool ProblemTuner::is_unknown_to_the_worker(const Family& family) const {
  const std::vector<const Family*> known = builtin_families();
  return state_.options.tuning.worker.empty() && std::find(known.begin(), known.end(), &family) == known.end();
}

std::optional<TunedConfig> ProblemTuner::tune(const AnyProblem& problem, const Device& device,
                                              const TuningLimits& limits) {
  if (!unusable().empty() || !open_extents(problem.family(), problem.data()).empty()) return std::nullopt;
  const std::string name = cat(problem.text(), " on ", device.name);
  std::unique_lock lock(mutex_, std::defer_lock);
  while (!lock.try_lock_for(std::chrono::milliseconds(20))) {
    if (limits.stop()) return std::nullopt;
  }
  if (const auto found = tuned_.find(name); found != tuned_.end()) return found->second;
  if (is_unknown_to_the_worker(problem.family())) {
    warn_once(cat("not tuned: the worker ", program_, " does not know the family ", problem.family().name,
                  "; name a program in QUERN_WORKER that does (quern/worker.h)"));
    return std::nullopt;
  }
  try {
    state_.log.info(cat("tuning ", name));
    auto tuned = tune_or_throw(problem, device, limits);
    if (tuned) tuned_.emplace(name, *tuned);
    return tuned;
  } catch (const Stopped&) {
    state_.log.info(cat(name, " was not tuned to the end; what was measured is kept"));
  } catch (const Error& error) {
    warn_once(cat("not tuned: ", error.sentence, error.problem.empty() ? "" : cat(" [", error.problem, "]")));
  } catch (const std::exception& error) {
    warn_once(cat("not tuned: ", error.what()));
  }
  return std::nullopt;
}

}  // namespace quern
