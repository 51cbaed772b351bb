// Rows of equal indices are added up in fp32: 32 consecutive ones of a segment are a group, and 32 groups a chunk. A
// group adds its rows in order, a chunk its groups, and the segment its chunks. A segment of one group is done by the
// threads that read its rows; scatter/tree.cuh does longer ones.
#ifndef QUERN_SCATTER_SUMS_CUH_
#define QUERN_SCATTER_SUMS_CUH_

#include "scatter/sorted.cuh"
#include "scatter/tree.cuh"

namespace quern::scatter {

constexpr u32 kBatch = spec::batch;

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

// Of a segment of more than one group, once its sum is known.
QUERN_DEVICE void finish(const Params& p, const OutRow& out, i64 byte, float sum) {
  Vector<kElementBytes> old;
  if constexpr (!spec::zeroes) old = load<kElementBytes>(out.data + byte);
  const float sums[1] = {sum};
  store<kElementBytes>(out.data + byte, added<kElementBytes>(p, byte, sums, old));
}

// `head`: of the segment if it has more than one group, else -1.
QUERN_DEVICE void add_group(const Params& p, const SortedWindow& window, u32 at, const Group& rows, i64 head,
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

QUERN_DEVICE void put_window(const Params& p, const SortedWindow& window, const Part& part) {
  for_groups(p, window, [&](u32 at, const Group& rows, i64 head) { add_group(p, window, at, rows, head, part); });
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_SUMS_CUH_
