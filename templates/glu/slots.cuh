// Gradients without sums, and out: a thread has some slots of the rows, each of so many elements.
#include "glu/elements.cuh"

namespace quern::glu {

// Where slots are elements, those of a warp are its 32 lanes' of adjacent ones.
QUERN_DEVICE Place place_of(const Params& p, const Slot& slot) {
  const i64 row = static_cast<i64>(slot.row);
  const u32 column = spec::vectors ? slot.column * kElements : slot.column / 32 * 32 * kElements + slot.column % 32;
  return {row, static_cast<int>(column), slot.inside && is_counted(p, row) ? p.width : 0};
}

QUERN_DEVICE void finish(const Params& p, const Place& at, const Operands& o, const BiasBits& bias) {
  if constexpr (spec::backward) {
    Gradients made;
    write_backward(p, at, o, bias, made);
  } else {
    write_forward(p, at, o, bias);
  }
}

// All reads of a thread are before its first write: it waits once.
QUERN_DEVICE void run(const Params& p) {
  for_tiles<spec::unroll, false>(p.slots, [&](const Tile<spec::unroll>& tile) {
    Operands operands[spec::unroll];
    BiasBits bias[spec::unroll];
    Place places[spec::unroll];
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) {
      places[i] = place_of(p, tile[i]);
      read(p, places[i], operands[i]);
      bias[i] = read_bias(p, places[i]);
    }
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) finish(p, places[i], operands[i], bias[i]);
  });
}

}  // namespace quern::glu
