// A thread block: its tokens, its shared memory, and how its lanes share the experts.
#ifndef QUERN_MOE_MAP_BLOCK_CUH_
#define QUERN_MOE_MAP_BLOCK_CUH_

#include "common/divide.cuh"
#include "common/reduce.cuh"
#include "moe_map/params.h"
#include "spec.cuh"

namespace quern::moe_map {

using namespace common;

constexpr u32 kAll = 0xffffffffu;
constexpr u32 kThreads = spec::max_threads, kWarps = kThreads / 32;

QUERN_DEVICE u32 lane() { return threadIdx.x % 32; }
QUERN_DEVICE u32 warp() { return threadIdx.x / 32; }
QUERN_DEVICE u32 lanes_below() { return (1u << lane()) - 1; }

QUERN_DEVICE u32 least(u32 a, u32 b) { return a < b ? a : b; }
QUERN_DEVICE u32 popc(u32 bits) { return static_cast<u32>(__popc(bits)); }
QUERN_DEVICE void put(int* to, u32 value) { store<4>(to, Vector<4>{{value}}); }

struct Tokens {
  u64 first;
  u32 count;
};

QUERN_DEVICE Tokens tokens_of_block(const Params& p) {
  const u64 first = static_cast<u64>(blockIdx.x) * p.block_tokens, left = static_cast<u64>(p.tokens) - first;
  return {first, left < p.block_tokens ? static_cast<u32>(left) : p.block_tokens};
}

QUERN_DEVICE int* row_ids(const Params& p, u64 token) { return p.row_id_map + token * (2 * p.experts + 1); }

// Of each warp: the routes of its experts, then their rows, then the dropped routes of its tokens.
QUERN_DEVICE SharedWords sums_of_warps(u32 which) { return SharedWords(which * 32); }
// Of each expert: the block's first row, counted from the first row of the expert's warp.
QUERN_DEVICE SharedWords first_rows(const Params& p) { return SharedWords(p.places.experts); }
// The padding rows before each expert, counted from the expert's warp.
QUERN_DEVICE SharedWords padding_before(const Params& p) { return SharedWords(p.places.padding); }

// Whether row_tokens goes through shared memory.
QUERN_DEVICE bool is_staged(const Params& p) { return spec::one_block && p.staged != 0; }

// A warp has kWarpExperts consecutive experts, and kShares lanes for each, which divide the work on it.
constexpr u32 kWarpExperts = spec::warp_experts, kShares = 32 / kWarpExperts;

struct ExpertLane {
  u32 expert;
  u32 share;
  bool exists;

  QUERN_DEVICE bool first() const { return exists && share == 0; }
};

// Of an expert: the routes of all blocks, and of those before this one.
struct Counted {
  u32 all;
  u32 before;
};

QUERN_DEVICE ExpertLane expert_of_lane(const Params& p) {
  const u32 expert = warp() * kWarpExperts + lane() % kWarpExperts;
  return {expert, lane() / kWarpExperts, expert < p.experts};
}

// The sum over the lanes of an expert, in all of them.
QUERN_DEVICE u32 sum_of_shares(u32 mine) {
#pragma unroll
  for (u32 distance = kWarpExperts; distance < 32; distance *= 2)
    mine += __shfl_xor_sync(kAll, mine, static_cast<int>(distance));
  return mine;
}

// The sum over the lanes of an expert up to this one.
QUERN_DEVICE u32 sum_up_to_share(u32 mine) {
#pragma unroll
  for (u32 distance = kWarpExperts; distance < 32; distance *= 2) {
    const u32 below = __shfl_up_sync(kAll, mine, distance);
    if (lane() >= distance) mine += below;
  }
  return mine;
}

// Of this lane's expert, what its last lane has.
QUERN_DEVICE u32 of_last_share(u32 mine) {
  return __shfl_sync(kAll, mine, static_cast<int>(32 - kWarpExperts + lane() % kWarpExperts));
}

// The sum of what this lane's expert and the warp's earlier experts have.
QUERN_DEVICE u32 sum_up_to_expert(u32 mine) {
#pragma unroll
  for (u32 distance = 1; distance < kWarpExperts; distance *= 2) {
    const u32 below = __shfl_up_sync(kAll, mine, distance, static_cast<int>(kWarpExperts));
    if (lane() % kWarpExperts >= distance) mine += below;
  }
  return mine;
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_BLOCK_CUH_
