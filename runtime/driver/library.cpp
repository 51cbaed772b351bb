#include "driver/library.h"

#include "driver/capture_mode.h"

namespace quern {

Library::Library(std::shared_ptr<const Driver> driver, const std::string& image, const std::string& kernel)
    : driver_(std::move(driver)) {
  const Driver& d = *driver_;
  const RelaxedCaptureMode relaxed(d);
  d.check(d->LibraryLoadData(&library_, image.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0), Stage::load,
          "cuLibraryLoadData");
  try {
    CUkernel handle = nullptr;
    d.check(d->LibraryGetKernel(&handle, library_, kernel.c_str()), Stage::load, "cuLibraryGetKernel");
    d.check(d->KernelGetFunction(&function_, handle), Stage::load, "cuKernelGetFunction");
  } catch (...) {
    d->LibraryUnload(library_);
    throw;
  }
}

Library::~Library() {
  if (!driver_->may_release()) return;
  const RelaxedCaptureMode relaxed(*driver_);
  (*driver_)->LibraryUnload(library_);
}

CUresult Library::raise_shared_limit(std::uint32_t bytes) const {
  const CUresult result =
      (*driver_)->FuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes));
  if (result != CUDA_SUCCESS) return result;
  std::uint32_t before = shared_limit_.load(std::memory_order_relaxed);
  while (before < bytes && !shared_limit_.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
  }
  return result;
}

int Library::attribute(CUfunction_attribute which) const {
  int value = 0;
  driver_->check((*driver_)->FuncGetAttribute(&value, which, function_), Stage::load, "cuFuncGetAttribute");
  return value;
}

int Library::blocks_per_multiprocessor(int threads, std::size_t shared_bytes) const {
  int blocks = 0;
  driver_->check((*driver_)->OccupancyMaxBlocks(&blocks, function_, threads, shared_bytes), Stage::load,
                 "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return blocks;
}

bool image_rejected(CUresult result) {
  return result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
         result == CUDA_ERROR_INVALID_SOURCE || result == CUDA_ERROR_NOT_FOUND || result == CUDA_ERROR_INVALID_PTX ||
         result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

}  // namespace quern
