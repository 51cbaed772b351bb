// A head of a token: where a thread reads and writes its part of it.
#ifndef QUERN_ROPE_HEAD_CUH_
#define QUERN_ROPE_HEAD_CUH_

#include "rope/cache.cuh"
#include "rope/encode.cuh"
#include "rope/pairs.cuh"
#include "rope/rows.cuh"

namespace quern::rope {

// By comparing: an index that differs between threads would take registers for its address.
QUERN_DEVICE const Tensor& tensor_of(const Params& p, u32 name) {
  return name == kTensorQ ? p.tensors[kTensorQ] : name == kTensorV ? p.tensors[kTensorV] : p.tensors[kTensorK];
}

// A head of a token, and where it begins.
struct Head {
  u32 tensor;
  u32 number;  // in the tensor
  u64 from;
  u64 to;
  bool exists;
};

// Products of two numbers, one of them a stride, of which all that are added stay below 2^31 where offsets are narrow.
QUERN_DEVICE u64 offset(i64 count, i64 stride) {
  if constexpr (spec::offsets == 32) return static_cast<u32>(count) * static_cast<u32>(stride);
  return static_cast<u64>(count * stride);
}

// Heads of q in groups are numbered through all groups.
QUERN_DEVICE u64 bytes_to_head(const Params& p, u32 tensor, u32 number, i64 heads, i64 groups) {
  if (!spec::grouped || tensor != kTensorQ) return offset(number, heads);
  const u32 group = divide32(number, p.by_key);
  return offset(number - group * p.heads_of_key, heads) + offset(group, groups);
}

// As a number: there may be no tensor, where no such head exists.
template <class Stride>
QUERN_DEVICE u64 address(const void* tensor, const Place& place, u64 bytes, const Stride (&strides)[3]) {
  const u64 token = offset(place.batch, strides[spec::batch_axis]) + offset(place.token, strides[spec::token_axis]);
  return reinterpret_cast<u64>(tensor) + (spec::offsets == 32 ? static_cast<u32>(token + bytes) : token + bytes);
}

QUERN_DEVICE Head head_at(const Params& p, const Place& place, u32 head) {
  const bool is_q = head < p.heads, is_v = spec::has_values && head >= p.heads + p.kv_heads;
  const u32 name = is_q ? kTensorQ : is_v ? kTensorV : kTensorK;
  const u32 number = is_q ? head : head - p.heads - (is_v ? p.kv_heads : 0);
  const Tensor& tensor = tensor_of(p, name);
  const u64 from = bytes_to_head(p, name, number, tensor.from_strides[spec::head_axis], p.from_groups);
  const u64 to = bytes_to_head(p, name, number, tensor.to_strides[spec::head_axis], p.to_groups);
  return {name, number, address(tensor.from, place, from, tensor.from_strides),
          address(tensor.to, place, to, tensor.to_strides), head < p.all_heads};
}

QUERN_DEVICE void place_head(const Params& p, Head& head, const Place& in_cache) {
  if (head.tensor == kTensorQ) return;
  const Tensor& tensor = tensor_of(p, head.tensor);
  const u64 bytes = offset(head.number, tensor.to_strides[spec::head_axis]);
  head.to = address(tensor.to, in_cache, bytes, tensor.to_strides);
  head.exists = head.exists && in_cache.exists;
}

// Whether a unit of a head is read and written: copied elements are not where a tensor is in place.
QUERN_DEVICE bool moves(const Head& head, const Unit& unit) {
  const bool in_place = spec::in_place && (head.tensor == kTensorQ || (head.tensor == kTensorK && !kHasCache));
  return head.exists && (!in_place || unit.rotates);
}

QUERN_DEVICE const u8* read_at(const Head& head, u32 element) {
  return reinterpret_cast<const u8*>(head.from + element * sizeof(Element));
}
QUERN_DEVICE u8* write_at(const Head& head, u32 element) {
  return reinterpret_cast<u8*>(head.to + element * (is_quantized(head.tensor) ? 1 : sizeof(Element)));
}

// Values of a head that are not rotated and not quantized stay as bits.
QUERN_DEVICE Values transform(const Values& values, bool rotates, const Angles& angles, u32 tensor, float factor) {
  if (!rotates && !is_quantized(tensor)) return values;
  float low[kElements], high[kElements];
  unpack<Element, kElements>(values.low, low);
  unpack<Element, kElements>(values.high, high);
  if (rotates) rotate_pairs(low, high, angles);
  return {encode(low, tensor, factor), encode(high, tensor, factor)};
}

// The heads that a thread has at a time.
struct Heads {
  Head heads[spec::unroll];
  Values values[spec::unroll];
};

// `first`: the number of the first one.
QUERN_DEVICE Heads read_heads(const Params& p, const Place& here, const Unit& unit, u32 first) {
  Heads read;
  QUERN_UNROLL for (int i = 0; i < spec::unroll; ++i) {
    Head& head = read.heads[i];
    head = head_at(p, here, first + i * p.groups);
    const bool moved = moves(head, unit);
    read.values[i].low = load_if<spec::vector>(moved, read_at(head, unit.low));
    read.values[i].high = load_if<spec::vector>(moved && unit.has_high, read_at(head, unit.high));
  }
  return read;
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_HEAD_CUH_
