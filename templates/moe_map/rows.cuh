// The rows of each expert, and the padding rows.
#ifndef QUERN_MOE_MAP_ROWS_CUH_
#define QUERN_MOE_MAP_ROWS_CUH_

#include "moe_map/exchange.cuh"

namespace quern::moe_map {

QUERN_DEVICE u32 least(u32 a, u32 b) { return a < b ? a : b; }

QUERN_DEVICE u32 padded(const Params& p, u32 count) {
  if (spec::fill_empty && count == 0) count = 1;
  return static_cast<u32>(divide(u64{count} + p.align - 1, p.by_align)) * p.align;
}

template <class T>
QUERN_DEVICE void put_count(void* counts, u32 at, u32 count) {
  store<sizeof(T)>(static_cast<T*>(counts) + at, bit_cast<Vector<sizeof(T)>>(static_cast<T>(count)));
}

// The rows of this thread's expert.
struct ExpertRows {
  u32 first;
  u32 routes;
  u32 rows;           // with padding
  u32 routes_before;  // of earlier experts
};

// Of all experts.
struct AllRows {
  u32 rows;
  u32 routes;
  u32 kept;  // routes within the capacity
};

QUERN_DEVICE void put_pad(const Params& p, u32 row, u32 at) {
  put(p.row_tokens + row, ~0u);
  if constexpr (spec::pads) put(p.pads + at, row);
}

// The padding rows of an expert are written by one warp of one block.
QUERN_DEVICE void write_pads(const Params& p, const ExpertRows& e) {
  const bool mine = threadIdx.x < p.experts && threadIdx.x % gridDim.x == blockIdx.x && e.rows != e.routes;
  u32 left = __ballot_sync(kAll, static_cast<int>(mine));
  for (; left != 0; left &= left - 1) {
    const int from = __ffs(static_cast<int>(left)) - 1;
    const u32 end = __shfl_sync(kAll, least(e.first + e.rows, p.capacity), from);
    const u32 routes_before = __shfl_sync(kAll, e.routes_before + e.routes, from);
    for (u32 row = __shfl_sync(kAll, e.first + e.routes, from) + lane(); row < end; row += 32)
      put_pad(p, row, row - routes_before);
  }
}

QUERN_DEVICE u32 pad_count(const Params& p, const AllRows& all) {
  return (spec::list_tail ? p.capacity : least(all.rows, p.capacity)) - all.kept;
}

// The unused rows after the last expert, and the rest of `pads`.
QUERN_DEVICE void write_tail(const Params& p, const AllRows& all) {
  const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  for (u32 row = all.rows + thread; row < p.capacity; row += threads) {
    put(p.row_tokens + row, ~0u);
    if constexpr (spec::list_tail) put(p.pads + (row - all.routes), row);
  }
  if constexpr (spec::pads) {
    for (u32 at = pad_count(p, all) + thread; at < p.capacity; at += threads) put(p.pads + at, ~0u);
  }
}

QUERN_DEVICE void write_counts(const Params& p, const ExpertRows& e, const AllRows& all) {
  using Offset = spec::Offset;
  if (threadIdx.x < p.experts) {
    put_count<Offset>(p.counts, threadIdx.x, e.routes);
    put_count<Offset>(p.offsets, threadIdx.x, e.first);
  }
  if (threadIdx.x != 0) return;
  put_count<Offset>(p.offsets, p.experts, all.rows);
  put(p.totals, all.rows);
  put(p.totals + 1, spec::pads ? pad_count(p, all) : 0);
  put(p.totals + 2, all.routes - all.kept + (kLimitsRoutes ? counted(p, p.experts).all : 0));
}

// Computes the row of this block's first route of each expert, for write_routes, and writes counts and padding rows.
QUERN_DEVICE void place_experts(const Params& p) {
  const u32 e = threadIdx.x;
  const bool mine = e < p.experts;
  const Counted own = mine ? counted(p, e) : Counted{};
  const u32 counts[] = {own.all, mine ? padded(p, own.all) : 0};
  PrefixSum sums[2];
  block_prefix_sums(p, counts, sums);
  const ExpertRows rows = {sums[1].before, own.all, counts[1], sums[0].before};
  const u32 kept[] = {least(rows.first + rows.routes, p.capacity) - least(rows.first, p.capacity)};
  PrefixSum all_kept[1];
  block_prefix_sums(p, kept, all_kept);
  const AllRows all = {sums[1].all, sums[0].all, all_kept[0].all};
  if (blockIdx.x == 0) write_counts(p, rows, all);
  write_pads(p, rows);
  write_tail(p, all);
  __syncthreads();  // thread 0 has read the block's counts
  if (mine) experts_of_block().set(e, rows.first + own.before);
  if (mine && spec::row_id_map) padding_before(p).set(e, rows.first - rows.routes_before);
  __syncthreads();
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_ROWS_CUH_
