#include "device_case.h"

#include "driver/stream.h"
#include "plan/plan_state.h"

namespace quern::tool {

DeviceCase::DeviceCase(const OpenDevice& device, const HostOperands& host, const AnyArgs& scalars, int offset_elements)
    : device_(device),
      host_(host),
      scalars_(scalars),
      offset_(offset_elements),
      bytes_(host.family().bytes(host.problem())) {
  add_set();
}

void DeviceCase::add_set() {
  sets_.push_back(std::make_unique<DeviceOperands>(*device_.driver, host_, offset_,
                                                   // The host driver sees every access outside.
                                                   device_.host() ? Guards::none : Guards::bands));
  args_.push_back(sets_.back()->args(scalars_));
}

void DeviceCase::reset() { sets_.front()->upload(host_); }

bool DeviceCase::launch(const AnyPlan& plan) const {
  const StreamOwner stream(*device_.driver);
  const bool launched = plan.try_launch(stream.get(), args_.front().data()).value();
  stream.synchronize();
  return launched;
}

HostOperands DeviceCase::download() const {
  HostOperands result = host_;
  sets_.front()->download(result);
  return result;
}

Timing DeviceCase::time(const AnyPlan& plan) {
  const int sets = rotating_sets(bytes_, device_.device.l2_bytes);
  while (sets_.size() < static_cast<std::size_t>(sets)) add_set();
  const Enqueue enqueue = [&](CUstream stream, int set) {
    plan.launch(stream, args_[static_cast<std::size_t>(set)].data());
  };
  return measure_cold(*device_.driver, enqueue, sets, bytes_, device_.device.l2_bytes);
}

std::size_t DeviceCase::image_of(const AnyPlan& plan) const {
  PreparedLaunch prepared;
  prepare_launch(*plan.state(), args_.front().data(), prepared);
  return static_cast<std::size_t>(prepared.variant - plan.state()->variants.data());
}

double gigabytes_a_second(std::int64_t bytes, double us) { return us > 0 ? static_cast<double>(bytes) / us * 1e-3 : 0; }

}  // namespace quern::tool
