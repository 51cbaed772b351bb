// What a thread has: one column of adjacent rows of out, whose table it looks for once.
#ifndef QUERN_EMBEDDING_TILE_CUH_
#define QUERN_EMBEDDING_TILE_CUH_

#include "common/numbers.cuh"
#include "embedding/params.h"
#include "spec.cuh"

namespace quern::embedding {

using namespace common;
using Params = ParamsOf<spec::most, spec::limited, spec::scaled>;
using Out = spec::Out;

constexpr int kElements = spec::elements;
constexpr int kOutBytes = kElements * static_cast<int>(sizeof(Out));
constexpr LoadHint kLoad = spec::load_once ? LoadHint::once : LoadHint::plain;
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;
using OutBits = Vector<kOutBytes>;
using OutSlots = OutBits[spec::tile_rows];

// The thread's slots: its column of the rows first + i * step for i < spec::tile_rows, as far as they are there.
struct Lane {
  u32 column;
  i64 first;
  u32 step;
  i64 rows;  // of out; 0 for a column past the last

  QUERN_DEVICE i64 row(int i) const { return first + static_cast<i64>(i * step); }
  QUERN_DEVICE bool has(int i) const { return row(i) < rows; }
};

// In the tile of a band of rows that begins at a column.
QUERN_DEVICE Lane lane_at(const Params& p, u32 band, u32 first_column) {
  const u32 lanes = 1u << p.lanes_log2, column = first_column + (threadIdx.x & (lanes - 1));
  const u32 step = blockDim.x >> p.lanes_log2;
  const i64 first = static_cast<i64>(band) * static_cast<i64>(step * spec::tile_rows) + (threadIdx.x >> p.lanes_log2);
  return {column, first, step, column < p.columns ? p.batch : 0};
}

QUERN_DEVICE Lane lane_of(const Params& p) {
  const u32 band = p.across == 1 ? blockIdx.x : blockIdx.x / p.across;
  return lane_at(p, band, (blockIdx.x - band * p.across) << p.lanes_log2);
}

// The last table whose first column is not after the column. Tables without columns are skipped.
QUERN_DEVICE u32 table_of(const Params& p, u32 column) {
  u32 table = 0;
#pragma unroll
  for (u32 step = spec::most / 2; step > 0; step /= 2) table += p.first[table + step] <= column ? step : 0;
  return table;
}

QUERN_DEVICE void read_dense(const Params& p, const Lane& lane, OutSlots& out) {
#pragma unroll
  for (int i = 0; i < spec::tile_rows; ++i) {
    const u8* const row = static_cast<const u8*>(p.dense) + lane.row(i) * p.dense_stride;
    out[i] = load_if<kOutBytes, kLoad>(lane.has(i), row + static_cast<u64>(lane.column) * kOutBytes);
  }
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_TILE_CUH_
