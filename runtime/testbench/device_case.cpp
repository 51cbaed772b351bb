#include "testbench/device_case.h"

#include "driver/stream.h"
#include "plan/plan_state.h"

namespace quern {

DeviceCase::DeviceCase(const Driver& driver, const Device& device, const HostOperands& host, const AnyArgs& scalars,
                       int offset_elements, std::vector<InPlace> in_place)
    : driver_(driver),
      device_(device),
      host_(host),
      scalars_(scalars),
      offset_(offset_elements),
      in_place_(std::move(in_place)),
      bytes_(host.family().bytes(host.problem())) {
  add_set();
}

void DeviceCase::add_set() {
  sets_.push_back(std::make_unique<DeviceOperands>(driver_, host_, offset_,
                                                   // The host driver detects every access outside.
                                                   device_.target.host ? Guards::none : Guards::bands));
  for (const InPlace& place : in_place_) sets_.back()->share(place);
  args_.push_back(sets_.back()->args(scalars_));
}

void DeviceCase::reset() { sets_.front()->upload(host_); }

// In the default stream. On an H200 with driver 580, after eight launches outside of graphs in other streams, one or
// several, each kernel of a graph takes 0.35 us longer for the rest of the process.
bool DeviceCase::launch(const AnyPlan& plan) const {
  const bool launched = plan.try_launch(nullptr, args_.front().data()).value();
  driver_.check(driver_->StreamSynchronize(nullptr), Stage::tool, "cuStreamSynchronize");
  return launched;
}

HostOperands DeviceCase::download() const {
  HostOperands result = host_;
  sets_.front()->download(result);
  return result;
}

Calls DeviceCase::calls(const AnyPlan& plan, Regime regime) {
  ColdSets cold;
  if (regime == Regime::cold && !device_.emulated)
    cold = cold_sets(bytes_, operand_set_bytes(host_.family(), host_.problem()), device_.l2_bytes);
  while (sets_.size() < static_cast<std::size_t>(cold.sets)) add_set();
  const Enqueue enqueue = [this, plan](CUstream stream, int set) {
    plan.launch(stream, args_[static_cast<std::size_t>(set)].data());
  };
  return {enqueue, cold, bytes_, device_.l2_bytes, regime, device_.emulated};
}

Timing DeviceCase::time(const AnyPlan& plan, const Effort& effort, Regime regime) {
  return measure(driver_, calls(plan, regime), effort);
}

std::unique_ptr<Sampler> DeviceCase::sampler(const AnyPlan& plan, Regime regime) {
  return make_sampler(driver_, calls(plan, regime));
}

std::size_t DeviceCase::image_of(const AnyPlan& plan, std::size_t step) const {
  PreparedLaunch prepared;
  prepare_launch(*plan.state(), args_.front().data(), prepared, step);
  return static_cast<std::size_t>(prepared.variant - plan.state()->variants.data());
}

}  // namespace quern
