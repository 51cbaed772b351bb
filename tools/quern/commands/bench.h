// The three kinds of `quern bench`. Each emits rows, which are printed with their floors.
#ifndef QUERN_TOOLS_COMMANDS_BENCH_H_
#define QUERN_TOOLS_COMMANDS_BENCH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/command.h"
#include "io/output.h"
#include "quern/runtime.h"
#include "testbench/open_device.h"
#include "testbench/operands.h"

namespace quern::tool {

// Called with each row as soon as it is measured.
using Emit = std::function<void(std::string_view schema, const Row&)>;

struct KernelBench {
  std::string config;       // changes to each default config
  std::string copy_config;  // the same for the copy kernel
  int data_seed = 1;        // of the generated data, as of `quern run`
  bool drawn = false;       // a row for the draws of each family follows
};
// Kernel time of each problem, with a copy of the same bytes. Their extents are closed.
void bench_kernels(Runtime& runtime, const OpenDevice& device, const Options& options,
                   const std::vector<AnyProblem>& problems, const KernelBench& bench, const Emit& emit);

// Runs each problem once on the host driver, and compares with its reference. True if all agree.
bool bench_on_host(Runtime& runtime, const OpenDevice& device, const std::vector<AnyProblem>& problems,
                   const KernelBench& bench, const Emit& emit);

// The number of rows that bench_host emits.
std::size_t host_rows(const std::vector<const Family*>& families, bool on_device);
// Host cost of quern: with a driver that returns at once, and on a device, if there is one, with a bare launch.
void bench_host(Runtime& runtime, const std::vector<const Family*>& families, const std::optional<OpenDevice>& device,
                const Options& options, const Emit& emit);

// The part that needs a device: a launch of the family, and the bare launch of the same kernel.
void bench_launches(Runtime& runtime, const OpenDevice& device, const Family& family, const Emit& emit);

// Cost of a cold specialization: empty kernels, and each family's default.
void bench_compile(Runtime& runtime, const std::vector<const Family*>& families, const Target& target, int samples,
                   const Emit& emit);
// The same for the first and the second kernel of a process, in at most 5 processes. It forks, so it must be called
// before the compiler or the driver is opened.
void bench_first_compile(const Options& options, const std::vector<const Family*>& families, const Target& target,
                         int samples, const Emit& emit);

// A Runtime whose driver does nothing, for a device like this one; null: like an sm_90a.
std::unique_ptr<Runtime> null_runtime(const Options& options, const OpenDevice* like);
// Arguments for a launch that does nothing: invalid addresses, far enough apart that no operands overlap.
AnyArgs null_args(const AnyProblem& closed);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_BENCH_H_
