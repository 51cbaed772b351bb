// `quern bench --device host`: every case runs once on the CPU, which shows that it works and nothing about its speed.
#include "base/text.h"
#include "commands/bench.h"
#include "testbench/device_case.h"

namespace quern::tool {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

}  // namespace

bool bench_on_host(Runtime& runtime, const OpenDevice& device, const std::vector<AnyProblem>& problems,
                   const KernelBench& bench, const Emit& emit) {
  PrepareOptions prepare;
  prepare.config = bench.config;
  bool all_agree = true;
  for (const AnyProblem& problem : problems) {
    const std::int64_t bytes = problem.family().bytes(problem.data());
    if (bytes > kMostBytes) {
      note(cat("quern: left out, too large for the host: ", problem.text()));
      continue;
    }
    HostOperands host(problem.family(), problem.data());
    host.generate(1, false);
    const AnyArgs scalars(problem.family());
    const DeviceCase data(*device.driver, device.device, host, scalars, 0);
    const AnyPlan plan = runtime.prepare_any(problem.family(), problem.data(), prepare);
    data.launch(plan);
    const Comparison comparison = compare(data.download(), host.reference(scalars));
    all_agree = all_agree && comparison.equal;
    emit("quern.bench.emulated/1", Row()
                                       .add("problem", problem.text())
                                       .add("bytes", bytes)
                                       .add("verified", comparison.equal)
                                       .add("max_error", comparison.max_error));
  }
  return all_agree;
}

}  // namespace quern::tool
