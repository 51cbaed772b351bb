// Rows of equal indices are added up in fp32: 32 consecutive ones of a segment are a group, and 32 groups a chunk. A
// group adds its rows in order, a chunk its groups, and the segment its chunks. A segment of one group is done by the
// threads that read its rows; scatter/tree.cuh does longer ones.
#ifndef QUERN_SCATTER_SUMS_CUH_
#define QUERN_SCATTER_SUMS_CUH_

#include "scatter/sorted.cuh"
#include "scatter/tree.cuh"

namespace quern::scatter {

constexpr u32 kBatch = spec::batch;

// Rows of a segment that are added in order.
struct Group {
  i64 first;  // place
  u32 count;  // up to kRowsOfGroup
};

// All rows of a batch are read before the first is added.
QUERN_DEVICE void add_batch(const Params& p, const Group& rows, u32 begin, const OutRow& out, const Part& part,
                            float (&sums)[kUnroll][kElements]) {
  Column columns[kBatch][kUnroll] = {};
  float scales[kBatch];
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) {
    if (begin + i >= rows.count) continue;
    const u64 position = position_at(p, rows.first + begin + i);
    const u8* const row = source_row(p, position);
    scales[i] = row_scale(p, position);
#pragma unroll
    for (u32 u = 0; u < kUnroll; ++u) {
      const i64 byte = out.byte(part.column(u));
      if (byte < p.row_bytes) read(p, row, byte, columns[i][u]);
    }
  }
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) {
    if (begin + i >= rows.count) continue;
#pragma unroll
    for (u32 u = 0; u < kUnroll; ++u) {
      float values[kElements];
      unpack<Element, kElements>(columns[i][u].value(), values);
#pragma unroll
      for (int e = 0; e < kElements; ++e) sums[u][e] = plus(sums[u][e], values[e], scales[i]);
    }
  }
}

// The segment that a group at place `at` of a window belongs to, of more than one group. Its head is known.
QUERN_DEVICE Segment segment_of(const Params& p, i64 head, const Window& window, u32 at) {
  const u64 later = window.heads >> (at + 1);
  if (later != 0) return {head, window.first + at + 64 - __clzll(static_cast<i64>(later & (0 - later)))};
  return {head, first_at_least(p, row_at(p, head) + 1, window.first + 64, p.count)};
}

// Of a segment of more than one group, once its sum is known.
QUERN_DEVICE void finish(const Params& p, const OutRow& out, i64 byte, float sum) {
  Vector<kElementBytes> old;
  if constexpr (!spec::zeroes) old = load<kElementBytes>(out.data + byte);
  const float sums[1] = {sum};
  store<kElementBytes>(out.data + byte, added<kElementBytes>(p, byte, sums, old));
}

// `head`: of the segment if it has more than one group, else -1.
QUERN_DEVICE void add_group(const Params& p, const Window& window, u32 at, const Group& rows, i64 head,
                            const Part& part) {
  const OutRow out = {out_row(p, row_at(p, rows.first))};
  Vector<kVector> old[kUnroll];
  if constexpr (!spec::zeroes) {
#pragma unroll
    for (u32 u = 0; u < kUnroll; ++u) {
      const i64 byte = out.byte(part.column(u));
      if (head < 0 && byte < p.row_bytes) old[u] = old_column(p, out, byte);
    }
  }
  float sums[kUnroll][kElements];
#pragma unroll
  for (u32 u = 0; u < kUnroll; ++u) clear(sums[u]);
#pragma unroll 1
  for (u32 begin = 0; begin < rows.count; begin += kBatch) add_batch(p, rows, begin, out, part, sums);
  if (head >= 0) {
    return add_to_segment(p, segment_of(p, head, window, at), rows.first, out, part, sums,
                          [&](i64 byte, float sum) { finish(p, out, byte, sum); });
  }
#pragma unroll
  for (u32 u = 0; u < kUnroll; ++u) {
    const i64 byte = out.byte(part.column(u));
    if (byte < p.row_bytes) write(p, out, byte, added<kVector>(p, byte, sums[u], old[u]));
  }
}

// The head of the segment that began before the window.
QUERN_DEVICE i64 head_of_first(const Params& p, const Window& window, i64 row) {
  if (window.heads_before != 0) return window.first - 1 - __clz(static_cast<int>(window.heads_before));
  return first_at_least(p, row, 0, window.first - 32);
}

// Groups begin at the heads of segments, and once at most in one that began before the window.
QUERN_DEVICE void put_window(const Params& p, const Window& window, const Part& part) {
  const u32 named = __ballot_sync(0xffffffffu, is_row(window.row)) & kOwnPlaces;
  const i64 row_of_first = __shfl_sync(0xffffffffu, window.row, 0);
  const u32 heads = static_cast<u32>(window.heads);
  i64 before = -1;
  u32 later = 0;  // a mask of the group that is not the first of its segment
  if ((heads & 1) == 0 && (named & 1) != 0) {
    before = head_of_first(p, window, row_of_first);
    const u32 at = static_cast<u32>(before - window.first) % kRowsOfGroup;
    if ((heads & ((2u << at) - 1)) == 0) later = 1u << at & kOwnPlaces;
  }
#pragma unroll 1
  for (u32 left = without_lowest((heads & named) | later, group_of_warp()); left != 0;
       left = without_lowest(left, kGroups)) {
    const u32 at = lowest(left), next = static_cast<u32>(window.heads >> (at + 1));
    const Group group = {window.first + at, next == 0 ? kRowsOfGroup : lowest(next) + 1};
    add_group(p, window, at, group, (later >> at & 1) != 0 ? before : next == 0 ? group.first : -1, part);
  }
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_SUMS_CUH_
