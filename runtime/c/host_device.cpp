#include "c/host_device.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

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

// Outputs are copied in too, since a kernel may leave elements as they are: gaps, and rows beyond a count.
void HostCopies::make(const Arguments& arguments, const Given& given, FilledArguments& filled) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < given.tensor_count; ++i) {
    const quern_tensor* const tensor = given.tensors[i];
    const std::int64_t bytes =
        tensor == nullptr || tensor->data == nullptr ? 0 : arguments.layout(i, filled).span_bytes();
    if (bytes > 0) parts.push_back({static_cast<unsigned char*>(tensor->data) + tensor->byte_offset, bytes, i});
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.data < b.data; });
  for (std::size_t begin = 0; begin < parts.size();) {
    const unsigned char* end = parts[begin].data + parts[begin].bytes;
    std::size_t next = begin + 1;
    for (; next < parts.size() && parts[next].data < end; ++next)
      end = std::max<const unsigned char*>(end, parts[next].data + parts[next].bytes);
    unsigned char* const copy = add(arguments, parts, begin, next, end);
    for (std::size_t p = begin; p < next; ++p)
      arguments.redirect(parts[p].tensor, copy + (parts[p].data - parts[begin].data), parts[p].bytes, filled);
    begin = next;
  }
}

// As far from an aligned address as the tensors are, since addresses select images.
unsigned char* HostCopies::add(const Arguments& arguments, const std::vector<Part>& parts, std::size_t first,
                               std::size_t last, const unsigned char* end) {
  constexpr std::uintptr_t kAlignment = 16;
  const Driver& driver = *device_.driver();
  unsigned char* const data = parts[first].data;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(data) % kAlignment;
  Copy copy{0, offset, data, static_cast<std::size_t>(end - data), false};
  std::string name;
  for (std::size_t p = first; p < last; ++p) {
    const Place& place = arguments.places()[parts[p].tensor];
    name += cat(p == first ? "" : " and ", place.name);
    copy.written = copy.written || place.operand->role != Role::input;
  }
  driver.check(driver->MemAlloc(&copy.memory, offset + copy.bytes), Stage::launch, "cuMemAlloc");
  copies_.push_back(copy);
  driver.name_memory(copy.memory, name.c_str());
  driver.check(driver->MemcpyHtoD(copy.memory + offset, data, copy.bytes), Stage::launch, "cuMemcpyHtoD");
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
  return reinterpret_cast<unsigned char*>(copy.memory + offset);
}

HostCopies::~HostCopies() {
  for (const Copy& copy : copies_) (*device_.driver())->MemFree(copy.memory);
}

void HostCopies::finish(CUstream stream) {
  const Driver& driver = *device_.driver();
  driver.check(driver->StreamSynchronize(stream), Stage::launch, "cuStreamSynchronize");
  for (const Copy& copy : copies_) {
    if (copy.written)
      driver.check(driver->MemcpyDtoH(copy.data, copy.memory + copy.offset, copy.bytes), Stage::launch, "cuMemcpyDtoH");
  }
}

}  // namespace quern::c
