// Evaluator: checks and times candidates for a sweep, in this process or in a worker. Not thread-safe.
#ifndef QUERN_TUNER_EVALUATE_EVALUATOR_H_
#define QUERN_TUNER_EVALUATE_EVALUATOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "testbench/estimate.h"
#include "testbench/sampler.h"
#include "tuner/journal/journal.h"

namespace quern {

struct EvaluatorSettings {
  Regime regime = Regime::cold;
  std::string trusted;            // the reference for all other configs; "": the default
  std::int64_t memory_bytes = 0;  // limit on the device; 0: half of the free memory
};

// The device and software that measured, for records and reports.
struct DeviceFacts {
  std::string device;  // the driver's name
  std::string target;  // "sm_90a"
  std::string driver;  // version, "13.0"
  ClockRates clocks;
  std::int64_t bytes = 0;  // moved by one call
  double copy_us = 0;      // a copy of the same bytes; 0 where nothing is measured
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  virtual DeviceFacts facts() = 0;

  // The trial of one config: its time, or why it failed. A config that is clearly slower than `best_us` gets fewer
  // samples than kMinSamples. `config` is changes to the default, "threads=128,unroll=2". Throws Error for what is not
  // the candidate's fault.
  virtual SweepTrial evaluate(const std::string& config, double best_us) = 0;

  // Times A and B in pairs. REQUIRES: both have passed. Throws Error.
  virtual std::vector<Round> rounds(const std::string& a, const std::string& b, int count) = 0;
};

}  // namespace quern

#endif  // QUERN_TUNER_EVALUATE_EVALUATOR_H_
