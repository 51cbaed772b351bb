// The three kinds of `quern bench`. Each gives rows that are printed beside their floors.
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

// Called with each row as soon as it is there.
using Emit = std::function<void(std::string_view schema, const Row&)>;

struct KernelBench {
  std::string config;       // changes to each default config
  std::string copy_config;  // the same for the copy kernel
};
// Kernel time of each problem, whose extents are closed, beside a copy of the same bytes.
void bench_kernels(Runtime& runtime, const OpenDevice& device, const Options& options,
                   const std::vector<AnyProblem>& problems, const KernelBench& bench, const Emit& emit);

// Each problem once on the host driver, against its reference; whether all agree.
bool bench_on_host(Runtime& runtime, const OpenDevice& device, const std::vector<AnyProblem>& problems,
                   const KernelBench& bench, const Emit& emit);

// How many rows bench_host gives.
std::size_t host_rows(const std::vector<const Family*>& families, bool on_device);
// What quern costs on the host: against a driver that returns at once, and on a device, where there is one, beside a
// bare launch.
void bench_host(Runtime& runtime, const std::vector<const Family*>& families, const std::optional<OpenDevice>& device,
                const Options& options, const Emit& emit);

// The part of it that needs a device: a launch of the family beside the bare launch of the same kernel.
void bench_launches(Runtime& runtime, const OpenDevice& device, const Family& family, const Emit& emit);

// What a cold specialization costs: empty kernels, and each family's default.
void bench_compile(Runtime& runtime, const std::vector<const Family*>& families, const Target& target, int samples,
                   const Emit& emit);
// The same of the first and the second kernel of a process, in as many processes, 5 at most. Must be called before the
// compiler or the driver is opened: it forks.
void bench_first_compile(const Options& options, const std::vector<const Family*>& families, const Target& target,
                         int samples, const Emit& emit);

// A Runtime whose driver does nothing, for a device like this one; null: for an sm_90a.
std::unique_ptr<Runtime> null_runtime(const Options& options, const OpenDevice* like);
// Arguments for a launch that does nothing: addresses that only look right.
AnyArgs null_args(const AnyProblem& closed);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_BENCH_H_
