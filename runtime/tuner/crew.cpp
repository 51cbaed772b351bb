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

DevicePlace place_of(Runtime& runtime, const std::string& text) {
  const DeviceName name = parse_device(text);
  if (name.host) runtime.state().use(open_host_driver(runtime.state().environment));
  const Device device = describe_device(*runtime.state().driver(), name.ordinal);
  return {device, live_model(device)};
}

}  // namespace quern
