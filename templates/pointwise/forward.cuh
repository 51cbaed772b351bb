// Three forms, all of kElements elements a slot. `rows`: rows, strides and addresses are multiples of a slot. `flat`:
// packed operands of any row length seen as one long row, so that slots straddle rows; where an operand is broadcast
// along rows or columns, the slots of a thread are a cycle of rows apart, where they meet the same columns, so that it
// reads a broadcast row once. `ragged`: any element-aligned
// rows; slots are aligned to an output, and the inputs are combined from two aligned reads by shifts.
//
// Whole slots have two phases: all reads of all operands, then their use, so a thread waits once. Slots at the ends of
// rows go element by element; the end of the flat form has a block of its own.
#ifndef QUERN_POINTWISE_FORWARD_CUH_
#define QUERN_POINTWISE_FORWARD_CUH_

#include "pointwise/slices.cuh"

namespace quern::pointwise {

// The slices of a slot, of the first N inputs.
template <int N>
struct Slices {
  Slices<N - 1> before;
  Slice<typename Input<N - 1>::Type, Input<N - 1>::kSpread> last;
};
template <>
struct Slices<0> {};
using Operands = Slices<kInputs>;

// The numbers of a slot, operand by operand.
template <int N>
using Numbers = float[N][kElements];

// Reads a slice, or copies that of the thread's first slot. Where a slot is whole, so is the first.
template <class T, Spread S>
QUERN_DEVICE bool read_or_share(Slice<T, S>& slice, const Slice<T, S>& first, const void* base, i64 stride,
                                const KernelParams& p, const Place& at) {
  if (read_of<T, S>() != Read::shared || &slice == &first) return slice.read(base, stride, p, at);
  slice = first;
  return true;
}

template <int N>
QUERN_DEVICE bool read_slot(const KernelParams& p, const Place& at, const Slices<N>& first, Slices<N>& o) {
  using Last = Input<N - 1>;
  bool before = true;
  if constexpr (N > 1) before = read_slot(p, at, first.before, o.before);
  const bool last = read_or_share(o.last, first.last, Last::base(p), Last::stride(p), p, at);
  if constexpr (N > 1) return before && last;
  return last;
}

template <int N>
QUERN_DEVICE void numbers_of(const Slices<N>& o, Numbers<kInputs>& out) {
  if constexpr (N > 0) {
    numbers_of(o.before, out);
    o.last.values(out[N - 1]);
  }
}

template <int N>
QUERN_DEVICE void numbers_of(const KernelParams& p, const Place& at, int i, float (&out)[kInputs]) {
  if constexpr (N > 0) {
    using In = Input<N - 1>;
    numbers_of<N - 1>(p, at, i, out);
    out[N - 1] = element_of<typename In::Type, In::kSpread>(In::base(p), In::stride(p), p, at, i);
  }
}

template <int O>
QUERN_DEVICE typename Output<O>::Type* out_at(const KernelParams& p, const Place& at) {
  return static_cast<typename Output<O>::Type*>(Output<O>::base(p)) + offset_of(at, Output<O>::stride(p));
}

// Whether each whole slot of an output is one aligned access. Ragged slots are those of one output.
template <int O>
constexpr bool kAlwaysAligned = !spec::ragged || O == kAligned;

template <class T>
QUERN_DEVICE void store_each(bool wanted, T* out, const float (&numbers)[kElements]) {
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    const T value = from_compute<T>(numbers[i]);
    store_if<sizeof(T), StoreHint::plain>(wanted, out + i, bit_cast<Vector<sizeof(T)>>(value));
  }
}

template <int N>
QUERN_DEVICE void store_numbers(bool wanted, const KernelParams& p, const Place& at, const Numbers<kOutputs>& numbers) {
  if constexpr (N > 0) {
    using T = typename Output<N - 1>::Type;
    store_numbers<N - 1>(wanted, p, at, numbers);
    T* const out = out_at<N - 1>(p, at);
    if constexpr (!kAlwaysAligned<N - 1>) {
      if (reinterpret_cast<u64>(out) % (sizeof(T) * kElements) != 0) return store_each(wanted, out, numbers[N - 1]);
    }
    store_if<sizeof(T) * kElements, kStore>(wanted, out, pack<T, kElements>(numbers[N - 1]));
  }
}

template <int N>
QUERN_DEVICE void store_element(const KernelParams& p, const Place& at, int i, const float (&numbers)[kOutputs]) {
  if constexpr (N > 0) {
    using T = typename Output<N - 1>::Type;
    store_element<N - 1>(p, at, i, numbers);
    const auto value = from_compute<T>(numbers[N - 1]);
    store<sizeof(value), StoreHint::plain>(out_at<N - 1>(p, at) + i, bit_cast<Vector<sizeof(value)>>(value));
  }
}

QUERN_DEVICE void store_slot(bool wanted, const KernelParams& p, const Place& at, const Operands& o) {
  if (!kPredicated && !wanted) return;
  Numbers<kInputs> in;
  Numbers<kOutputs> out;
  numbers_of(o, in);
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    float of_inputs[kInputs], of_outputs[kOutputs];
#pragma unroll
    for (int k = 0; k < kInputs; ++k) of_inputs[k] = in[k][i];
    compute(p, of_inputs, of_outputs);
#pragma unroll
    for (int k = 0; k < kOutputs; ++k) out[k][i] = of_outputs[k];
  }
  store_numbers<kOutputs>(wanted, p, at, out);
}

