// Times with their uncertainty: of a call on the device, and of a call on the host.
#ifndef QUERN_TESTBENCH_MEASURE_H_
#define QUERN_TESTBENCH_MEASURE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "testbench/estimate.h"
#include "testbench/sampler.h"

namespace quern {

struct Timing {
  double us = 0;  // median
  double us_p20 = 0;
  double us_p80 = 0;
  std::vector<double> samples;
  std::string method;  // of the Sampler
  bool timed() const { return !samples.empty(); }
};

// How long to measure. A call that is clearly slower than `hopeless_us` is dropped as soon as that is known.
struct Effort {
  int samples = 21;
  double hopeless_us = std::numeric_limits<double>::infinity();
};

// Device time of one call. Throws Error (driver).
Timing measure(const Driver& driver, const Calls& calls, const Effort& effort = {});

// Measures `rounds` rounds A B B A of two samplers.
std::vector<Round> measure_rounds(Sampler& a, Sampler& b, int rounds);

// 10^9 bytes per second.
double gigabytes_a_second(std::int64_t bytes, double us);

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

#endif  // QUERN_TESTBENCH_MEASURE_H_
