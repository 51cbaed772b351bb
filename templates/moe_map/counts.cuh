// The kernel for a map of counts, as torchtitan's generate_permute_indices takes it. Tokens are sorted by rank, then by
// expert. A run is the tokens of an expert on a rank: they keep their order and have consecutive rows. Each block makes
// the table of all runs, so that no block waits for another.
#ifndef QUERN_MOE_MAP_COUNTS_CUH_
#define QUERN_MOE_MAP_COUNTS_CUH_

#include "moe_map/pads.cuh"

namespace quern::moe_map {

// The first token of each run, and the end of the last.
QUERN_DEVICE SharedWords first_tokens(const Params& p) { return SharedWords(p.places.runs); }
// The first row of each run, counted from the first row of its expert.
QUERN_DEVICE SharedWords run_rows(const Params& p) { return SharedWords(p.places.runs + p.runs + 1); }

// A negative count is 0.
QUERN_DEVICE u32 load_count(const Params& p, u32 run) {
  using Index = spec::Index;
  const i64 count = bit_cast<Index>(load<sizeof(Index), LoadHint::keep>(static_cast<const Index*>(p.map) + run));
  return count < 0 ? 0 : count > 0x7fffffff ? 0x7fffffffu : static_cast<u32>(count);
}

// A token, or the end of those that exist.
QUERN_DEVICE u32 existing(const Params& p, u64 token) {
  return static_cast<u32>(token < static_cast<u64>(p.tokens) ? token : static_cast<u64>(p.tokens));
}

// Counts may be wrong: tokens that do not exist are in no run. The last thread leaves their number to thread 0.
QUERN_DEVICE void place_runs(const Params& p) {
  const u32 each = (p.runs + kThreads - 1) / kThreads;
  const u32 begin = least(threadIdx.x * each, p.runs), end = least(begin + each, p.runs);
  const SharedWords first = first_tokens(p);
  u64 own = 0;
#pragma unroll 4
  for (u32 run = begin; run < end; ++run) {
    const u32 count = load_count(p, run);
    first.set(run, count);
    own += count;
  }
  const SharedLongs sums(0);  // more than 32 bits, where the counts are wrong
  u64 token = block_prefix_sum(own, sums);
#pragma unroll 1
  for (u32 run = begin; run < end; ++run) {
    const u32 count = first.get(run);
    first.set(run, existing(p, token));
    token += count;
  }
  if (threadIdx.x != kThreads - 1) return;
  const u32 last = existing(p, token);
  first.set(p.runs, last);
  const u64 dropped = token - last, most = 0x7fffffffu - last;
  sums_of_warps(2).set(0, static_cast<u32>(dropped < most ? dropped : most));
}

QUERN_DEVICE u32 tokens_of_run(const Params& p, u32 run) {
  return first_tokens(p).get(run + 1) - first_tokens(p).get(run);
}

// Of each expert, one rank's tokens after the other's. The lanes of an expert divide the ranks. Returns the tokens of
// this lane's expert.
QUERN_DEVICE u32 rank_runs(const Params& p, const ExpertLane& e) {
  const u32 each = (p.ranks + kShares - 1) / kShares;
  const u32 begin = least(e.share * each, p.ranks), end = e.exists ? least(begin + each, p.ranks) : begin;
  u32 own = 0;
#pragma unroll 4
  for (u32 rank = begin; rank < end; ++rank) own += tokens_of_run(p, rank * p.experts + e.expert);
  const u32 up_to = sum_up_to_share(own);
  u32 row = up_to - own;
#pragma unroll 4
  for (u32 rank = begin; rank < end; ++rank) {
    const u32 run = rank * p.experts + e.expert;
    run_rows(p).set(run, row);
    row += tokens_of_run(p, run);
  }
  return of_last_share(up_to);
}

// The run of a token that has one: the last one that begins there or before.
QUERN_DEVICE u32 run_of(const Params& p, u32 token) {
  u32 run = 0, end = p.runs;
#pragma unroll 1
  while (end - run > 1) {
    const u32 middle = (run + end) / 2;
    (first_tokens(p).get(middle) <= token ? run : end) = middle;
  }
  return run;
}

// Some tokens of a run, and their rows.
QUERN_DEVICE void write_run(const Params& p, u32 token, u32 row, u32 count) {
  const u32 kept = row < p.capacity ? least(count, p.capacity - row) : 0;
  if (kept != 0) {
    write_range(p.row_tokens + row, kept, token, 1, of_warp());
    write_range(p.token_rows + token, kept, row, 1, of_warp());
  }
  if (kept != count) write_range(p.token_rows + (token + kept), count - kept, ~0u, 0, of_warp());
}

// A warp has consecutive tokens. Those after the last run have no route.
QUERN_DEVICE void write_runs(const Params& p, const Rows& rows) {
  const SharedWords first = first_tokens(p);
  u32 token = existing(p, (static_cast<u64>(blockIdx.x) * kWarps + warp()) * p.warp_tokens);
  const u32 end = existing(p, static_cast<u64>(token) + p.warp_tokens), routed = least(end, first.get(p.runs));
#pragma unroll 1
  for (u32 run = run_of(p, token); token < routed; ++run) {
    const u32 count = least(first.get(run + 1), routed) - token, expert = run % p.experts;
    const u32 row = rows.rows_before_warp_of(expert) + first_rows(p).get(expert) + run_rows(p).get(run);
    write_run(p, token, row + (token - first.get(run)), count);
    token += count;
  }
  if (token < end) write_range(p.token_rows + token, end - token, ~0u, 0, of_warp());
}

QUERN_DEVICE void map_tokens(const Params& p) {
  const ExpertLane expert = expert_of_lane(p);
  place_runs(p);
  __syncthreads();
  const Rows rows = place_experts(p, expert, {rank_runs(p, expert), 0});
  write_runs(p, rows);
  if (blockIdx.x == 0) write_counts(p, expert, rows, threadIdx.x == 0 ? sums_of_warps(2).get(0) : 0);
  write_pads(p, expert, rows.expert);
  write_tail(p, rows.all);
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_COUNTS_CUH_
