#include "c/host_device.h"

#include <utility>

namespace quern::c {

HostDevice::HostDevice(std::shared_ptr<Driver> driver) : driver_(std::move(driver)) {
  CUdevice device = 0;
  driver_->check((*driver_)->DeviceGet(&device, 0), Stage::load, "cuDeviceGet");
  driver_->check((*driver_)->DevicePrimaryCtxRetain(&context_, device), Stage::load, "cuDevicePrimaryCtxRetain");
}

HostDevice::~HostDevice() {
  if (driver_->may_release()) (*driver_)->DevicePrimaryCtxRelease(0);
}

void HostDevice::enter() const {
  CUcontext current = nullptr;
  driver_->check((*driver_)->CtxGetCurrent(&current), Stage::launch, "cuCtxGetCurrent");
  if (current != context_) driver_->check((*driver_)->CtxSetCurrent(context_), Stage::launch, "cuCtxSetCurrent");
}

HostCopies::HostCopies(const HostDevice& device, const Arguments& arguments, const Given& given,
                       FilledArguments& filled)
    : device_(device) {
  for (std::size_t i = 0; i < given.tensor_count; ++i) {
    if (given.tensors[i] == nullptr || given.tensors[i]->data == nullptr) continue;
    const Layout layout = arguments.layout(i, filled);
    if (layout.span_bytes() <= 0) continue;
    add(arguments.places()[i], *given.tensors[i], static_cast<std::size_t>(layout.span_bytes()));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
    arguments.redirect(i, reinterpret_cast<void*>(copies_.back().memory), layout.span_bytes(), filled);
  }
}

// Outputs are copied in too, since a kernel may leave elements as they are: gaps, and rows beyond a count.
void HostCopies::add(const Place& place, const quern_tensor& tensor, std::size_t bytes) {
  const Driver& driver = *device_.driver();
  unsigned char* const data = static_cast<unsigned char*>(tensor.data) + tensor.byte_offset;
  CUdeviceptr memory = 0;
  driver.check(driver->MemAlloc(&memory, bytes), Stage::launch, "cuMemAlloc");
  copies_.push_back({memory, place.operand->role == Role::input ? nullptr : data, bytes});
  driver.name_memory(memory, place.name.c_str());
  driver.check(driver->MemcpyHtoD(memory, data, bytes), Stage::launch, "cuMemcpyHtoD");
}

HostCopies::~HostCopies() {
  for (const Copy& copy : copies_) (*device_.driver())->MemFree(copy.memory);
}

void HostCopies::finish(CUstream stream) {
  const Driver& driver = *device_.driver();
  driver.check(driver->StreamSynchronize(stream), Stage::launch, "cuStreamSynchronize");
  for (const Copy& copy : copies_) {
    if (copy.tensor == nullptr) continue;
    driver.check(driver->MemcpyDtoH(copy.tensor, copy.memory, copy.bytes), Stage::launch, "cuMemcpyDtoH");
  }
}

}  // namespace quern::c
