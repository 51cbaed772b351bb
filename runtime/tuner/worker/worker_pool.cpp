#include "tuner/worker/worker_pool.h"

#include "api/runtime_state.h"
#include "driver/find_host_driver.h"
#include "testbench/open_device.h"
#include "tuner/evaluate/device_evaluator.h"
#include "tuner/worker/compile_candidate.h"

namespace quern {
namespace {

// An evaluator and the device that it needs, on the thread that made it.
class LocalEvaluator : public Evaluator {
 public:
  LocalEvaluator(Runtime& runtime, const std::string& device, const AnyProblem& problem,
                 const EvaluatorSettings& settings)
      : device_(open_device(runtime, parse_device(device))),
        evaluator_(runtime, device_.driver, device_.device, problem, settings) {}
  DeviceFacts facts() override { return evaluator_.facts(); }
  SweepTrial evaluate(const std::string& config, double best_us) override {
    return evaluator_.evaluate(config, best_us);
  }
  std::vector<Round> rounds(const std::string& a, const std::string& b, int count) override {
    return evaluator_.rounds(a, b, count);
  }

 private:
  OpenDevice device_;
  DeviceEvaluator evaluator_;
};

// An evaluator and a compiler that take turns.
class SingleEvaluator : public Evaluator {
 public:
  SingleEvaluator(std::unique_ptr<Evaluator> evaluator, WorkerPool::Compile compile, CompileMessage message)
      : evaluator_(std::move(evaluator)), compile_(std::move(compile)), message_(std::move(message)) {}

  DeviceFacts facts() override { return evaluator_->facts(); }
  SweepTrial evaluate(const std::string& config, double best_us) override {
    message_.config = config;
    const CompileOutcome compiled = compile_(message_);
    if (compiled.image) return evaluator_->evaluate(config, best_us);
    SweepTrial trial;
    trial.config = config;
    trial.failure = compiled.failure;
    trial.why = compiled.why;
    return trial;
  }
  std::vector<Round> rounds(const std::string& a, const std::string& b, int count) override {
    return evaluator_->rounds(a, b, count);
  }

 private:
  const std::unique_ptr<Evaluator> evaluator_;
  const WorkerPool::Compile compile_;
  CompileMessage message_;
};

}  // namespace

WorkerPool make_worker_pool(const WorkerPoolSettings& settings, Runtime& runtime, const AnyProblem& problem) {
  WorkerPool pool;
  const bool remote = !settings.worker.program.empty();
  for (const std::string& device : settings.devices) {
    const OpenMessage open{device, problem.text(), name(settings.regime), settings.trusted, settings.memory_bytes};
    const EvaluatorSettings local{settings.regime, settings.trusted, settings.memory_bytes};
    pool.evaluators.emplace_back([=, &runtime]() -> std::unique_ptr<Evaluator> {
      std::unique_ptr<Evaluator> evaluator;
      if (remote) evaluator = std::make_unique<RemoteEvaluator>(settings.worker, open);
      if (!remote) evaluator = std::make_unique<LocalEvaluator>(runtime, device, problem, local);
      return throttled(std::move(evaluator), settings.throttle, settings.worker.stop);
    });
  }
  for (int i = 0; i < settings.jobs; ++i) {
    pool.compilers.emplace_back([=, &runtime]() -> WorkerPool::Compile {
      if (!remote) return [&runtime](const CompileMessage& message) { return compile_here(runtime, message); };
      const auto compiler = std::make_shared<RemoteCompiler>(settings.worker);
      return [compiler](const CompileMessage& message) { return compiler->compile(message); };
    });
  }
  return pool;
}

std::unique_ptr<Evaluator> single_evaluator(const WorkerPoolSettings& settings, const DevicePlace& place,
                                            Runtime& runtime, const AnyProblem& problem) {
  const WorkerPool pool = make_worker_pool(settings, runtime, problem);
  CompileMessage message{problem.text(), place.device.target.text(), place.model.name, {}};
  return std::make_unique<SingleEvaluator>(pool.evaluators.front()(), pool.compilers.front()(), std::move(message));
}

DevicePlace place_of(Runtime& runtime, const std::string& text) {
  const DeviceName name = parse_device(text);
  if (name.host) runtime.state().use(open_host_driver(runtime.state().environment));
  const Device device = describe_device(*runtime.state().driver(), name.ordinal);
  return {device, live_model(device)};
}

}  // namespace quern