QUERN_DEVICE void run_element(const KernelParams& p, const Place& at, int i) {
  float in[kInputs], out[kOutputs];
  numbers_of<kInputs>(p, at, i, in);
  compute(p, in, out);
  store_element<kOutputs>(p, at, i, out);
}

constexpr int kSlotsOfTile = kCycles ? 1 : spec::unroll;
using ThreadTile = Tile<kSlotsOfTile>;

// Where slots are cycles apart, the first one of a thread: the rows of a tile are groups of cycles.
QUERN_DEVICE Slot first_slot(const KernelParams& p, const ThreadTile& tile) {
  Slot slot = tile[0];
  if constexpr (spec::unroll == 1) return slot;
  slot.row *= spec::unroll;
  slot.index = slot.row * p.slots.per_row + slot.column;
  return slot;
}

// Ragged slots start where out is aligned, up to a slot before the row.
QUERN_DEVICE Place place(const KernelParams& p, const Slot& slot) {
  const u64 row = spec::flat ? 0 : slot.row;
  i64 column = static_cast<i64>(spec::flat ? slot.index : slot.column) * kElements;
  if constexpr (spec::ragged) {
    using T = typename Output<kAligned>::Type;
    const u64 address =
        reinterpret_cast<u64>(static_cast<T*>(Output<kAligned>::base(p)) + row * Output<kAligned>::stride(p));
    column -= static_cast<i64>(address % (sizeof(T) * kElements) / sizeof(T));
  }
  Place at = {row,
              column,
              static_cast<i64>(row),
              column,
              static_cast<i64>(slot.index) * kElements,
              spec::ragged && column < 0 ? static_cast<int>(-column) : 0,
              kElements};
  if constexpr (!kCycles && !spec::ragged) {  // all slots are whole; a tail is not among them
    if (!slot.inside) at.end = 0;
    return at;
  }
  const i64 left = slot.inside ? p.width - column : 0;
  if (left < kElements) at.end = left < 0 ? 0 : static_cast<int>(left);
  if constexpr (kCycles) {
    const u32 first = slot.column * kElements;
    const u32 later = divide32(first, p.by_period);
    at.true_row = static_cast<i64>(slot.row * p.cycle_rows + later);
    at.true_column = first - later * static_cast<u32>(p.period);
  }
  return at;
}

// The place of the slot that is so many cycles after it: in the same columns.
QUERN_DEVICE Place later(const KernelParams& p, Place at, int cycles) {
  at.column += static_cast<i64>(p.slots.per_row) * kElements * cycles;
  at.true_row += static_cast<i64>(p.cycle_rows) * cycles;
  return at;
}

// The elements from that slot to the end of the operands.
QUERN_DEVICE i64 left_after(const KernelParams& p, const Place& at, int cycles) {
  return p.width - later(p, at, cycles).column;
}

// So that no read waits for a branch, a slot after the operands' last whole one is read where the thread's first one
// is, and not stored.
QUERN_DEVICE void run_cycles(const KernelParams& p, const ThreadTile& tile) {
  const Place first = place(p, first_slot(p, tile));
  Operands operands[spec::unroll];
  if (!kPredicated && !first.whole()) return;
  const auto has = [&](int i) { return i == 0 || left_after(p, first, i) >= kElements; };
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) read_slot(p, later(p, first, has(i) ? i : 0), operands[0], operands[i]);
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) store_slot(first.whole() && has(i), p, later(p, first, i), operands[i]);
}

QUERN_DEVICE void run_slots(const KernelParams& p, const ThreadTile& tile) {
  Operands operands[spec::unroll];
  bool whole[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Place at = place(p, tile[i]);
    const bool is_read = (kPredicated || at.whole()) && read_slot(p, at, operands[0], operands[i]);
    whole[i] = at.whole() && is_read;
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) store_slot(whole[i], p, place(p, tile[i]), operands[i]);
  if constexpr (spec::ragged) {
    u32 left = 0;
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) left |= whole[i] ? 0u : 1u << i;
#pragma unroll 1
    for (int i = 0; left != 0; ++i, left >>= 1) {
      const Place at = place(p, tile[i]);
#pragma unroll 1
      for (int k = at.begin; (left & 1) != 0 && k < at.end; ++k) run_element(p, at, k);
    }
  }
}

// The operands' last slot, where it is not whole: an element a thread, so that a small problem does not wait for one
// after another.
QUERN_DEVICE void run_tail(const KernelParams& p) {
  Slot slot = {static_cast<u64>(p.width) / kElements, 0, 0, true};
  if constexpr (kCycles) {
    slot.row = divide(slot.index, p.by_cycle);
    slot.column = static_cast<u32>(slot.index - slot.row * p.slots.per_row);
  }
  const Place at = place(p, slot);
  if (static_cast<i64>(threadIdx.x) < p.width - at.column) run_element(p, at, static_cast<int>(threadIdx.x));
}

// The tail is last: no read waits for the branch. It has a block after the others, which has no other slots, or in a
// persistent kernel the first one.
QUERN_DEVICE void run(const KernelParams& p) {
  for_tiles<kSlotsOfTile, spec::persistent>(
      p.slots, [&](const ThreadTile& tile) { kCycles ? run_cycles(p, tile) : run_slots(p, tile); });
  if constexpr (spec::has_tail) {
    if (blockIdx.x == p.tail_block && blockIdx.y == 0) run_tail(p);
  }
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_FORWARD_CUH_
