// The vector form: rows, strides and addresses are multiples of the vector, and every slot is one vector.
#ifndef QUERN_GATHER_VECTORS_CUH_
#define QUERN_GATHER_VECTORS_CUH_

#include "gather/rows.cuh"

namespace quern::gather {

QUERN_DEVICE void gather_tile(const Params& p, const Tile<spec::unroll>& tile) {
  constexpr int kBytes = spec::vector;
  Vector<kBytes> values[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Slot slot = tile[i];
    values[i] = {};
    if (!slot.inside) continue;
    const SourceRow row = resolve(p, slot.row);
    if (!row.zero) values[i] = load<kBytes, kLoad>(row.data + static_cast<u64>(slot.column) * kBytes);
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Slot slot = tile[i];
    if (!slot.inside) continue;
    store<kBytes, kStore>(out_row(p, slot.row) + static_cast<u64>(slot.column) * kBytes,
                          scaled(p, slot.row, values[i]));
  }
}

QUERN_DEVICE void gather_rows(const Params& p) {
  for_tiles<spec::unroll, spec::persistent>(p.slots, [&](const Tile<spec::unroll>& tile) { gather_tile(p, tile); });
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_VECTORS_CUH_
