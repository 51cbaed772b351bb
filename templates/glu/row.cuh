// Quantized results with a scale for each row. A thread block makes a row twice: for its largest magnitude, then to
// write it, from L2.
#include "common/reduce.cuh"
#include "common/shared.cuh"
#include "glu/quantize.cuh"
#include "glu/slots.cuh"

namespace quern::glu {

struct WarpMaxima {
  QUERN_DEVICE void set(int warp, float m) { SharedWords(0).set(static_cast<u32>(warp), bit_cast<u32>(m)); }
  QUERN_DEVICE float get(int warp) const { return bit_cast<float>(SharedWords(0).get(static_cast<u32>(warp))); }
};

QUERN_DEVICE void make(const Params& p, const Span& at, Gradients& made) {
  Operands operands;
  read(p, at, operands);
  const BiasBits bias = read_bias(p, at);
  if constexpr (spec::backward) {
    make_gradients(p, operands, bias, made);
    round_numbers(at, made.a);
    round_numbers(at, made.g);
  } else {
    make_out(p, operands, bias, made.out);
    round_numbers(at, made.out);
  }
}

QUERN_DEVICE u32 magnitude_of(const Gradients& made) {
  if constexpr (!spec::backward) return magnitude_of<kElements>(made.out, 0);
  return larger(magnitude_of<kElements>(made.a, 0), magnitude_of<kElements>(made.g, 0));
}

QUERN_DEVICE void write_scaled(const Params& p, const Span& at, Gradients& made, float factor) {
  if constexpr (spec::backward) {
    multiply<kElements>(made.a, 0, factor);
    multiply<kElements>(made.g, 0, factor);
    write_gradients<Element>(p, at, made);
  } else {
    multiply<kElements>(made.out, 0, factor);
    write<Element>(row_of<Element>(p.out, p.out_stride, at), at, made.out);
  }
}

// Calls body(place) for the thread's parts of a row.
template <class Body>
QUERN_DEVICE void for_places(const Params& p, i64 row, const Body& body) {
#pragma unroll 1
  for (u32 column = threadIdx.x; column < p.slots.per_row; column += blockDim.x)
    body(place_of(p, Slot{0, static_cast<u64>(row), column, true}));
}

QUERN_DEVICE void run_row(const Params& p, i64 row) {
  u32 m = 0;
  for_places(p, row, [&](const Span& at) {
    Gradients made;  // forward: out alone
    make(p, at, made);
    m = larger(m, magnitude_of(made));
  });
  WarpMaxima maxima;
  const u32 scale = Scaling::stored(bit_cast<u32>(block_max<spec::max_threads / 32>(bit_cast<float>(m), maxima)));
  for_places(p, row, [&](const Span& at) {
    Gradients made;  // forward: out alone
    make(p, at, made);
    write_scaled(p, at, made, Scaling::reciprocal(scale));
  });
  if (threadIdx.x == 0) write_scale(p, row, scale);
}

QUERN_DEVICE void run(const Params& p) {
#pragma unroll 1
  for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
    if (is_counted(p, row)) run_row(p, row);
  }
}

}  // namespace quern::glu
