// The table of many chunks: all threads of a block make it.
#ifndef QUERN_MOE_MANY_CHUNKS_CUH_
#define QUERN_MOE_MANY_CHUNKS_CUH_

#include "common/reduce.cuh"
#include "moe/chunks.cuh"

namespace quern::moe {

constexpr u32 kThreadChunks = spec::thread_chunks;  // the most

// Adjacent chunks of a thread, so that a sum over the threads below is one over the chunks before. Loops over them are
// unrolled: a thread waits for all of its loads at once.
struct ThreadChunks {
  u32 begin;
  u32 end;
  u32 sizes[kThreadChunks];
  u32 order[kThreadChunks];   // p.chunks for one that does not exist
  u32 placed[kThreadChunks];  // the sizes of the chunks in the new order

  QUERN_DEVICE bool has(u32 i) const { return begin + i < end; }
  // Both sums in one number.
  QUERN_DEVICE u64 sums() const {
    u32 old_rows = 0, new_rows = 0;
#pragma unroll
    for (u32 i = 0; i < kThreadChunks; ++i) {
      old_rows += sizes[i];
      new_rows += placed[i];
    }
    return u64{new_rows} << 32 | old_rows;
  }
};

QUERN_DEVICE ThreadChunks load_chunks(const Params& p) {
  const u32 each = (p.chunks + blockDim.x - 1) / blockDim.x, begin = threadIdx.x * each;
  ThreadChunks mine = {begin, begin + each < p.chunks ? begin + each : p.chunks, {}, {}, {}};
#pragma unroll
  for (u32 i = 0; i < kThreadChunks; ++i) {
    mine.order[i] = p.chunks;
    if (!mine.has(i)) continue;
    mine.sizes[i] = load_index(p.sizes, begin + i);
    mine.order[i] = load_index(p.order, begin + i);
  }
  return mine;
}

QUERN_DEVICE void make_table(const Params& p) {
  ThreadChunks mine = load_chunks(p);
  const SharedWords first = first_rows(), moved = first_moved(p);
#pragma unroll
  for (u32 i = 0; i < kThreadChunks; ++i) {
    if (mine.has(i)) first.set(mine.begin + i, mine.sizes[i]);
  }
  __syncthreads();
#pragma unroll
  for (u32 i = 0; i < kThreadChunks; ++i) {
    if (mine.order[i] < p.chunks) mine.placed[i] = first.get(mine.order[i]);
  }
  SharedLongs sums = warp_sums(p);
  const u64 before = block_prefix_sum(mine.sums(), sums);  // after its barrier all sizes have been read
  u32 row = static_cast<u32>(before), new_row = static_cast<u32>(before >> 32);
#pragma unroll
  for (u32 i = 0; i < kThreadChunks; ++i) {
    if (mine.has(i)) first.set(mine.begin + i, row);
    if (mine.order[i] < p.chunks) moved.set(mine.order[i], new_row);
    row += mine.sizes[i];
    new_row += mine.placed[i];
  }
  if (mine.end == p.chunks && mine.begin < mine.end) first.set(p.chunks, row);
  __syncthreads();
}

}  // namespace quern::moe

#endif  // QUERN_MOE_MANY_CHUNKS_CUH_
