// Analysis of a compiled image without a GPU: access widths in its PTX, occupancy, and coalescing of its accesses.
#ifndef QUERN_TOOLS_COMMANDS_IMAGE_ANALYSIS_H_
#define QUERN_TOOLS_COMMANDS_IMAGE_ANALYSIS_H_

#include <string>
#include <vector>

#include "io/output.h"
#include "io/subject.h"
#include "quern/plan.h"
#include "quern/runtime.h"

namespace quern::tool {

// ---- Widths

// Loads or stores of global memory: "4 × 16 B, 1 × 8 B"; "none".
std::string widths_text(const std::string& ptx, bool stores);
// {"16": 4, "8": 1}
Row widths_row(const std::string& ptx, bool stores);

// ---- Occupancy

struct Block {
  int threads = 0;
  int shared_bytes = 0;  // dynamic
};

// The blocks of a launch of the problem with this config. Open extents are assumed to be large.
Block block_of(const Subject& subject, const Step& step, const DeviceModel& model, const Config& config);

// Limited by registers, threads, shared memory and the number of blocks of the model's architecture.
int blocks_that_fit(const Resources& resources, const Block& block, const DeviceModel& model);

// ---- Coalescing

// A row for each access site: its line in the template, the operand, bytes per thread, requests by warps, sectors per
// request and the minimum, half-lines per request of loads, bytes moved, the minimum, and the bytes of the half-lines
// that loads touched. Then a row for all loads, all stores and all atomics. Found by running the kernel on the host
// driver, as a device of `model`. Extents that are open are chosen, which is noted on stderr. Throws Error.
std::vector<Row> access_rows(Runtime& runtime, const Subject& subject, const std::string& config,
                             const DeviceModel& model);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_IMAGE_ANALYSIS_H_
