// Where the rows of each chunk go: a table in shared memory, which each block makes from the sizes and the order
// (few_chunks.cuh or many_chunks.cuh).
#ifndef QUERN_MOE_CHUNKS_CUH_
#define QUERN_MOE_CHUNKS_CUH_

#include "common/shared.cuh"
#include "moe/rows.cuh"

namespace quern::moe {

// The first row of each chunk, and the end of the last; before that the sizes.
QUERN_DEVICE SharedWords first_rows() { return SharedWords(0); }
// Where the first row of each chunk goes, modulo 2^32.
QUERN_DEVICE SharedWords first_moved(const Params& p) { return SharedWords(p.chunks + 1); }
QUERN_DEVICE SharedLongs warp_sums(const Params& p) { return SharedLongs(p.chunks + 1); }

QUERN_DEVICE u32 load_index(const void* list, u32 i) {
  using Index = spec::Index;
  return static_cast<u32>(bit_cast<Index>(load<sizeof(Index), LoadHint::keep>(static_cast<const Index*>(list) + i)));
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
  return row - first.get(chunk) + first_moved(p).get(chunk);
}

}  // namespace quern::moe

#endif  // QUERN_MOE_CHUNKS_CUH_
