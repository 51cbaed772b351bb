// The default device of a command.
#ifndef QUERN_TOOLS_COMMANDS_GPU_OR_HOST_H_
#define QUERN_TOOLS_COMMANDS_GPU_OR_HOST_H_

#include <optional>
#include <string>

#include "testbench/open_device.h"

namespace quern::tool {

// The first GPU; nothing, with the reason, where a search finds no driver or the driver no device. Throws Error
// (no_driver) where QUERN_LIBCUDA names a library that is not a driver: running elsewhere would hide the mistake.
std::optional<OpenDevice> try_first_gpu(Runtime& runtime, std::string* why_not);

// The first GPU, as above. Without one, the first device of the host driver, which is noted on stderr. Nothing where
// the host driver or its C++ compiler is missing too, with the reason why there is no GPU.
std::optional<OpenDevice> gpu_or_host(Runtime& runtime, std::string* why_not);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_GPU_OR_HOST_H_
