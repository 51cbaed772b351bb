// Common parts of quern_store_bench: the device, the images, and medians.
#ifndef QUERN_TOOLS_BENCH_STORE_BENCH_H_
#define QUERN_TOOLS_BENCH_STORE_BENCH_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver/device.h"
#include "driver/driver.h"
#include "io/output.h"
#include "quern/runtime.h"

namespace quern::bench {

using tool::Row;
using tool::Value;

class Stopwatch {
 public:
  double us() const { return std::chrono::duration<double, std::micro>(Clock::now() - start_).count(); }
  double ns() const { return us() * 1e3; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

double median(std::vector<double> values);

// A temporary folder, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The device, with its context current on this thread.
struct Place {
  std::shared_ptr<Driver> driver;
  std::shared_ptr<Driver> timed;  // the same entry points, which also sum up their time: see driver_us
  Device device;
  std::unique_ptr<PrimaryContext> primary;  // none with the null driver
  CUcontext context = nullptr;

  // For other threads of this program.
  void make_current() const { driver->check((*driver)->CtxSetCurrent(context), Stage::tool, "cuCtxSetCurrent"); }
};

// "null", or "cuda:0". Throws Error.
Place open_place(const std::string& name);

// Time inside the calls of Place::timed since the last call of this.
double take_driver_us();

struct Settings {
  std::string images;  // a store's directory with the images of all problems below
  int threads = 16;    // at most
  int samples = 201;
};

Options options_for(const std::string& cache_dir, const std::shared_ptr<Driver>& driver);

// gather width=8192 dtype=bf16, and a pointwise one.
std::vector<std::string> problems();

struct Section {
  std::string title;
  std::vector<Row> rows;
};

// Memory hits and known problems, by several threads.
Section measure_memory_hits(const Place& place, const Settings& settings);
Section measure_known_problems(const Place& place, const Settings& settings);
// A new Runtime that finds its images on disk.
Section measure_warm_disk(const Place& place, const Settings& settings);
Section measure_phases(const Place& place, const Settings& settings);
Section measure_cold_starts(const Place& place, const Settings& settings);

}  // namespace quern::bench

#endif  // QUERN_TOOLS_BENCH_STORE_BENCH_H_
