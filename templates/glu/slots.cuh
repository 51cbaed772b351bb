// A thread has some slots of the rows, each of so many elements.
#ifndef QUERN_GLU_SLOTS_CUH_
#define QUERN_GLU_SLOTS_CUH_

#include "glu/elements.cuh"

namespace quern::glu {

// A row after the last one: the padding of blocked scales.
QUERN_DEVICE bool is_padding(const Params& p, const Span& at) { return spec::blocked && at.row >= p.rows; }

QUERN_DEVICE Span place_of(const Params& p, const Slot& slot) {
  Span at = {static_cast<i64>(slot.row), column_of(slot), 0};
  if (slot.inside && !is_padding(p, at) && is_counted(p, at.row)) at.end = p.width;
  return at;
}

// All reads of a thread are before its first write: it waits once. `finish_slot`: makes and writes its results.
template <class Finish>
QUERN_DEVICE void run_slots(const Params& p, const Finish& finish_slot) {
  for_tiles<spec::unroll, false>(p.slots, [&](const Tile<spec::unroll>& tile) {
    Operands operands[spec::unroll];
    BiasBits bias[spec::unroll];
    Span places[spec::unroll];
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) {
      places[i] = place_of(p, tile[i]);
      read(p, places[i], operands[i]);
      bias[i] = read_bias(p, places[i]);
    }
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) finish_slot(places[i], operands[i], bias[i]);
  });
}

}  // namespace quern::glu

#endif  // QUERN_GLU_SLOTS_CUH_
