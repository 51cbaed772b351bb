// Slots of out in its own type: each is written where it was made.
#ifndef QUERN_EMBEDDING_PLAIN_CUH_
#define QUERN_EMBEDDING_PLAIN_CUH_

#include "embedding/pieces.cuh"

namespace quern::embedding {

QUERN_DEVICE void write(const Params& p, const Lane& lane, const OutSlots& out) {
#pragma unroll
  for (int i = 0; i < spec::tile_rows; ++i) {
    u8* const row = static_cast<u8*>(p.out) + lane.row(i) * p.out_stride;
    if (lane.has(i)) store<kOutBytes, kStore>(row + static_cast<u64>(lane.column) * kOutBytes, out[i]);
  }
}

struct FillSlots {
  const Params& p;
  const Lane& lane;
  const Source& source;
  u32 number;
  template <class T>
  QUERN_DEVICE void operator()(T) const {
    OutSlots out;
    make_slots<T>(p, lane, source, number, out);
    write(p, lane, out);
  }
};

QUERN_DEVICE void fill_out(const Params& p) {
  const Lane lane = lane_of(p);
  if (!lane.has(0)) return;
  if (lane.column < p.dense_columns) {
    OutSlots out;
    read_dense(p, lane, out);
    return write(p, lane, out);
  }
  const u32 number = table_of(p, lane.column);
  const Source source = source_of(p, number, lane.column);
  with_type(source.table.type, FillSlots{p, lane, source, number});
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_PLAIN_CUH_
