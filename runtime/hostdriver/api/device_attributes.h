// The results of cuDeviceGetAttribute.
#ifndef QUERN_HOSTDRIVER_API_DEVICE_ATTRIBUTES_H_
#define QUERN_HOSTDRIVER_API_DEVICE_ATTRIBUTES_H_

#include <cuda.h>

#include "hostdriver/exec/settings.h"

namespace quern::host {

// Throws Refusal (INVALID_VALUE) for an attribute that is not in the table.
int device_attribute(const DeviceSettings& device, CUdevice_attribute attribute);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_DEVICE_ATTRIBUTES_H_
