// pass=backward without sums: a thread has some slots of the rows.
#include "pointwise/gradient.cuh"

namespace quern::pointwise {

// All reads of a thread are before its first write: it waits once.
QUERN_DEVICE void run(const KernelParams& p) {
  for_tiles<spec::unroll, false>(p.slots, [&](const Tile<spec::unroll>& tile) {
    Inputs operands[spec::unroll];
    BiasBits bias[spec::unroll];
    Span spans[spec::unroll];
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) {
      const Slot slot = tile[i];
      spans[i] = {static_cast<i64>(slot.row), column_of(slot), slot.inside ? p.width : 0};
      read(p, spans[i], operands[i]);
      bias[i] = read_bias(p, spans[i]);
    }
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) {
      Gradients made;
      make_gradients(p, operands[i], bias[i], made);
      write_gradients(p, spans[i], made);
    }
  });
}

}  // namespace quern::pointwise
