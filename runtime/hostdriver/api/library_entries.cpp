// Libraries, kernels and functions.
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "hostdriver/api/capture.h"
#include "hostdriver/api/occupancy.h"
#include "hostdriver/api/schedule.h"

using namespace quern::host;  // NOLINT(google-build-using-namespace): what follows are entry points only

namespace {

constexpr const char* kLibrary = "library, or it was unloaded";

std::shared_ptr<Function> function_of(Call& call, CUfunction handle) {
  return known(call.state.functions, handle, kFunction);
}

const DeviceSettings& figures(Call& call, const Function& function) {
  return call.state.devices[static_cast<std::size_t>(function.context->device)]->figures;
}

int static_shared(const Function& function) {
  return static_cast<int>((*function.library->image)->static_shared_bytes);
}

int function_attribute(Call& call, const Function& function, CUfunction_attribute attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return max_threads(function, figures(call, function));
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_shared(function);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return function.dynamic_shared_limit;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return figures(call, function).arch;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return -1;  // the driver's choice
    // Not meaningful on a CPU.
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return 0;
    default:
      refuse(CUDA_ERROR_INVALID_VALUE, quern::cat("the function attribute ", static_cast<int>(attribute)));
  }
}

// Decided by the image; cannot be set.
bool read_only(CUfunction_attribute attribute) { return attribute <= CU_FUNC_ATTRIBUTE_CACHE_MODE_CA; }

void set_dynamic_shared(Call& call, Function& function, int bytes) {
  const int most = figures(call, function).shared_per_block_optin - static_shared(function);
  if (bytes < 0 || bytes > most)
    refuse(CUDA_ERROR_INVALID_VALUE,
           quern::cat(bytes, " bytes of dynamic shared memory; the device allows this kernel ", most));
  function.dynamic_shared_limit = bytes;
}

// One function per kernel and context.
CUfunction make_function(Call& call, const std::shared_ptr<Library>& library) {
  if (const auto known = library->functions.find(call.context->id); known != library->functions.end())
    return known->second;
  auto function = std::make_shared<Function>();
  function->context = call.context;
  function->library = library;
  function->dynamic_shared_limit = std::max(0, call.device().figures.shared_per_block - static_shared(*function));
  return library->functions[call.context->id] = call.state.add(call.state.functions, function);
}

void wait_for_contexts_of(Call& call, const Library& library) {
  std::vector<std::shared_ptr<Context>> contexts;
  call.state.functions.for_each([&](const Function& function) {
    if (function.library.get() == &library) contexts.push_back(function.context);
  });
  for (const auto& context : contexts) wait_for_context(call, *context);
}

}  // namespace

QUERN_HOST_ENTRY CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**,
                                            unsigned jit_options, CUlibraryOption*, void**, unsigned library_options) {
  return guarded("cuLibraryLoadData", Needs::healthy, [&](Call& call) {
    CUlibrary& result = needed(library, "library");
    need(code, "code");
    require(jit_options == 0, CUDA_ERROR_NOT_SUPPORTED, "JIT options");
    require(library_options == 0, CUDA_ERROR_NOT_SUPPORTED, "library options");
    auto loaded = std::make_shared<Library>();
    loaded->image = std::make_shared<HostImage>(code);
    loaded->kernel = call.state.add(call.state.kernels, loaded);
    result = call.state.add(call.state.libraries, loaded);
  });
}

// Waits for all work of the contexts that have its kernel, including other libraries' work, as driver 580 does.
// Libraries belong to no context, so a context's error is not returned here.
QUERN_HOST_ENTRY CUresult cuLibraryUnload(CUlibrary handle) {
  return guarded("cuLibraryUnload", Needs::init, [&](Call& call) {
    refuse_unsafe(call.state);
    const std::shared_ptr<Library> library = taken(call.state.libraries, handle, kLibrary);
    wait_for_contexts_of(call, *library);
    call.state.kernels.remove(library->kernel);
    call.state.functions.remove_if([&](const Function& function) { return function.library == library; });
  });
}

QUERN_HOST_ENTRY CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
  return guarded("cuLibraryGetKernel", Needs::healthy, [&](Call& call) {
    CUkernel& result = needed(kernel, "pKernel");
    need(name, "name");
    const std::shared_ptr<Library> library = known(call.state.libraries, handle, kLibrary);
    const char* const own = (*library->image)->kernel;
    if (std::strcmp(own, name) != 0)
      refuse(CUDA_ERROR_NOT_FOUND, quern::cat("the image has no kernel ", name, "; it has ", own));
    result = library->kernel;
  });
}

QUERN_HOST_ENTRY CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  return guarded("cuLibraryGetKernelCount", Needs::init, [&](Call& call) {
    known(call.state.libraries, handle, kLibrary);
    needed(count, "count") = 1;
  });
}

QUERN_HOST_ENTRY CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return guarded("cuKernelGetFunction", Needs::healthy, [&](Call& call) {
    CUfunction& result = needed(function, "pFunc");
    const std::shared_ptr<Library> library = known(call.state.kernels, kernel, "kernel, or its library was unloaded");
    result = make_function(call, library);
  });
}

QUERN_HOST_ENTRY CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return guarded("cuFuncGetAttribute", Needs::healthy, [&](Call& call) {
    needed(value, "pi") = function_attribute(call, *function_of(call, handle), attribute);
  });
}

QUERN_HOST_ENTRY CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return guarded("cuFuncSetAttribute", Needs::healthy, [&](Call& call) {
    const std::shared_ptr<Function> function = function_of(call, handle);
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return;  // a hint
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return set_dynamic_shared(call, *function, value);
    function_attribute(call, *function, attribute);  // refuses one that does not exist
    refuse(read_only(attribute) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED,
           quern::cat("setting the function attribute ", static_cast<int>(attribute)));
  });
}

QUERN_HOST_ENTRY CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads,
                                                                      std::size_t dynamic_shared_bytes) {
  return guarded("cuOccupancyMaxActiveBlocksPerMultiprocessor", Needs::healthy, [&](Call& call) {
    int& result = needed(blocks, "numBlocks");
    const std::shared_ptr<Function> function = function_of(call, handle);
    require(threads > 0, CUDA_ERROR_INVALID_VALUE, "blockSize must be positive");
    result = blocks_per_multiprocessor(*function, figures(call, *function), threads, dynamic_shared_bytes);
  });
}
