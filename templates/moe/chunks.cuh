// Where the rows of each chunk go: a table in shared memory, which each block makes from the sizes and the order.
#ifndef QUERN_MOE_CHUNKS_CUH_
#define QUERN_MOE_CHUNKS_CUH_

#include "common/reduce.cuh"
#include "moe/rows.cuh"

namespace quern::moe {

// The first row of each chunk, and the end of the last; before that the sizes.
QUERN_DEVICE SharedWords first_rows() { return SharedWords(0); }
// What is added to the rows of each chunk, modulo 2^32.
QUERN_DEVICE SharedWords shifts(const Params& p) { return SharedWords(p.chunks + 1); }
// The chunk that comes first, second and so on; p.chunks for one that does not exist.
QUERN_DEVICE SharedWords ordered(const Params& p) { return SharedWords(2 * p.chunks + 1); }
QUERN_DEVICE SharedWords warp_sums(const Params& p) { return SharedWords(3 * p.chunks + 1); }

QUERN_DEVICE u32 load_index(const void* list, u32 i) {
  using Index = spec::Index;
  return static_cast<u32>(bit_cast<Index>(load<sizeof(Index), LoadHint::keep>(static_cast<const Index*>(list) + i)));
}

// The chunks of a thread: adjacent ones, so that a sum over the threads below is one over the chunks before.
struct ChunkRange {
  u32 begin;
  u32 end;
};

QUERN_DEVICE ChunkRange chunks_of_thread(const Params& p) {
  const u32 each = (p.chunks + blockDim.x - 1) / blockDim.x, begin = threadIdx.x * each;
  return {begin < p.chunks ? begin : p.chunks, begin + each < p.chunks ? begin + each : p.chunks};
}

// The rows of the chunks in `order` before this thread's. `rows_of(i)`: of the i-th.
template <class RowsOf>
QUERN_DEVICE u32 rows_before(const Params& p, const ChunkRange& mine, const RowsOf& rows_of) {
  u32 own = 0;
#pragma unroll 1
  for (u32 i = mine.begin; i < mine.end; ++i) own += rows_of(i);
  const SharedWords sums = warp_sums(p);
  return block_prefix_sum(own, sums);
}

// Several loads of a thread are on their way at once.
QUERN_DEVICE void load_chunks(const Params& p) {
  constexpr u32 kAtOnce = 4;
#pragma unroll 1
  for (u32 first = threadIdx.x; first < p.chunks; first += kAtOnce * blockDim.x) {
    u32 sizes[kAtOnce] = {}, order[kAtOnce] = {};
#pragma unroll
    for (u32 i = 0; i < kAtOnce; ++i) {
      const u32 c = first + i * blockDim.x;
      if (c >= p.chunks) continue;
      sizes[i] = load_index(p.sizes, c);
      order[i] = load_index(p.order, c);
    }
#pragma unroll
    for (u32 i = 0; i < kAtOnce; ++i) {
      const u32 c = first + i * blockDim.x;
      if (c >= p.chunks) continue;
      first_rows().set(c, sizes[i]);
      ordered(p).set(c, order[i] < p.chunks ? order[i] : p.chunks);
    }
  }
}

// Makes first rows of the sizes.
QUERN_DEVICE void place_chunks(const Params& p, const ChunkRange& mine) {
  const SharedWords first = first_rows();
  u32 row = rows_before(p, mine, [&](u32 c) { return first.get(c); });
#pragma unroll 1
  for (u32 c = mine.begin; c < mine.end; ++c) {
    const u32 rows = first.get(c);
    first.set(c, row);
    row += rows;
  }
  if (mine.end == p.chunks && mine.begin < mine.end) first.set(p.chunks, row);
}

// Places the chunks in their new order.
QUERN_DEVICE void shift_chunks(const Params& p, const ChunkRange& mine) {
  const SharedWords first = first_rows();
  const auto size_of = [&](u32 c) { return c < p.chunks ? first.get(c + 1) - first.get(c) : 0; };
  u32 row = rows_before(p, mine, [&](u32 i) { return size_of(ordered(p).get(i)); });
#pragma unroll 1
  for (u32 i = mine.begin; i < mine.end; ++i) {
    const u32 c = ordered(p).get(i);
    if (c < p.chunks) shifts(p).set(c, row - first.get(c));
    row += size_of(c);
  }
}

QUERN_DEVICE void make_long_table(const Params& p) {
  const ChunkRange mine = chunks_of_thread(p);
  load_chunks(p);
  __syncthreads();
  place_chunks(p, mine);
  __syncthreads();
  shift_chunks(p, mine);
}

// ---- The table of few chunks: one warp makes it, without a barrier in between

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

QUERN_DEVICE void make_short_table(const Params& p) {
  const u32 begin = threadIdx.x * kLaneChunks;
  LaneWords sizes = {}, order, firsts, moved;
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
    firsts.of[j] = row;
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
    const u32 first = firsts.word(order.of[j]);
    if (order.of[j] < p.chunks) shifts(p).set(order.of[j], row - first);
    row += moved.of[j];
  }
}

// Sizes are not checked: reorder.cuh moves no row outside of the matrix, whatever they are.
QUERN_DEVICE void make_table(const Params& p) {
  if (p.chunks > kFewChunks) {
    make_long_table(p);
  } else if (threadIdx.x < 32) {
    make_short_table(p);
  }
  __syncthreads();
}

// Where a row goes, and where the gradient of a row comes from. Rows after the last chunk stay where they are.
QUERN_DEVICE u32 moved_row(const Params& p, u32 row) {
  const SharedWords first = first_rows();
  if (row >= first.get(p.chunks)) return row;
  u32 chunk = 0, end = p.chunks;  // the last one that begins at the row or before
#pragma unroll 1
  while (end - chunk > 1) {
    const u32 middle = (chunk + end) / 2;
    (first.get(middle) <= row ? chunk : end) = middle;
  }
  return row + shifts(p).get(chunk);
}

}  // namespace quern::moe

#endif  // QUERN_MOE_CHUNKS_CUH_
