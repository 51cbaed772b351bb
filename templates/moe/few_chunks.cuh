// The table of few chunks: one warp makes it, without a barrier in between.
#ifndef QUERN_MOE_FEW_CHUNKS_CUH_
#define QUERN_MOE_FEW_CHUNKS_CUH_

#include "common/reduce.cuh"
#include "moe/chunks.cuh"

namespace quern::moe {

constexpr u32 kLaneChunks = kFewChunks / 32;  // adjacent ones

// Words of a lane's chunks.
struct LaneWords {
  u32 of[kLaneChunks];

  // The sum of the lanes below.
  QUERN_DEVICE u32 before() const {
    u32 own = 0;
#pragma unroll
    for (u32 j = 0; j < kLaneChunks; ++j) own += of[j];
    return warp_prefix_sum(own) - own;
  }
  // The word of any chunk. All lanes ask.
  QUERN_DEVICE u32 word(u32 chunk) const {
    u32 word = 0;
#pragma unroll
    for (u32 j = 0; j < kLaneChunks; ++j) {
      const u32 theirs = __shfl_sync(0xffffffffu, of[j], static_cast<int>(chunk / kLaneChunks % 32));
      if (chunk % kLaneChunks == j) word = theirs;
    }
    return word;
  }
};

QUERN_DEVICE void make_few(const Params& p) {
  const u32 begin = threadIdx.x * kLaneChunks;
  LaneWords sizes = {}, order, moved;
#pragma unroll
  for (u32 j = 0; j < kLaneChunks; ++j) {
    order.of[j] = p.chunks;
    if (begin + j >= p.chunks) continue;
    sizes.of[j] = load_index(p.sizes, begin + j);
    order.of[j] = load_index(p.order, begin + j);
  }
  u32 row = sizes.before();
#pragma unroll
  for (u32 j = 0; j < kLaneChunks; ++j) {
    if (begin + j < p.chunks) first_rows().set(begin + j, row);
    row += sizes.of[j];
  }
  if (threadIdx.x == 31) first_rows().set(p.chunks, row);
#pragma unroll
  for (u32 j = 0; j < kLaneChunks; ++j) {
    const u32 size = sizes.word(order.of[j]);
    moved.of[j] = order.of[j] < p.chunks ? size : 0;
  }
  row = moved.before();
#pragma unroll
  for (u32 j = 0; j < kLaneChunks; ++j) {
    if (order.of[j] < p.chunks) first_moved(p).set(order.of[j], row);
    row += moved.of[j];
  }
}

QUERN_DEVICE void make_table(const Params& p) {
  if (threadIdx.x < 32) make_few(p);
  __syncthreads();
}

}  // namespace quern::moe

#endif  // QUERN_MOE_FEW_CHUNKS_CUH_
