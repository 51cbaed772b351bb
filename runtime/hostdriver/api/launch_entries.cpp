// Kernel launches.
#include "hostdriver/api/capture.h"
#include "hostdriver/api/occupancy.h"
#include "hostdriver/api/operations.h"

using namespace quern::host;  // NOLINT(google-build-using-namespace): what follows are entry points only

namespace {

std::vector<unsigned char> copy_parameter(void** parameters, unsigned bytes) {
  if (bytes == 0) return {};
  need(parameters, "kernelParams");
  const auto* const begin = static_cast<const unsigned char*>(parameters[0]);
  needed(begin, "kernelParams[0]");
  return {begin, begin + bytes};
}

}  // namespace

QUERN_HOST_ENTRY CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction handle, void** parameters,
                                           void** extra) {
  return guarded("cuLaunchKernelEx", Needs::healthy, [&](Call& call) {
    need(config, "config");
    require(extra == nullptr, CUDA_ERROR_NOT_SUPPORTED, "parameters by `extra`");
    const std::shared_ptr<Function> function = known(call.state.functions, handle, kFunction);
    const std::shared_ptr<Stream> stream = stream_of(call, config->hStream);
    require(function->context == stream->context, CUDA_ERROR_INVALID_HANDLE,
            "the function and the stream belong to different contexts");
    Device& device = *call.state.devices[static_cast<std::size_t>(stream->context->device)];
    Grid grid = make_grid(*config, *function, device.figures);
    grid.parameter = copy_parameter(parameters, grid.image->parameter_bytes);
    enqueue(call, stream, kernel(function->library, std::move(grid), *device.memory));
  });
}
