// What becomes of the sums of a row: they are stored, or update it. All arithmetic is in fp32; what is stored is
// rounded once.
#ifndef QUERN_EMBEDDING_BACKWARD_UPDATE_CUH_
#define QUERN_EMBEDDING_BACKWARD_UPDATE_CUH_

#include "embedding/backward_gradients.cuh"
#include "embedding/backward_row_sum.cuh"
#include "embedding/row_types.cuh"
#include "embedding/stochastic.cuh"

namespace quern::embedding {

constexpr bool kUpdates = spec::optimizer != Optimizer::none;
constexpr bool kAdam = spec::optimizer == Optimizer::adam;
constexpr bool kAdagrad = spec::optimizer == Optimizer::row_adagrad;

struct Target {
  const SumTable& table;  // a parameter: a copy would take registers
  u32 number;             // of the table
  u64 row;

  QUERN_DEVICE u8* row_at() const { return reinterpret_cast<u8*>(table.at + row * table.stride); }
  // Of a state that has a number for each element.
  QUERN_DEVICE u8* state_at(u64 state, u32 column) const {
    return reinterpret_cast<u8*>(state + (row * table.columns + column) * (kElements * 4));
  }
  QUERN_DEVICE u8* moment_of_row() const { return reinterpret_cast<u8*>(table.moments + row * 4); }
};

QUERN_DEVICE Target target_of(const SumParams& p, u32 table, Key key) {
  return {p.tables[table], table, key - static_cast<Key>(p.tables[table].base)};
}

// A slot of a row and of its state, and what the row has for all of its slots.
template <class T>
struct OldSlot {
  static constexpr int kRowBytes = kElements * static_cast<int>(sizeof(T));
  static constexpr int kStateBytes = kElements * 4;
  Vector<kRowBytes> row;
  Vector<kStateBytes> moments, squares;

