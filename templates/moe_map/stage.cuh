// One block writes row_tokens to shared memory first, where it fits, and from there 16 bytes at a time.
#ifndef QUERN_MOE_MAP_STAGE_CUH_
#define QUERN_MOE_MAP_STAGE_CUH_

#include "moe_map/ranges.cuh"

namespace quern::moe_map {

// Begins as far from a multiple of 16 bytes as row_tokens, so that both have whole vectors at the same rows.
QUERN_DEVICE u8* staged_rows(const Params& p) { return dynamic_shared() + (p.places.rows + skew_of(p.row_tokens)) * 4; }

QUERN_DEVICE void clear_stage(const Params& p) {
  if (!is_staged(p)) return;
  const u32 vectors = (skew_of(p.row_tokens) + p.capacity + 3) / 4;
#pragma unroll 1
  for (u32 i = threadIdx.x; i < vectors; i += kThreads)
    store_shared<16>(dynamic_shared() + p.places.rows * 4 + i * 16, Vector<16>{{~0u, ~0u, ~0u, ~0u}});
}

QUERN_DEVICE void put_row_token(const Params& p, u32 row, u32 token) {
  if (is_staged(p)) {
    store_shared<4>(staged_rows(p) + u64{row} * 4, Vector<4>{{token}});
  } else {
    put(p.row_tokens + row, token);
  }
}

QUERN_DEVICE void write_stage(const Params& p) {
  if (!is_staged(p)) return;
  __syncthreads();
  const u8* const rows = staged_rows(p);
  write_words(p.row_tokens, p.capacity, of_block(), [&](i64 i) { return load_shared<16>(rows + i * 4); });
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_STAGE_CUH_
