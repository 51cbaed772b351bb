// Quantized results with a scale for each row. A thread block makes a row for its largest magnitude. To write it, it
// has kept it in shared memory where it fits, or makes it again from what L2 has.
#include "common/reduce.cuh"
#include "common/shared.cuh"
#include "glu/quantize.cuh"
#include "glu/slots.cuh"

namespace quern::glu {

using KernelParams = Params;

struct WarpMaxima {
  QUERN_DEVICE void set(int warp, float m) { SharedWords(0).set(static_cast<u32>(warp), bit_cast<u32>(m)); }
  QUERN_DEVICE float get(int warp) const { return bit_cast<float>(SharedWords(0).get(static_cast<u32>(warp))); }
};

// Of a slot: out, or backward the gradients of a and g.
constexpr int kParts = spec::backward ? 2 : 1;
struct Results {
  Rounded of[kParts];
};

// `Once`: what has no scale is written too.
template <bool Once>
QUERN_DEVICE Results make(const Params& p, const Span& at) {
  Operands operands;
  read(p, at, operands);
  const BiasBits bias = read_bias(p, at);
  Results results;
  if constexpr (spec::backward) {
    Gradients made;
    make_gradients(p, operands, bias, made);
    if constexpr (Once && spec::recompute) write_out(p, at, made.out);
    results.of[0] = rounded(at, made.a);
    results.of[kParts - 1] = rounded(at, made.g);
  } else {
    Numbers out;
    make_out(p, operands, bias, out);
    results.of[0] = rounded(at, out);
  }
  return results;
}

QUERN_DEVICE u32 magnitude_of(const Span& at, const Results& made) {
  u32 m = 0;
#pragma unroll
  for (int part = 0; part < kParts; ++part) m = larger(m, magnitude_of<kElements>(at, made.of[part], 0));
  return m;
}

QUERN_DEVICE void write_scaled(const Params& p, const Span& at, const Results& made, float factor) {
  Numbers scaled[kParts];
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    made.of[part].values(scaled[part]);
    multiply<kElements>(scaled[part], 0, factor);
  }
  if constexpr (spec::backward)
    write_pairs<Element>(p, at, Pairs<Element, kLayout>::of(scaled[0], scaled[1]));
  else
    write<Element>(row_of<Element>(p.out, p.out_stride, at), at, scaled[0]);
}

// What a thread keeps of its slots, which no other thread reads.
QUERN_DEVICE u8* kept_at(const Params& p, u32 slot, int part) {
  return dynamic_shared() + kMaximaBytes + (part * p.slots.per_row + slot) * sizeof(Rounded);
}
QUERN_DEVICE void keep(const Params& p, u32 slot, const Results& made) {
#pragma unroll
  for (int part = 0; part < kParts; ++part)
    store_shared<sizeof(Rounded)>(kept_at(p, slot, part), bit_cast<Vector<sizeof(Rounded)>>(made.of[part]));
}
QUERN_DEVICE Results kept(const Params& p, u32 slot) {
  Results made;
#pragma unroll
  for (int part = 0; part < kParts; ++part)
    made.of[part] = bit_cast<Rounded>(load_shared<sizeof(Rounded)>(kept_at(p, slot, part)));
  return made;
}

// Calls body(slot, place) for the thread's parts of a row.
template <class Body>
QUERN_DEVICE void for_places(const Params& p, i64 row, const Body& body) {
#pragma unroll 1
  for (u32 slot = threadIdx.x; slot < p.slots.per_row; slot += blockDim.x)
    body(slot, place_of(p, Slot{0, static_cast<u64>(row), slot, true}));
}

QUERN_DEVICE void run_row(const Params& p, i64 row) {
  u32 m = 0;
  for_places(p, row, [&](u32 slot, const Span& at) {
    const Results made = make<true>(p, at);
    m = larger(m, magnitude_of(at, made));
    if constexpr (spec::keeps_row) keep(p, slot, made);
  });
  WarpMaxima maxima;
  const u32 scale = Scaling::stored(bit_cast<u32>(block_max<spec::max_threads / 32>(bit_cast<float>(m), maxima)));
  for_places(p, row, [&](u32 slot, const Span& at) {
    write_scaled(p, at, spec::keeps_row ? kept(p, slot) : make<false>(p, at), Scaling::reciprocal(scale));
  });
  if (threadIdx.x == 0) write_scale(p, row, scale);
}

QUERN_DEVICE void run(const KernelParams& p) {
#pragma unroll 1
  for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
    if (is_counted(p, row)) run_row(p, row);
  }
}

}  // namespace quern::glu
