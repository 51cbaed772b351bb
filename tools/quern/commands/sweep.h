// Every legal config of a problem, measured.
#ifndef QUERN_TOOLS_COMMANDS_SWEEP_H_
#define QUERN_TOOLS_COMMANDS_SWEEP_H_

#include <string>
#include <vector>

#include "io/output.h"
#include "quern/runtime.h"
#include "testbench/device_case.h"
#include "testbench/open_device.h"

namespace quern::tool {

struct SweepRow {
  std::string config;
  bool is_default = false;
  Timing timing;
  bool verified = false;  // where it was asked for
  double max_error = 0;
  std::string failure;  // why there is no time, or what was wrong with the result
};

// Compiles all images first, on `jobs` threads. `expected`, if given, is what every config must give. The fastest
// first, failures last.
std::vector<SweepRow> sweep(Runtime& runtime, const OpenDevice& device, const AnyProblem& problem, DeviceCase& data,
                            const HostOperands* expected, int jobs);

std::vector<Row> to_rows(const std::vector<SweepRow>& sweep, std::int64_t bytes, bool verified);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_SWEEP_H_
