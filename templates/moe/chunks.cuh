// Where the rows of each chunk go: a table in shared memory, which each block makes from the sizes and the order.
#ifndef QUERN_MOE_CHUNKS_CUH_
#define QUERN_MOE_CHUNKS_CUH_

#include "common/reduce.cuh"
#include "moe/rows.cuh"

namespace quern::moe {

// Of the dynamic shared memory: entry i of an array of words.
QUERN_DEVICE u32 get_word(u32 i) { return load_shared<4>(dynamic_shared() + i * 4).w[0]; }
QUERN_DEVICE void set_word(u32 i, u32 word) { store_shared<4>(dynamic_shared() + i * 4, Vector<4>{{word}}); }

// The first row of chunk c; of c == p.chunks the end of the last.
QUERN_DEVICE u32 first_row(u32 c) { return get_word(c); }
// What is added to a row of chunk c, modulo 2^32.
QUERN_DEVICE u32 shift_of(const Params& p, u32 c) { return get_word(p.chunks + 1 + c); }
QUERN_DEVICE void set_shift(const Params& p, u32 c, u32 shift) { set_word(p.chunks + 1 + c, shift); }

// For block_prefix_sum, after the table.
struct WarpSums {
  u32 first;

  QUERN_DEVICE u32 get(int i) const { return get_word(first + static_cast<u32>(i)); }
  QUERN_DEVICE void set(int i, u32 word) const { set_word(first + static_cast<u32>(i), word); }
};

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
  const WarpSums sums{2 * p.chunks + 1};
  return block_prefix_sum(own, sums);
}

// Sizes are not checked: reorder.cuh moves no row outside of the matrix, whatever they are.
QUERN_DEVICE void make_table(const Params& p) {
#pragma unroll 1
  for (u32 c = threadIdx.x; c < p.chunks; c += blockDim.x) set_word(c, load_index(p.sizes, c));
  __syncthreads();
  const ChunkRange mine = chunks_of_thread(p);
  u32 row = rows_before(p, mine, [](u32 c) { return get_word(c); });
#pragma unroll 1
  for (u32 c = mine.begin; c < mine.end; ++c) {
    const u32 rows = get_word(c);
    set_word(c, row);
    row += rows;
  }
  if (mine.end == p.chunks && mine.begin < mine.end) set_word(p.chunks, row);
  __syncthreads();
  const auto ordered = [&](u32 i) {
    const u32 c = load_index(p.order, i);
    return c < p.chunks ? c : p.chunks;
  };
  const auto size_of = [&](u32 c) { return c < p.chunks ? first_row(c + 1) - first_row(c) : 0; };
  row = rows_before(p, mine, [&](u32 i) { return size_of(ordered(i)); });
#pragma unroll 1
  for (u32 i = mine.begin; i < mine.end; ++i) {
    const u32 c = ordered(i);
    if (c < p.chunks) set_shift(p, c, row - first_row(c));
    row += size_of(c);
  }
  __syncthreads();
}

// Where a row goes, and where the gradient of a row comes from. Rows after the last chunk stay where they are.
QUERN_DEVICE u32 moved_row(const Params& p, u32 row) {
  if (row >= first_row(p.chunks)) return row;
  u32 chunk = 0, end = p.chunks;  // the last one that begins at the row or before
#pragma unroll 1
  while (end - chunk > 1) {
    const u32 middle = (chunk + end) / 2;
    (first_row(middle) <= row ? chunk : end) = middle;
  }
  return row + shift_of(p, chunk);
}

}  // namespace quern::moe

#endif  // QUERN_MOE_CHUNKS_CUH_
