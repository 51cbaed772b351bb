// Kernel times by graph replay with cold L2, with a copy of the same bytes in the same run.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "commands/bench.h"
#include "io/subject.h"
#include "testbench/comparison.h"
#include "testbench/copy_floor.h"
#include "testbench/device_case.h"
#include "testbench/null_driver.h"

namespace quern::tool {
namespace {

// One measurement for each byte count.
class CopyFloors {
 public:
  CopyFloors(Runtime& runtime, const OpenDevice& device, const std::string& config)
      : device_(device), kernel_(own_copy(runtime, config)) {}

  const CopyFloor& of(std::int64_t bytes) {
    const auto found = floors_.find(bytes);
    if (found != floors_.end()) return found->second;
    return floors_.emplace(bytes, measure_copy(*device_.driver, bytes, device_.device.l2_bytes, kernel_)).first->second;
  }

 private:
  const OpenDevice& device_;
  const CopyKernel kernel_;
  std::map<std::int64_t, CopyFloor> floors_;
};

double launch_ns(Runtime& null, const AnyProblem& problem, const std::string& config) {
  PrepareOptions options;
  options.config = config;
  const AnyPlan plan = null.prepare_any(problem.family(), problem.data(), options);
  const AnyArgs args = null_args(problem);
  return measure_host_ns([&] { plan.launch(nullptr, args.data()); });
}

Row row_of(const AnyProblem& problem, const Timing& timing, std::int64_t bytes, const CopyFloor& copy) {
  Row row;
  row.add("problem", problem.text()).add("us", timing.us).add("p20", timing.us_p20).add("p80", timing.us_p80);
  row.add("bytes", bytes).add("gbs", Value(gigabytes_a_second(bytes, timing.us), 0));
  row.add("copy_us", copy.us).add("copy_by", copy.by);
  return row.add("copy_percent", Value(100.0 * copy.us / timing.us, 1));
}

// What the draws of a family came to: the slowest, the slowest of ten, and the one in the middle.
Row row_of_draws(const std::string& family, std::vector<double> copy_percents) {
  std::sort(copy_percents.begin(), copy_percents.end());
  const auto at = [&](std::size_t tenths) { return Value(copy_percents[(copy_percents.size() - 1) * tenths / 10], 1); };
  Row row;
  row.add("family", family).add("draws", copy_percents.size());
  return row.add("copy_percent_least", at(0)).add("copy_percent_p10", at(1)).add("copy_percent_median", at(5));
}

constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

}  // namespace

void bench_kernels(Runtime& runtime, const OpenDevice& device, const Options& options,
                   const std::vector<AnyProblem>& problems, const KernelBench& bench, const Emit& emit) {
  CopyFloors floors(runtime, device, bench.copy_config);
  const std::unique_ptr<Runtime> null = null_runtime(options, &device);
  PrepareOptions prepare;
  prepare.config = bench.config;
  std::map<std::string, std::vector<double>> copy_percents;
  for (const AnyProblem& problem : problems) {
    HostOperands host(problem.family(), problem.data());
    host.generate(static_cast<std::uint64_t>(bench.data_seed), false);
    DeviceCase data(*device.driver, device.device, host, AnyArgs(problem.family()), 0);
    const AnyPlan plan = runtime.prepare_any(problem.family(), problem.data(), prepare);
    if (!data.launch(plan)) continue;  // an empty problem has no launch
    const Timing timing = data.time(plan);
    const CopyFloor& copy = floors.of(data.bytes());
    copy_percents[problem.family().name].push_back(100.0 * copy.us / timing.us);
    Row row = row_of(problem, timing, data.bytes(), copy);
    row.add("host_ns", Value(launch_ns(*null, problem, bench.config), 1)).add("data_seed", bench.data_seed);
    emit("quern.bench/1", row);
  }
  if (!bench.drawn) return;
  for (const auto& [family, percents] : copy_percents) emit("quern.bench.draws/1", row_of_draws(family, percents));
}

// Runs every case once on the CPU. This shows that it works, not how fast it is.
bool bench_on_host(Runtime& runtime, const OpenDevice& device, const std::vector<AnyProblem>& problems,
                   const KernelBench& bench, const Emit& emit) {
  PrepareOptions prepare;
  prepare.config = bench.config;
  bool all_agree = true;
  for (const AnyProblem& problem : problems) {
    const std::int64_t bytes = problem.family().bytes(problem.data());
    if (bytes > kMostBytes) {
      note(cat("quern: skipped, too large for the host: ", problem.text()));
      continue;
    }
    HostOperands host(problem.family(), problem.data());
    host.generate(static_cast<std::uint64_t>(bench.data_seed), false);
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
