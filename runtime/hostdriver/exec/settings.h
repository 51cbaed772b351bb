// Settings of the host driver: its devices, and how it runs and checks kernels.
#ifndef QUERN_HOSTDRIVER_EXEC_SETTINGS_H_
#define QUERN_HOSTDRIVER_EXEC_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hostdriver/exec/clock.h"

namespace quern::host {

// Figures of one emulated device. The defaults are small, so that small problems exercise geometry that depends on the
// device.
struct DeviceSettings {
  int arch = 90;  // compute capability
  int multiprocessors = 8;
  int threads_per_multiprocessor = 2048;
  int threads_per_block = 1024;
  int shared_per_block = 48 * 1024;  // static, and dynamic without opt-in
  int shared_per_block_optin = 227 * 1024;
  int shared_per_multiprocessor = 228 * 1024;
  int l2_bytes = 8 << 20;
  std::int64_t memory_bytes = std::int64_t{4} << 30;
  std::string name() const;  // "quern host device (sm_90)"
  bool operator==(const DeviceSettings&) const = default;
};

struct Settings {
  std::vector<DeviceSettings> devices{DeviceSettings{}};
  std::uint64_t seed = 0;         // shuffles threads and blocks; 0: in order of their numbers
  int workers = 0;                // threads that run blocks; 0: one per core
  bool check_bounds = true;       // each access lies inside one allocation
  bool check_initialized = true;  // each byte of device and shared memory is written before it is read
  bool check_races = true;        // in shared memory, between barriers
  bool say_raw = true;            // accesses through raw pointers are named on stderr, once per image
  int dead_wait_ms = 10000;       // a wait for memory that does not change for this long is reported
  Rates rates;                    // of the scripted clock
  int drift_percent = 0;          // slowdown of each further launch of a graph, in percent of the first one's time
  bool scripted() const { return rates.memory > 0; }
};

// Applies "seed=7 workers=2 arch=90,80 multiprocessors=4". A list for `arch` or another device figure is one device per
// item, and a single value counts for all; "devices=2" sets the number itself, "defaults" resets everything. Returns an
// error message and leaves `settings` unchanged, or "".
std::string apply(const std::string& text, Settings& settings);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_SETTINGS_H_
