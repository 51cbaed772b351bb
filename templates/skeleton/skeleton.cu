// One warp a row; in a persistent kernel a warp goes on to further rows, and the grid has as many blocks as the device
// runs at once. A lane takes every 32nd chunk of 16 bytes and adds its elements one by one; then the 32 sums are
// added in a fixed tree. Which lane adds what, and in which order, follows from width and dtype alone: `vector` only
// says how a chunk is read and `unroll` how many are read ahead, so no config changes a bit of the result.
#include "common/numbers.cuh"
#include "common/reduce.cuh"
#include "common/vector.cuh"
#include "skeleton/params.h"
#include "spec.cuh"  // generated: what `specialize` in skeleton.cpp wrote

namespace quern::skeleton {

using namespace common;

static_assert(sizeof(Params) == spec::params_bytes, "host and device disagree about Params");

using Element = spec::Element;
constexpr int kChunkBytes = 16;
constexpr int kChunk = kChunkBytes / sizeof(Element);
constexpr int kVectors = kChunkBytes / spec::vector;  // reads a chunk
constexpr int kElements = spec::vector / sizeof(Element);
constexpr i64 kStep = 32 * kChunk;  // from one chunk of a lane to the next
// Narrow reads come back to a cache line, so it has to stay.
constexpr LoadHint kLoad = spec::vector == kChunkBytes ? LoadHint::once : LoadHint::plain;

struct Chunk {
  Vector<spec::vector> vectors[kVectors];
};

// What lies beyond the row is zero: adding it changes nothing, since a sum that starts at +0 never becomes -0.
__device__ __forceinline__ Chunk load_chunk(const Element* row, i64 column, i64 width) {
  Chunk chunk = {};
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const i64 at = column + i * kElements;  // a vector divides the row, so it lies inside or outside as a whole
    if (at < width) chunk.vectors[i] = load<spec::vector, kLoad>(row + at);
  }
  return chunk;
}

__device__ __forceinline__ float add_chunk(float sum, const Chunk& chunk) {
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    float values[kElements];
    unpack<Element, kElements>(chunk.vectors[i], values);
#pragma unroll
    for (int e = 0; e < kElements; ++e) sum += values[e];
  }
  return sum;
}

__device__ __forceinline__ float lane_sum(const Element* row, i64 width, int lane) {
  float sum = 0;
  for (i64 column = lane * kChunk; column < width; column += kStep * spec::unroll) {
    Chunk chunks[spec::unroll];
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) chunks[i] = load_chunk(row, column + i * kStep, width);
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) sum = add_chunk(sum, chunks[i]);
  }
  return sum;
}

__device__ __forceinline__ void sum_rows(const Params& p) {
  const int lane = threadIdx.x % 32;
  const i64 warps = blockDim.x / 32;  // of a block
  i64 row = static_cast<i64>(blockIdx.x) * warps + threadIdx.x / 32;
  if (row >= p.rows) return;  // the warp as a whole, as the reduction needs all its lanes
  do {
    const float sum = warp_sum(lane_sum(static_cast<const Element*>(p.x) + row * p.width, p.width, lane));
    if (lane == 0) store<sizeof(float)>(static_cast<float*>(p.out) + row, bit_cast<Vector<sizeof(float)>>(sum));
    row += gridDim.x * warps;
  } while (spec::persistent && row < p.rows);
}

}  // namespace quern::skeleton

// The runtime looks for "quern_" and the family's name; one parameter.
extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_skeleton(const __grid_constant__ quern::skeleton::Params params) {
  quern::skeleton::sum_rows(params);
}
