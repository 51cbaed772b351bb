// The gradients of the weights of ids: a dot product of the bag's gradient and the id's row, 0 for an id without a row.
#ifndef QUERN_EMBEDDING_BACKWARD_DOTS_CUH_
#define QUERN_EMBEDDING_BACKWARD_DOTS_CUH_

#include "embedding/backward_bag.cuh"
#include "embedding/backward_row_sum.cuh"

namespace quern::embedding {

QUERN_DEVICE void store_dot(const BagParams& p, i64 position, float dot) {
  using Weight = spec::Weight;
  const float one[1] = {dot};
  auto* const to = static_cast<Weight*>(p.sample_weights_gradient) + position;
  if (lane() % kLanes == 0) store<sizeof(Weight)>(to, pack<Weight, 1>(one));
}

template <class T>
QUERN_DEVICE float dot_of(const BagParams& p, const OwnBag& bag, const Row& row) {
  const u8* const gradient = static_cast<const u8*>(p.gradient) + bag.sample * p.gradient_stride;
  float sum = rows::kNothing;
#pragma unroll 1
  for (u32 first = 0; first < bag.columns; first += kLanes) {
    const u32 column = first + lane() % kLanes;
    const bool inside = column < bag.columns;
    Row own = row;
    own.read = inside;
    Piece<T> piece;
    piece.read(bag.source, bag.first + column, own);
    const u64 at = static_cast<u64>(bag.first + column) * kOutBytes;
    const OutBits bits = load_if<kOutBytes>(inside, gradient + at);
    Numbers values, gradients;
    piece.values(values);
    unpack<Out, kElements>(bits, gradients);
#pragma unroll
    for (int i = 0; i < kElements; ++i) values[i] = inside ? values[i] * gradients[i] : rows::kNothing;
    sum = add_columns(rows::mask_of_group(), sum, values);
  }
  return sum;
}

struct StoreDots {
  const BagParams& p;
  const OwnBag& bag;
  template <class T>
  QUERN_DEVICE void operator()(T) const {
#pragma unroll 1
    for (i64 position = bag.ids.begin; position < bag.ids.end; ++position) {
      const Row row = bag.row_at(p, position);
      store_dot(p, position, row.read ? dot_of<T>(p, bag, row) : 0.0f);
    }
  }
};

QUERN_DEVICE void clear_from(const BagParams& p, i64 first, i64 end, u32 step) {
  if (end > p.ids.count) end = p.ids.count;
#pragma unroll 1
  for (i64 at = first; at < end; at += step) store_dot(p, at, 0.0f);
}

// Positions before the first bag and after the last; without bags all. Each bag has some of them.
QUERN_DEVICE void clear_others(const BagParams& p, u32 number) {
  if (p.bags == 0) return clear_from(p, 0, p.ids.count, 1);
  clear_from(p, number, load_offset(p.ids, 0, true), p.bags);
  if constexpr (spec::has_end) {
    const i64 end = load_offset(p.ids, p.bags, true);
    clear_from(p, (end < 0 ? 0 : end) + number, p.ids.count, p.bags);
  }
}

QUERN_DEVICE void read_bag(const BagParams& p, u32 number) {
  clear_others(p, number);
  if (number >= p.bags) return;
  const OwnBag bag = own_bag(p, number);
  with_type(bag.source.table.type, StoreDots{p, bag});
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_DOTS_CUH_
