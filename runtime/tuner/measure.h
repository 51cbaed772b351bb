// Timing kernels. The regime is fixed and stated with every figure: CUDA-graph replays, so that launch overhead stays
// out; cold L2, by rotating through enough copies of the operands that none is still cached; the median of at least 15
// samples, since with fewer the estimate misses by several percent on noisy problems.
#ifndef QUERN_TUNER_MEASURE_H_
#define QUERN_TUNER_MEASURE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "quern/plan.h"

namespace quern {

struct Timing {
  double us = 0;  // median
  double us_p20 = 0;
  double us_p80 = 0;
  int samples = 0;
  std::string method;  // "rotate": graph over rotating operands; "flush": graph with an L2 flush before each call, less
                       // one of flushes alone
};

// Enqueues one call on operand set `set`.
using Enqueue = std::function<void(CUstream stream, int set)>;

// How many operand sets of `bytes` (read and written by one call) to rotate through.
int rotating_sets(std::int64_t bytes, std::int64_t l2_bytes);

// Device time of one call. `sets` is what rotating_sets gave. Throws Error (driver); asserts that the graph is not
// empty.
Timing measure_cold(const Driver& driver, const Enqueue& enqueue, int sets, std::int64_t bytes, std::int64_t l2_bytes);

// The floor: a copy of `bytes` in all (half read, half written), the faster of the driver's and `kernel`'s, where one
// is given (it copies half of `bytes` from the first to the second pointer).
struct CopyFloor {
  double us = 0;
  std::string by;  // "driver" or "kernel"
};
using CopyKernel = std::function<void(CUstream stream, const void* from, void* to, std::int64_t bytes)>;
CopyFloor measure_copy(const Driver& driver, std::int64_t bytes, std::int64_t l2_bytes, const CopyKernel& kernel);

// Host time of one call of `call` in nanoseconds, the median of blocks of calls.
double measure_host_ns(const std::function<void()>& call);

// The difference of two calls' host times in nanoseconds with its 95 % interval, from blocks in the order a b b a.
// After each block `settle` is called, so that no queue fills.
struct PairedNs {
  double a = 0;
  double b = 0;
  double difference = 0;  // b - a
  double low = 0;
  double high = 0;
};
PairedNs measure_paired_ns(const std::function<void()>& a, const std::function<void()>& b,
                           const std::function<void()>& settle);

}  // namespace quern

#endif  // QUERN_TUNER_MEASURE_H_
