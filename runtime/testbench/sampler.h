// Device time of one call, sample by sample. The regime is fixed and stated with every figure: CUDA-graph replays
// between two events, which exclude launch overhead; and a cold L2, by rotating through enough copies of the operands
// that none is still cached, or on request a warm L2.
#ifndef QUERN_TESTBENCH_SAMPLER_H_
#define QUERN_TESTBENCH_SAMPLER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "driver/driver.h"

namespace quern {

enum class Regime : std::uint8_t {
  cold,  // no part of the operands is in L2 when a call begins
  warm,  // the operands are in L2, as far as they fit
};
const char* name(Regime regime);
// Throws Error (bad_input) that lists the accepted names.
Regime parse_regime(std::string_view text);

// Enqueues one call on operand set `set`, and keeps alive the kernels that it launches.
using Enqueue = std::function<void(CUstream stream, int set)>;

// How a cold regime has no part of the operands in L2.
struct ColdSets {
  // Operand sets that the calls rotate through.
  int sets = 1;
  // L2 is flushed before each call, since the sets alone are too small or would take too much memory.
  bool flush = false;
};
// `bytes`: read and written by one call; `set_bytes`: the memory of an operand set, of which a call may use only a
// part.
ColdSets cold_sets(std::int64_t bytes, std::int64_t set_bytes, std::int64_t l2_bytes);

// The calls to measure, and their device.
struct Calls {
  Enqueue enqueue;
  ColdSets cold{};         // one set if the regime is warm; enqueue accepts each set
  std::int64_t bytes = 0;  // of one call
  std::int64_t l2_bytes = 0;
  Regime regime = Regime::cold;
  bool emulated = false;  // on the host driver: one call per sample, since its times are not a GPU's
};

// The constructor captures the calls once. Not thread-safe.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // Device time of one call in microseconds, the mean over one replay. Throws Error (driver).
  virtual double us() = 0;
  // "rotate": a graph over rotating operands; "flush": a graph with an L2 flush before each call, less one of flushes
  // alone; "warm": a graph of calls on one set.
  virtual const char* method() const = 0;
};

// Throws Error (driver); asserts that the graph is not empty.
std::unique_ptr<Sampler> make_sampler(const Driver& driver, const Calls& calls);

}  // namespace quern

#endif  // QUERN_TESTBENCH_SAMPLER_H_