  QUERN_DEVICE void read(const Target& target, u32 column, bool inside) {
    if constexpr (kUpdates) row = load_if<kRowBytes>(inside, target.row_at() + static_cast<u64>(column) * kRowBytes);
    if constexpr (kAdam) {
      moments = load_if<kStateBytes>(inside, target.state_at(target.table.moments, column));
      squares = load_if<kStateBytes>(inside, target.state_at(target.table.squares, column));
    }
  }
};

// The steps by which Adam moves the elements of a slot; stores its state.
template <class T>
QUERN_DEVICE void adam_steps(const Numbers32& n, const Target& target, u32 column, const OldSlot<T>& old,
                             Numbers& gradients) {
  Numbers moments, squares;
  unpack<float, kElements>(old.moments, moments);
  unpack<float, kElements>(old.squares, squares);
#pragma unroll
  for (int e = 0; e < kElements; ++e) {
    moments[e] = fmaf(n.beta1, moments[e], n.rest1 * gradients[e]);
    squares[e] = fmaf(n.beta2, squares[e], n.rest2 * gradients[e] * gradients[e]);
    gradients[e] = moments[e] / n.correction1 / (sqrtf(squares[e] / n.correction2) + n.epsilon);
  }
  store<kElements * 4>(target.state_at(target.table.moments, column), pack<float, kElements>(moments));
  store<kElements * 4>(target.state_at(target.table.squares, column), pack<float, kElements>(squares));
}

template <class T>
QUERN_DEVICE void round_slot(const SumParams& p, const Target& target, u32 column, Numbers& values) {
  if constexpr (!spec::stochastic || sizeof(T) == 4) return;
  Philox random;
#pragma unroll
  for (int e = 0; e < kElements; ++e) {
    const u32 element = column * kElements + static_cast<u32>(e);
    if (e % 4 == 0) random = philox_of(p.seed, target.row, element, target.number);
    const bool odd = element % 2 != 0;
    const u32 low = odd ? random.words[1] : random.words[0], high = odd ? random.words[3] : random.words[2];
    const u32 word = kElements >= 4 ? random.words[e % 4] : element % 4 < 2 ? low : high;
    values[e] = round_by_chance(T{}, values[e], word);
  }
}

// `rate`: of the row.
template <class T>
QUERN_DEVICE void store_slot(const SumParams& p, const Target& target, u32 column, const OldSlot<T>& old, float rate,
                             Numbers& sums) {
  if constexpr (kUpdates) {
    if constexpr (kAdam) adam_steps(p.numbers, target, column, old, sums);
    Numbers values;
    unpack<T, kElements>(old.row, values);
#pragma unroll
    for (int e = 0; e < kElements; ++e) sums[e] = fmaf(-rate, sums[e], values[e]);
    round_slot<T>(p, target, column, sums);
  }
  store<OldSlot<T>::kRowBytes>(target.row_at() + static_cast<u64>(column) * OldSlot<T>::kRowBytes,
                               pack<T, kElements>(sums));
}

// Adds the squares of a slot, of which a thread may have none.
QUERN_DEVICE float add_squares(u32 mask, float sum, const Numbers& gradients, bool inside) {
  Numbers squares;
#pragma unroll
  for (int e = 0; e < kElements; ++e) squares[e] = inside ? gradients[e] * gradients[e] : kNothing;
  return add_columns(mask, sum, squares);
}

// The row's rate, from what its moment was and its sum of squares; stores the moment if it is `named`.
QUERN_DEVICE float adagrad_rate(u32 mask, const Numbers32& n, const Target& target, float before, float squares,
                                bool named = true) {
  const float moment = before + squares / static_cast<float>(target.table.columns * kElements);
  __syncwarp(mask);  // all have read it
  const float one[1] = {moment};
  if (named && lane() % kLanes == 0) store<4>(target.moment_of_row(), pack<float, 1>(one));
  return n.learning_rate / (sqrtf(moment) + n.epsilon);
}

QUERN_DEVICE float load_moment(const Target& target) { return bit_cast<float>(load<4>(target.moment_of_row())); }

// A row of one slot a thread: what it was is read before its gradients are.
template <class T, class Sums>
QUERN_DEVICE void update_one_slot(const SumParams& p, const Target& target, const Sums& sums) {
  const u32 column = lane() % kLanes;
  const bool inside = column < target.table.columns;
  OldSlot<T> old;
  old.read(target, column, inside);
  float rate = p.numbers.learning_rate, before = 0.0f;
  if constexpr (kAdagrad) before = load_moment(target);
  Numbers gradients = {};
  if (inside) sums.get(column, true, gradients);
  if constexpr (kAdagrad) {
    __syncwarp(mask_of_group());
    const float squares = add_squares(mask_of_group(), kNothing, gradients, inside);
    rate = adagrad_rate(mask_of_group(), p.numbers, target, before, squares);
  }
  if (inside) store_slot<T>(p, target, column, old, rate, gradients);
}

// Of several. Adagrad takes the sums twice: a thread has no registers for all of them.
template <class T, class Sums>
QUERN_DEVICE void update_slots(const SumParams& p, const Target& target, const Sums& sums) {
  float rate = p.numbers.learning_rate;
  Numbers gradients = {};
  if constexpr (kAdagrad) {
    const float before = load_moment(target);
    float squares = kNothing;
#pragma unroll 1
    for (u32 first = 0; first < target.table.columns; first += kLanes) {
      const u32 column = first + lane() % kLanes;
      if (column < target.table.columns) sums.get(column, false, gradients);
      __syncwarp(mask_of_group());
      squares = add_squares(mask_of_group(), squares, gradients, column < target.table.columns);
    }
    rate = adagrad_rate(mask_of_group(), p.numbers, target, before, squares);
  }
#pragma unroll 1
  for (u32 column = lane() % kLanes; column < target.table.columns; column += kLanes) {
    OldSlot<T> old;
    old.read(target, column, true);
    sums.get(column, true, gradients);
    store_slot<T>(p, target, column, old, rate, gradients);
  }
}

template <class Sums>
struct UpdateRow {
  const SumParams& p;
  const Target& target;
  const Sums& sums;
  template <class T>
  QUERN_DEVICE void operator()(T) const {
    if constexpr (spec::one_slot)
      update_one_slot<T>(p, target, sums);
    else
      update_slots<T>(p, target, sums);
  }
};

template <class Sums>
QUERN_DEVICE void update_row(const SumParams& p, const Target& target, const Sums& sums) {
  with_type(target.table.type, UpdateRow<Sums>{p, target, sums});
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_UPDATE_CUH_
