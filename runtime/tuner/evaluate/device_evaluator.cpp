#include "tuner/evaluate/device_evaluator.h"

#include <algorithm>

#include "api/runtime_state.h"
#include "base/text.h"
#include "driver/clocks.h"
#include "plan/config.h"
#include "plan/plan_state.h"
#include "plan/problem.h"
#include "plan/variants.h"
#include "testbench/copy_floor.h"

namespace quern {
namespace {

constexpr int kEmulatedSamples = 3;      // the host driver's times are not meaningful; they only test the path
constexpr std::int64_t kLocalShare = 8;  // at most 1/8 of the device's memory for local memory

HostOperands generated(const AnyProblem& problem) {
  HostOperands host(problem.family(), problem.data());
  host.generate(1, false);
  return host;
}

const AnyProblem& closed(const AnyProblem& problem) {
  const auto open = open_extents(problem.family(), problem.data());
  if (open.empty()) return problem;
  const char* const name = open.front()->name;
  throw problem_error(problem.family(), problem.data(),
                      cat(name, " is open; measuring needs every extent, for example ", name, "=8192"));
}

// Throws where the evaluator would use more memory than it may, before anything is allocated.
const AnyProblem& affordable(const Driver& driver, const Device& device, const AnyProblem& problem,
                             const EvaluatorSettings& settings) {
  std::size_t free = 0;
  std::size_t total = 0;
  driver.check(driver->MemGetInfo(&free, &total), Stage::tool, "cuMemGetInfo");
  const std::int64_t limit = settings.memory_bytes > 0 ? settings.memory_bytes : static_cast<std::int64_t>(free / 2);
  const std::int64_t needed = evaluator_bytes(problem, device, settings.regime);
  if (needed <= limit) return problem;
  throw problem_error(
      problem.family(), problem.data(),
      cat("measuring needs ", needed >> 20, " MiB of device memory; the limit is ", limit >> 20,
          " MiB; free some, raise the limit (--memory, QUERN_TUNE_MEMORY), or measure a problem with fewer rows"));
}

}  // namespace

std::int64_t evaluator_bytes(const AnyProblem& problem, const Device& device, Regime regime) {
  const std::int64_t call = problem.family().bytes(problem.data());
  const std::int64_t set = operand_set_bytes(problem.family(), problem.data());
  if (device.target.host) return CorrectnessCheck::memory_bytes(problem) + set;
  // The copy is measured in its own buffers, with cold L2 whatever the regime is.
  const std::int64_t copies = call * cold_sets(call, call, device.l2_bytes).sets;
  return CorrectnessCheck::memory_bytes(problem) + copies +
         set * (regime == Regime::cold ? cold_sets(call, set, device.l2_bytes).sets : 1);
}

DeviceEvaluator::DeviceEvaluator(Runtime& runtime, std::shared_ptr<const Driver> driver, const Device& device,
                                 const AnyProblem& problem, const EvaluatorSettings& settings)
    : runtime_(runtime),
      driver_(std::move(driver)),
      device_(device),
      problem_(affordable(*driver_, device, closed(problem), settings)),
      settings_(settings),
      host_(generated(problem_)),
      data_(*driver_, device_, host_, AnyArgs(problem_.family()), 0),
      check_(runtime, *driver_, problem_, settings.trusted) {}

DeviceEvaluator::~DeviceEvaluator() = default;

// The step of the plan that a config is of.
static std::size_t step_with(const AnyPlan& plan, const std::string& config) {
  const std::vector<PlanState::PlannedStep>& steps = plan.state()->steps;
  const Step* const named = step_of_config(plan.family(), config);
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const auto& step) { return step.step == named; });
  return found == steps.end() ? 0 : static_cast<std::size_t>(found - steps.begin());
}

AnyPlan DeviceEvaluator::prepare(const std::string& config) {
  PrepareOptions options;
  options.config = config;
  return runtime_.prepare_any(problem_.family(), problem_.data(), options);
}

// The driver sets it aside for every thread that could be resident, whatever the launch.
bool DeviceEvaluator::too_much_local_memory(const Resources& resources, std::string* why) const {
  const std::int64_t threads = std::int64_t{device_.multiprocessors} * device_.threads_per_multiprocessor;
  const std::int64_t all = resources.stack_bytes * threads;
  const std::int64_t most = device_.memory_bytes / kLocalShare;
  if (all <= (settings_.memory_bytes > 0 ? std::min(settings_.memory_bytes, most) : most)) return false;
  *why = cat("it takes ", resources.stack_bytes, " bytes of local memory a thread, ", all >> 20, " MiB on this device");
  return true;
}

void DeviceEvaluator::time(const AnyPlan& plan, double best_us, SweepTrial& trial) {
  Effort effort;
  if (device_.emulated) effort.samples = kEmulatedSamples;
  effort.hopeless_us = best_us;
  Timing timing = data_.time(plan, effort, settings_.regime);
  trial.us = timing.us;
  trial.samples = std::move(timing.samples);
  trial.method = timing.method;
}

SweepTrial DeviceEvaluator::evaluate(const std::string& config, double best_us) {
  SweepTrial trial;
  trial.config = config;
  const auto fail = [&](FailureKind kind, std::string why) {
    trial.failure = kind;
    trial.why = std::move(why);
    return trial;
  };
  runtime_.state().kernels.drop_unused();  // of earlier configs
  try {
    const AnyPlan plan = prepare(config);
    const std::size_t step = step_with(plan, config);
    const std::size_t first = plan.state()->steps[step].begin;
    const ImageInfo& image = plan.images()[first];
    trial.image = image.key;
    trial.registers = image.resources.registers;
    trial.shared_bytes = image.resources.shared_bytes;
    trial.spills = image.resources.spill_store_bytes + image.resources.spill_load_bytes;
    trial.compile_ms = image.compile_ms;
    std::string why;
    if (data_.image_of(plan, step) != first)
      return fail(FailureKind::launch, "no launch at these addresses takes this image");
    if (too_much_local_memory(image.resources, &why)) return fail(FailureKind::resources, why);
    if (auto failure = check_.check(config)) return fail(failure->kind, failure->why);
    time(plan, best_us, trial);
  } catch (const Error& error) {
    if (error.code == Code::compile) return fail(FailureKind::compile, error.sentence);
    if (error.driver_code == 0) throw;
    return fail(context_lost(error.driver_code) ? FailureKind::crash : FailureKind::launch, error.sentence);
  }
  return trial;
}

std::vector<Round> DeviceEvaluator::rounds(const std::string& a, const std::string& b, int count) {
  const auto first = data_.sampler(prepare(a), settings_.regime);
  const auto second = data_.sampler(prepare(b), settings_.regime);
  return measure_rounds(*first, *second, count);
}

DeviceFacts DeviceEvaluator::facts() {
  if (copy_us_ == 0 && !device_.emulated)
    copy_us_ = measure_copy(*driver_, data_.bytes(), device_.l2_bytes, own_copy(runtime_, "")).us;
  const int version = driver_->version();
  return {device_.name,
          device_.target.text(),
          cat(version / 1000, ".", version % 1000 / 10),
          read_clocks(*driver_, device_.ordinal),
          data_.bytes(),
          copy_us_};
}

}  // namespace quern
