// Initialization, versions, error names and devices.
#include <algorithm>
#include <cstring>

#include "hostdriver/api/device_attributes.h"
#include "hostdriver/api/guarded.h"

using namespace quern::host;  // NOLINT(google-build-using-namespace): what follows are entry points only

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
