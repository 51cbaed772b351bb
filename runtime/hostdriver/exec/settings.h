// What the host driver can be told: its devices, and how it runs and checks kernels.
#ifndef QUERN_HOSTDRIVER_EXEC_SETTINGS_H_
#define QUERN_HOSTDRIVER_EXEC_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hostdriver/exec/clock.h"

namespace quern::host {

// Figures of one made-up device. The defaults are small, so that geometry which depends on the device is exercised by
// small problems.
struct DeviceSettings {
  int arch = 90;  // compute capability
  int multiprocessors = 8;
  int threads_per_multiprocessor = 2048;
  int threads_per_block = 1024;
  int shared_per_block = 48 * 1024;  // static, and dynamic without opting in
  int shared_per_block_optin = 227 * 1024;
  int shared_per_multiprocessor = 228 * 1024;
  int l2_bytes = 8 << 20;
  std::int64_t memory_bytes = std::int64_t{4} << 30;
  std::string name() const;  // "quern host device (sm_90)"
  bool operator==(const DeviceSettings&) const = default;
};

struct Settings {
  std::vector<DeviceSettings> devices{DeviceSettings{}};
  std::uint64_t seed = 0;         // of the order in which threads and blocks run; 0: as they are numbered
  int workers = 0;                // threads that run blocks; 0: one a core
  bool check_bounds = true;       // each access lies inside one allocation
  bool check_initialized = true;  // each byte of device and shared memory is written before it is read
  bool check_races = true;        // in shared memory, between barriers
  bool say_raw = true;            // accesses by raw pointers are named on stderr, once for each image
  int dead_wait_ms = 10000;       // a wait for memory that does not change for so long is reported
  Rates rates;                    // of the scripted clock
  int drift_percent = 0;          // each launch of a graph takes so much of the first one's time more
  bool scripted() const { return rates.memory > 0; }
};

// Applies "seed=7 workers=2 arch=90,80 multiprocessors=4": of `arch`, and of any device figure, a list is one device an
// item, and a single value counts for all; "devices=2" gives the number itself, "defaults" forgets all that was set.
// Returns a sentence about what is wrong, or "" and changes `settings`.
std::string apply(const std::string& text, Settings& settings);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_SETTINGS_H_
