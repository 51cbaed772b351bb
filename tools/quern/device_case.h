// One problem's data on a device: launched once for its result, many times for its time.
#ifndef QUERN_TOOLS_DEVICE_CASE_H_
#define QUERN_TOOLS_DEVICE_CASE_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "open_device.h"
#include "quern/plan.h"
#include "tuner/measure.h"
#include "tuner/operands.h"

namespace quern::tool {

class Stopwatch {
 public:
  double ms() const { return std::chrono::duration<double, std::milli>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

class DeviceCase {
 public:
  // `device` and `host` must outlive it. Uploads. Throws Error (driver).
  DeviceCase(const OpenDevice& device, const HostOperands& host, const AnyArgs& scalars, int offset_elements);

  // Puts the inputs and the poisoned outputs back.
  void reset();
  // Launches and waits. False: the problem is empty, nothing was launched.
  bool launch(const AnyPlan& plan) const;
  HostOperands download() const;
  // See DeviceOperands::damage.
  std::string damage() const { return sets_.front()->damage(host_); }
  // With cold L2; makes as many copies of the operands as that takes.
  Timing time(const AnyPlan& plan);
  // The image that a launch of the plan takes at these addresses, counted from 0.
  std::size_t image_of(const AnyPlan& plan) const;

  const AnyArgs& args() const { return args_.front(); }
  std::int64_t bytes() const { return bytes_; }

 private:
  void add_set();
  const OpenDevice& device_;
  const HostOperands& host_;
  const AnyArgs scalars_;
  const int offset_;
  const std::int64_t bytes_;
  std::vector<std::unique_ptr<DeviceOperands>> sets_;
  std::vector<AnyArgs> args_;
};

// 10^9 bytes in a second.
double gigabytes_a_second(std::int64_t bytes, double us);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_DEVICE_CASE_H_
