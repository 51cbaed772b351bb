// A thread has one unit of `unroll` heads of a token, whose angles it reads or computes once. Adjacent threads have
// adjacent units, then the next head.
#ifndef QUERN_ROPE_HEADS_CUH_
#define QUERN_ROPE_HEADS_CUH_

#include "rope/position.cuh"

namespace quern::rope {

// In place other threads read while this one writes, though other bytes: the read-only path is not for that.
constexpr LoadHint kLoad = spec::in_place ? LoadHint::stream : LoadHint::once;
using Access = Vector<spec::vector>;

// A group of heads of a token; the axes are numbered as in Params.
struct Row {
  i64 at[3];
  QUERN_DEVICE i64 batch() const { return at[spec::batch_axis]; }
  QUERN_DEVICE i64 token() const { return at[spec::token_axis]; }
  QUERN_DEVICE u32 group() const { return static_cast<u32>(at[spec::head_axis]); }
};

QUERN_DEVICE Row row_at(const Params& p, u64 number) {
  const u64 outer = divide(number, p.by_axis[0]), last = divide(outer, p.by_axis[1]);
  return {{static_cast<i64>(number) - static_cast<i64>(outer) * p.axis[0],
           static_cast<i64>(outer) - static_cast<i64>(last) * p.axis[1], static_cast<i64>(last)}};
}

// Where a head of a token begins.
struct Head {
  u64 from;
  u64 to;
  bool exists;
};

QUERN_DEVICE i64 bytes_to(const Row& row, u32 head, const long long (&strides)[3]) {
  return row.batch() * strides[spec::batch_axis] + row.token() * strides[spec::token_axis] +
         static_cast<i64>(head) * strides[spec::head_axis];
}

// As numbers: there may be no tensor, where no such head exists.
QUERN_DEVICE u64 address(const void* tensor, i64 bytes) {
  return reinterpret_cast<u64>(tensor) + static_cast<u64>(bytes);
}

QUERN_DEVICE Head head_at(const Params& p, const Row& row, u32 head) {
  const bool is_q = head < p.heads;
  const Tensor& tensor = is_q ? p.q : p.k;
  const u32 number = is_q ? head : head - p.heads;
  return {address(tensor.from, bytes_to(row, number, tensor.from_strides)),
          address(tensor.to, bytes_to(row, number, tensor.to_strides)), head < p.all_heads};
}

QUERN_DEVICE const u8* read_at(const Head& head, u32 element) {
  return reinterpret_cast<const u8*>(head.from + element * sizeof(Element));
}
QUERN_DEVICE u8* write_at(const Head& head, u32 element) {
  return reinterpret_cast<u8*>(head.to + element * sizeof(Element));
}

struct Values {
  Access low;
  Access high;
};

// The gradient is the transposed matrix: each sine changes sign and goes to the other element.
QUERN_DEVICE void rotate_pair(float& x0, float& x1, const Angles& angles, int pair) {
  const int first = first_angle(pair), second = second_angle(pair);
  const float sin0 = spec::conjugate ? -angles.sin[second] : angles.sin[first];
  const float sin1 = spec::conjugate ? -angles.sin[first] : angles.sin[second];
  const float out0 = fmaf(x0, angles.cos[first], -(x1 * sin0));
  x1 = fmaf(x1, angles.cos[second], x0 * sin1);
  x0 = out0;
}

QUERN_DEVICE Values rotate(const Values& values, const Angles& angles) {
  float low[kElements], high[kElements];
  unpack<Element, kElements>(values.low, low);
  unpack<Element, kElements>(values.high, high);
  QUERN_UNROLL for (int i = 0; i < kPairs; ++i) {
    if constexpr (kAcross) {
      rotate_pair(low[i], high[i], angles, i);
    } else {
      float* const x = i < kPairs / 2 ? low + 2 * i : high + 2 * i - kElements;
      rotate_pair(x[0], x[1], angles, i);
    }
  }
  return {pack<Element, kElements>(low), pack<Element, kElements>(high)};
}

QUERN_DEVICE void rotate_heads(const Params& p, const Slot& slot) {
  const Row row = row_at(p, slot.row);
  const Unit unit = unit_of(slot.column);
  Head heads[spec::unroll];
  Values values[spec::unroll];
  QUERN_UNROLL for (int i = 0; i < spec::unroll; ++i) {
    heads[i] = head_at(p, row, row.group() + i * p.groups);
    values[i].low = load_if<spec::vector, kLoad>(heads[i].exists, read_at(heads[i], unit.low));
    values[i].high = load_if<spec::vector, kLoad>(heads[i].exists && unit.has_high, read_at(heads[i], unit.high));
  }
  const Position position = position_of(p, row.batch(), row.token());
  if (unit.rotates && position.rotates) {
    const Angles angles = angles_at(p, position, unit);
    QUERN_UNROLL for (int i = 0; i < spec::unroll; ++i) values[i] = rotate(values[i], angles);
  }
  QUERN_UNROLL for (int i = 0; i < spec::unroll; ++i) {
    if (!heads[i].exists || !position.exists) continue;
    store<spec::vector, StoreHint::stream>(write_at(heads[i], unit.low), values[i].low);
    if (unit.has_high) store<spec::vector, StoreHint::stream>(write_at(heads[i], unit.high), values[i].high);
  }
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_HEADS_CUH_
