// The parts of a Runtime and their connections. The constructor makes everything except the driver, which the first
// prepare opens, and NVRTC, which the first compile opens.
#ifndef QUERN_API_RUNTIME_STATE_H_
#define QUERN_API_RUNTIME_STATE_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "api/application_tuner.h"
#include "api/known_contexts.h"
#include "api/loaded_kernels.h"
#include "api/manifest_writer.h"
#include "api/plan_table.h"
#include "base/environment.h"
#include "base/fork_barrier.h"
#include "base/log.h"
#include "base/single_flight.h"
#include "base/striped.h"
#include "cache/store.h"
#include "compiler/compiler.h"
#include "driver/driver.h"
#include "quern/runtime.h"
#include "records/record_layers.h"

namespace quern {

class RuntimeState {
 public:
  explicit RuntimeState(Options given);
  ~RuntimeState();

  // Opens the driver at the first call. Throws Error (no_driver, no_device).
  const std::shared_ptr<Driver>& driver();
  // Removes the plans and kernels of destroyed contexts.
  void drop_contexts(const std::vector<std::uint64_t>& gone);
  // Uses `driver` instead of libcuda or a driver that was opened before; call it before the first prepare.
  void use(std::shared_ptr<Driver> driver);
  // Null until driver() was called.
  const Driver* driver_if_open() const { return open_driver_.load(std::memory_order_acquire); }

  const Environment environment;
  std::vector<std::string> misread;  // its invalid settings, a sentence each
  const Options options;             // resolved
  const Log log;
  cache::Store store;
  Compiler compiler;
  LoadedKernels kernels;
  KnownContexts contexts;
  PlanTable plans;
  SingleFlight<PlanKey, std::shared_ptr<const PlanState>, PlanKeyHash> planning;  // one plan of a problem at a time
  ManifestWriter manifest;
  RecordLayers records;

  mutable ForkSafeMutex families_mutex;
  std::map<std::string, const Family*, std::less<>> families;

  StripedCounter plan_hits;
  std::atomic<std::uint64_t> compiles{0};
  std::atomic<std::uint64_t> compile_nanoseconds{0};
  std::atomic<std::uint64_t> sweeps{0};
  std::atomic<std::uint64_t> better_plans{0};

 private:
  void warm();
  ForkSafeMutex driver_mutex_;
  std::shared_ptr<Driver> driver_;
  std::atomic<const Driver*> open_driver_{nullptr};
  std::thread warming_;

 public:
  // Null unless the application tunes. The last member, since its thread uses all others.
  const std::unique_ptr<ApplicationTuner> tuner;
};

}  // namespace quern

#endif  // QUERN_API_RUNTIME_STATE_H_
