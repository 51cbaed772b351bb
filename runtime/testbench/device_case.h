// One problem's data on a device: launched once for its result, many times for its time.
#ifndef QUERN_TESTBENCH_DEVICE_CASE_H_
#define QUERN_TESTBENCH_DEVICE_CASE_H_

#include <memory>
#include <string>
#include <vector>

#include "driver/device.h"
#include "quern/plan.h"
#include "testbench/measure.h"
#include "testbench/operands.h"

namespace quern {

class DeviceCase {
 public:
  // `driver` and `host` must outlive it; the device's context must be current during every use. Uploads the data.
  // Throws Error (driver).
  DeviceCase(const Driver& driver, const Device& device, const HostOperands& host, const AnyArgs& scalars,
             int offset_elements, std::vector<InPlace> in_place = {});

  // Restores the inputs and the poisoned outputs.
  void reset();
  // Launches and waits. False: the problem is empty, nothing was launched.
  bool launch(const AnyPlan& plan) const;
  HostOperands download() const;
  // See DeviceOperands::damage.
  std::string damage() const { return sets_.front()->damage(host_); }

  // Makes as many copies of the operands as the regime needs.
  Timing time(const AnyPlan& plan, const Effort& effort = {}, Regime regime = Regime::cold);
  std::unique_ptr<Sampler> sampler(const AnyPlan& plan, Regime regime);

  // The index, among all images of the plan, of the image that a launch of this step selects at these addresses.
  std::size_t image_of(const AnyPlan& plan, std::size_t step = 0) const;

  const AnyArgs& args() const { return args_.front(); }
  std::int64_t bytes() const { return bytes_; }

 private:
  void add_set();
  Calls calls(const AnyPlan& plan, Regime regime);
  const Driver& driver_;
  const Device device_;
  const HostOperands& host_;
  const AnyArgs scalars_;
  const int offset_;
  const std::vector<InPlace> in_place_;
  const std::int64_t bytes_;
  std::vector<std::unique_ptr<DeviceOperands>> sets_;
  std::vector<AnyArgs> args_;
};

}  // namespace quern

#endif  // QUERN_TESTBENCH_DEVICE_CASE_H_
