#include "tuner/crew.h"

#include "api/runtime_state.h"
#include "driver/find_host_driver.h"
#include "tuner/compile.h"
#include "tuner/judge.h"
#include "tuner/open_device.h"

namespace quern {
namespace {

// A judge and the device that it needs, in the thread that made it.
class LocalJudge : public Examiner {
 public:
  LocalJudge(Runtime& runtime, const std::string& device, const AnyProblem& problem, const ExaminerSettings& settings)
      : device_(open_device(runtime, parse_device(device))),
        judge_(runtime, device_.driver, device_.device, problem, settings) {}
  DeviceFacts facts() override { return judge_.facts(); }
  SweepTrial examine(const std::string& config, double best_us) override { return judge_.examine(config, best_us); }
  std::vector<Round> rounds(const std::string& a, const std::string& b, int count) override {
    return judge_.rounds(a, b, count);
  }

 private:
  OpenDevice device_;
  Judge judge_;
};

// An examiner and a compiler that take turns.
class LoneExaminer : public Examiner {
 public:
  LoneExaminer(std::unique_ptr<Examiner> examiner, Crew::Compile compile, CompileMessage message)
      : examiner_(std::move(examiner)), compile_(std::move(compile)), message_(std::move(message)) {}

  DeviceFacts facts() override { return examiner_->facts(); }
  SweepTrial examine(const std::string& config, double best_us) override {
    message_.config = config;
    const CompileOutcome compiled = compile_(message_);
    if (compiled.image) return examiner_->examine(config, best_us);
    SweepTrial trial;
    trial.config = config;
    trial.failure = compiled.failure;
    trial.why = compiled.why;
    return trial;
  }
  std::vector<Round> rounds(const std::string& a, const std::string& b, int count) override {
    return examiner_->rounds(a, b, count);
  }

 private:
  const std::unique_ptr<Examiner> examiner_;
  const Crew::Compile compile_;
  CompileMessage message_;
};

}  // namespace

Crew make_crew(const CrewSettings& settings, Runtime& runtime, const AnyProblem& problem) {
  Crew crew;
  const bool remote = !settings.worker.program.empty();
  for (const std::string& device : settings.devices) {
    const OpenMessage open{device, problem.text(), name(settings.regime), settings.trusted, settings.memory_bytes};
    const ExaminerSettings local{settings.regime, settings.trusted, settings.memory_bytes};
    crew.examiners.emplace_back([=, &runtime]() -> std::unique_ptr<Examiner> {
      std::unique_ptr<Examiner> examiner;
      if (remote) examiner = std::make_unique<RemoteJudge>(settings.worker, open);
      if (!remote) examiner = std::make_unique<LocalJudge>(runtime, device, problem, local);
      return paced(std::move(examiner), settings.pace, settings.worker.stop);
    });
  }
  for (int i = 0; i < settings.jobs; ++i) {
    crew.compilers.emplace_back([=, &runtime]() -> Crew::Compile {
      if (!remote) return [&runtime](const CompileMessage& message) { return compile_here(runtime, message); };
      const auto compiler = std::make_shared<RemoteCompiler>(settings.worker);
      return [compiler](const CompileMessage& message) { return compiler->compile(message); };
    });
  }
  return crew;
}

std::unique_ptr<Examiner> lone_examiner(const CrewSettings& settings, const DevicePlace& place, Runtime& runtime,
                                        const AnyProblem& problem) {
  const Crew crew = make_crew(settings, runtime, problem);
  CompileMessage message{problem.text(), place.device.target.text(), place.model.name, {}};
  return std::make_unique<LoneExaminer>(crew.examiners.front()(), crew.compilers.front()(), std::move(message));
}

DevicePlace place_of(Runtime& runtime, const std::string& text) {
  const DeviceName name = parse_device(text);
  if (name.host) runtime.state().use(open_host_driver(runtime.state().environment));
  const Device device = describe_device(*runtime.state().driver(), name.ordinal);
  return {device, live_model(device)};
}

}  // namespace quern
