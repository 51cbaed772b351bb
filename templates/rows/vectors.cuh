// The vector form: rows, strides and addresses are multiples of the vector, and every slot is one vector.
//
// A family's `Rows` says what is moved, by functions of its Params and of a row's number:
//   kAdds        whether a result depends on what out has
//   kOutByIndex  whether `out` reads an index, which there is for rows only
//   kSkips       whether `out` may be null: such a row is not written, and its source is a zero row
//   source       the SourceRow; a zero row if it is not inside, and then no index is read
//   out          the row's address in out
//   result       of a vector at a byte of the row, given what out has there if kAdds: what is stored
#ifndef QUERN_ROWS_VECTORS_CUH_
#define QUERN_ROWS_VECTORS_CUH_

#include "common/slots.cuh"
#include "rows/source.cuh"

namespace quern::rows {

template <class Rows, class Params>
QUERN_DEVICE void move_vectors(const Params& p, const Tile<spec::unroll>& tile) {
  constexpr int kBytes = spec::vector;
  SourceRow rows[spec::unroll];
  Vector<kBytes> values[spec::unroll], before[spec::unroll];
  find_rows<Rows>(p, tile, rows);
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Slot slot = tile[i];
    const u64 at = static_cast<u64>(slot.column) * kBytes;
    values[i] = load_if<kBytes, kLoad>(!rows[i].zero, rows[i].at(static_cast<i64>(at)));
    if (!slot.inside) continue;
    if constexpr (Rows::kAdds) {
      if (const u8* const to = Rows::out(p, slot.row); to != nullptr) before[i] = load<kBytes>(to + at);
    }
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Slot slot = tile[i];
    if (!slot.inside) continue;
    u8* const to = Rows::out(p, slot.row);
    if (Rows::kSkips && to == nullptr) continue;
    const u64 at = static_cast<u64>(slot.column) * kBytes;
    store<kBytes, kStore>(to + at, Rows::result(p, slot.row, at, values[i], before[i]));
  }
}

template <class Rows, class Params>
QUERN_DEVICE void move_rows(const Params& p) {
  for_tiles<spec::unroll, spec::persistent>(p.slots,
                                            [&](const Tile<spec::unroll>& tile) { move_vectors<Rows>(p, tile); });
}

}  // namespace quern::rows

#endif  // QUERN_ROWS_VECTORS_CUH_
