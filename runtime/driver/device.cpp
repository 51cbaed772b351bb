#include "driver/device.h"

#include <array>

#include "base/text.h"

namespace quern {
namespace {

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  driver.check(driver->DeviceGetAttribute(&value, which, device), Stage::load, "cuDeviceGetAttribute");
  return value;
}

}  // namespace

int device_count(const Driver& driver) {
  int count = 0;
  driver.check(driver->DeviceGetCount(&count), Stage::load, "cuDeviceGetCount");
  return count;
}

Device describe_device(const Driver& driver, int ordinal) {
  const int count = device_count(driver);
  if (ordinal < 0 || ordinal >= count)
    throw Error(Code::no_device, Stage::load, cat("device ", ordinal, " does not exist; the driver sees ", count));
  CUdevice handle = 0;
  driver.check(driver->DeviceGet(&handle, ordinal), Stage::load, "cuDeviceGet");
  std::array<char, 256> name{};
  driver.check(driver->DeviceGetName(name.data(), static_cast<int>(name.size()), handle), Stage::load,
               "cuDeviceGetName");
  std::size_t memory = 0;
  driver.check(driver->DeviceTotalMem(&memory, handle), Stage::load, "cuDeviceTotalMem");
  // Not the clock rate: that query takes the driver half a millisecond.
  const auto get = [&](CUdevice_attribute which) { return attribute(driver, handle, which); };
  Device device;
  device.ordinal = ordinal;
  device.name = name.data();
  device.arch =
      10 * get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) + get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  device.target = driver.runs_host_images() ? host_target(device.arch) : target_of(device.arch);
  device.emulated = !driver.tells_time();
  device.multiprocessors = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  device.threads_per_multiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  device.shared_bytes_per_multiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  device.l2_bytes = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  device.memory_bytes = static_cast<std::int64_t>(memory);
  return device;
}

std::uint64_t current_context_id(const Driver& driver) {
  CUcontext context = nullptr;
  unsigned long long id = 0;
  if (driver->CtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return 0;
  return driver->CtxGetId(context, &id) == CUDA_SUCCESS ? id : 0;
}

Context current_context(const Driver& driver) {
  Context context;
  driver.check(driver->CtxGetCurrent(&context.handle), Stage::load, "cuCtxGetCurrent");
  if (context.handle == nullptr)
    throw Error(Code::no_device, Stage::load,
                "no context is current in this thread: call cudaSetDevice, cuCtxSetCurrent or "
                "cuDevicePrimaryCtxRetain + cuCtxSetCurrent first");
  CUdevice device = 0;
  driver.check(driver->CtxGetDevice(&device), Stage::load, "cuCtxGetDevice");
  context.device = device;
  unsigned long long id = 0;
  driver.check(driver->CtxGetId(context.handle, &id), Stage::load, "cuCtxGetId");
  context.id = id;
  return context;
}

PrimaryContext::PrimaryContext(const Driver& driver, int ordinal) : driver_(driver) {
  describe_device(driver, ordinal);  // refuses an ordinal that does not exist
  driver.check(driver->DeviceGet(&device_, ordinal), Stage::load, "cuDeviceGet");
  CUcontext context = nullptr;
  driver.check(driver->DevicePrimaryCtxRetain(&context, device_), Stage::load, "cuDevicePrimaryCtxRetain");
  driver.check(driver->CtxSetCurrent(context), Stage::load, "cuCtxSetCurrent");
}

PrimaryContext::~PrimaryContext() {
  if (driver_.may_release()) driver_->DevicePrimaryCtxRelease(device_);
}

}  // namespace quern
