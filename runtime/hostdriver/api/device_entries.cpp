// Initialization, versions, error names, devices and their attributes.
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "hostdriver/api/guarded.h"
#include "hostdriver/api/occupancy.h"

using namespace quern::host;  // NOLINT(google-build-using-namespace): what follows are entry points only

namespace {

struct Row {
  CUdevice_attribute attribute;
  int (*value)(const DeviceSettings&);
};

template <int kValue>
int always(const DeviceSettings&) {
  return kValue;
}
template <int DeviceSettings::*kMember>
int figure(const DeviceSettings& device) {
  return device.*kMember;
}

// Register counts and clocks are typical values: nothing here depends on them.
constexpr Row kRows[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, figure<&DeviceSettings::threads_per_block>},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, always<1024>},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, always<1024>},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, always<64>},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, always<2147483647>},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, always<65535>},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, always<65535>},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, figure<&DeviceSettings::shared_per_block>},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, figure<&DeviceSettings::shared_per_block_optin>},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, figure<&DeviceSettings::shared_per_multiprocessor>},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, reserved_shared_bytes},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, always<65536>},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, always<32>},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, always<65536>},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, always<65536>},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, always<1000000>},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, always<1000000>},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, always<256>},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, always<1>},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, always<1>},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, always<1>},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, figure<&DeviceSettings::multiprocessors>},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, figure<&DeviceSettings::threads_per_multiprocessor>},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, always<kMaxBlocksPerMultiprocessor>},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, figure<&DeviceSettings::l2_bytes>},
    {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, always<0>},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, [](const DeviceSettings& d) { return d.arch / 10; }},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, [](const DeviceSettings& d) { return d.arch % 10; }},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, always<CU_COMPUTEMODE_DEFAULT>},
    {CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, always<0>},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, always<0>},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, always<0>},
    {CU_DEVICE_ATTRIBUTE_TCC_DRIVER, always<0>},
    {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, always<0>},
    {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, always<0>},
    {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, always<0>},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, always<1>},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, always<1>},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, [](const DeviceSettings& d) { return d.arch >= 90 ? 1 : 0; }},
    // Unsupported features.
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, always<0>},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, always<0>},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, always<0>},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, always<0>},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, always<0>},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, always<0>},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, always<0>},
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, always<0>},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, always<0>},
};

// Throws Refusal (INVALID_VALUE) for an attribute that is not in the table.
int device_attribute(const DeviceSettings& device, CUdevice_attribute attribute) {
  for (const Row& row : kRows)
    if (row.attribute == attribute) return row.value(device);
  refuse(CUDA_ERROR_INVALID_VALUE, quern::cat("the device attribute ", static_cast<int>(attribute)));
}

}  // namespace

QUERN_HOST_ENTRY CUresult cuInit(unsigned flags) {
  return guarded("cuInit", Needs::nothing, [&](Call& call) {
    require(flags == 0, CUDA_ERROR_INVALID_VALUE, "flags must be 0");
    if (const std::string& words = call.state.read_environment(); !words.empty())
      refuse(CUDA_ERROR_INVALID_VALUE, words);
    if (call.state.initialized) return;
    watch_process();
    call.state.make_devices();
    call.state.initialized = true;
  });
}

QUERN_HOST_ENTRY CUresult cuDriverGetVersion(int* version) {
  return guarded("cuDriverGetVersion", Needs::nothing, [&](Call&) { needed(version, "version") = CUDA_VERSION; });
}

QUERN_HOST_ENTRY CUresult cuGetErrorName(CUresult code, const char** name) {
  return guarded("cuGetErrorName", Needs::nothing, [&](Call&) { needed(name, "pStr") = error_name(code); });
}

QUERN_HOST_ENTRY CUresult cuGetErrorString(CUresult code, const char** words) {
  return guarded("cuGetErrorString", Needs::nothing, [&](Call&) { needed(words, "pStr") = error_words(code); });
}

QUERN_HOST_ENTRY CUresult cuDeviceGetCount(int* count) {
  return guarded("cuDeviceGetCount", Needs::init,
                 [&](Call& call) { needed(count, "count") = static_cast<int>(call.state.devices.size()); });
}

QUERN_HOST_ENTRY CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return guarded("cuDeviceGet", Needs::init, [&](Call& call) {
    device_at(call.state, ordinal);
    needed(device, "device") = ordinal;
  });
}

QUERN_HOST_ENTRY CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return guarded("cuDeviceGetName", Needs::init, [&](Call& call) {
    need(name, "name");
    require(length > 0, CUDA_ERROR_INVALID_VALUE, "len must be positive");
    const std::string text = device_at(call.state, device).figures.name();
    const std::size_t count = std::min(text.size(), static_cast<std::size_t>(length) - 1);
    std::memcpy(name, text.data(), count);
    name[count] = '\0';
  });
}

QUERN_HOST_ENTRY CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return guarded("cuDeviceGetUuid_v2", Needs::init, [&](Call& call) {
    device_at(call.state, device);
    CUuuid& result = needed(uuid, "uuid");
    std::memcpy(result.bytes, "quern host dev ", sizeof result.bytes - 1);
    result.bytes[sizeof result.bytes - 1] = static_cast<char>(device);
  });
}

QUERN_HOST_ENTRY CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return guarded("cuDeviceGetAttribute", Needs::init, [&](Call& call) {
    needed(value, "pi") = device_attribute(device_at(call.state, device).figures, attribute);
  });
}

QUERN_HOST_ENTRY CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  return guarded("cuDeviceTotalMem_v2", Needs::init, [&](Call& call) {
    needed(bytes, "bytes") = static_cast<std::size_t>(device_at(call.state, device).figures.memory_bytes);
  });
}
