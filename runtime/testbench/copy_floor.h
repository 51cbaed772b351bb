// The floor that every time is compared with: a copy of the same bytes, by the driver or by quern's own kernel,
// whichever is faster.
#ifndef QUERN_TESTBENCH_COPY_FLOOR_H_
#define QUERN_TESTBENCH_COPY_FLOOR_H_

#include <cstdint>
#include <functional>
#include <string>

#include "driver/driver.h"
#include "quern/runtime.h"

namespace quern {

// Copies `bytes` from the first to the second pointer.
using CopyKernel = std::function<void(CUstream stream, const void* from, void* to, std::int64_t bytes)>;

// Quern's own copy: a pointwise identity over fp32 that preserves all bits. `config` is that of PrepareOptions. Throws
// Error.
CopyKernel own_copy(Runtime& runtime, const std::string& config);

struct CopyFloor {
  double us = 0;
  std::string by;  // "driver" or "kernel"
};

// Times a copy of `bytes` in total, half read and half written, with cold L2. Throws Error (driver).
CopyFloor measure_copy(const Driver& driver, std::int64_t bytes, std::int64_t l2_bytes, const CopyKernel& kernel);

}  // namespace quern

#endif  // QUERN_TESTBENCH_COPY_FLOOR_H_
