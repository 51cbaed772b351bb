// The kernel: moe/reorder.cuh, which the spec includes.
#include "chunk_sort/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::chunk_sort::Params) == quern::spec::params_bytes, "host and device disagree about Params");

// On sm_120a NVRTC of CUDA 12 spilled two registers to fit three blocks of the largest size on a multiprocessor.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
#define QUERN_CHUNK_SORT_BOUNDS __launch_bounds__(quern::spec::max_threads, 2)
#else
#define QUERN_CHUNK_SORT_BOUNDS __launch_bounds__(quern::spec::max_threads)
#endif

extern "C" __global__ void QUERN_CHUNK_SORT_BOUNDS
quern_chunk_sort(const __grid_constant__ quern::chunk_sort::Params params) {
  quern::moe::move_rows(params);
}
