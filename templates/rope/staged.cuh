// The staged form, for heads whose parts no wide access divides: a block reads a run of heads into shared memory in
// wide accesses, rotates it there, and writes it in wide accesses.
//
// It has all of the run before it writes any of it, and no other block reads or writes there: it is safe in place in
// any order of blocks. In shared memory a thread has both elements of its pairs.
#ifndef QUERN_ROPE_STAGED_CUH_
#define QUERN_ROPE_STAGED_CUH_

#include "rope/pairs.cuh"
#include "rope/runs.cuh"

namespace quern::rope {

// Heads of one token, of which a thread has one unit: it reads or computes the angles once.
struct Share {
  u32 number;  // of the thread's heads and unit, in the block
  u32 begin;   // heads of the run
  u32 heads;
  bool exists;
  Row row;  // the first head
};

// Adjacent threads have adjacent units, then the next heads.
QUERN_DEVICE u32 first_head(const StagedParams& p, u32 number) { return number / kRotatedUnits * p.heads_of_thread; }

QUERN_DEVICE Share share_at(const StagedParams& p, const Run& run, u32 number, u32 begin) {
  const AxesOf<64>& axes = runs_of(p, run.tensor).axes;
  Share share = {number, begin, 1, begin < run.heads, row_after(axes, run.first, begin)};
  if constexpr (spec::head_axis == 0) {
    const u32 end = first_head(p, number) + p.heads_of_thread, left = (end < run.heads ? end : run.heads) - begin;
    const i64 of_token = axes.extents[0] - share.row.at[0];
    share.heads = of_token < left ? static_cast<u32>(of_token) : left;
  }
  return share;
}

// The thread's next heads of the same unit, or a unit of others.
QUERN_DEVICE Share next_share(const StagedParams& p, const Run& run, const Share& share) {
  const u32 begin = share.begin + share.heads, end = first_head(p, share.number) + p.heads_of_thread;
  if (begin < end && begin < run.heads) return share_at(p, run, share.number, begin);
  const u32 number = share.number + blockDim.x;
  return share_at(p, run, number, first_head(p, number));
}

struct Turn {
  Unit unit;
  bool rotates;
  Angles angles;
};

QUERN_DEVICE Turn turn_of(const Params& p, const Share& share) {
  Turn turn = {rotating_unit(share.number % kRotatedUnits), false, {}};
  if (!share.exists) return turn;
  const Position position = position_of(p, share.row.batch(), share.row.token());
  turn.rotates = position.rotates;
  if (turn.rotates) turn.angles = angles_at(p, position, turn.unit);
  return turn;
}

QUERN_DEVICE Values rotated(const Values& values, const Angles& angles) {
  float low[kElements], high[kElements];
  unpack<Element, kElements>(values.low, low);
  unpack<Element, kElements>(values.high, high);
  rotate_pairs(low, high, angles);
  return {pack<Element, kElements>(low), pack<Element, kElements>(high)};
}

// Of `count` heads at most spec::unroll: all are read before the first is written.
QUERN_DEVICE void rotate_in_shared(u32 head, u32 count, const Unit& unit, const Angles& angles) {
  u8* const low = staged(head * kHeadBytes + unit.low * sizeof(Element));
  u8* const high = staged(head * kHeadBytes + unit.high * sizeof(Element));
  Values values[spec::unroll] = {};
  QUERN_UNROLL for (u32 i = 0; i < spec::unroll; ++i) {
    if (i < count) values[i].low = load_shared<spec::vector>(low + i * kHeadBytes);
    if (i < count && unit.has_high) values[i].high = load_shared<spec::vector>(high + i * kHeadBytes);
  }
  QUERN_UNROLL for (u32 i = 0; i < spec::unroll; ++i) {
    if (i >= count) continue;
    const Values done = rotated(values[i], angles);
    store_shared<spec::vector>(low + i * kHeadBytes, done.low);
    if (unit.has_high) store_shared<spec::vector>(high + i * kHeadBytes, done.high);
  }
}

QUERN_DEVICE void rotate_share(const Share& share, const Turn& turn) {
  if (!turn.rotates) return;
#pragma unroll 1
  for (u32 done = 0; done < share.heads; done += spec::unroll)
    rotate_in_shared(share.begin + done, share.heads - done, turn.unit, turn.angles);
}

// The first angles are read while the first accesses of the run are in flight.
QUERN_DEVICE void rotate_staged(const StagedParams& p) {
  const Run run = run_of_block(p);
  const Moves moves = read_global(run, 0);
  Share share = share_at(p, run, threadIdx.x, first_head(p, threadIdx.x));
  Turn turn = turn_of(p.all, share);
  write_shared(run, 0, moves);
  read_rest(run);
  __syncthreads();
#pragma unroll 1
  while (share.exists) {
    rotate_share(share, turn);
    share = next_share(p, run, share);
    turn = turn_of(p.all, share);
  }
  __syncthreads();
  write_run(p, run);
}

using KernelParams = StagedParams;
QUERN_DEVICE void rotate(const StagedParams& p) { rotate_staged(p); }

}  // namespace quern::rope

#endif  // QUERN_ROPE_STAGED_CUH_
