// The plain reference: the formula of rope.h, pair by pair.
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "common/host_types.h"
#include "mx/block_scale.h"
#include "rope/tensors.h"
#include "rope/turns.cuh"

namespace quern::rope {
namespace {

// A token's positions, by axis.
struct Positions {
  bool exist;  // in the table
  std::int64_t numbers[4];
  std::int64_t batch;  // or sequence
  bool is_written;     // the token is of a sequence
};

// The number in a whole sequence of token `token` of the `length` of it that a rank has.
std::int64_t place_in_chunks(const Rope& p, const RopeArgs& a, std::int64_t token, std::int64_t length) {
  if (!has_chunks(p)) return token;
  const std::int64_t chunk = length / 2, number = token < chunk ? a.cp_rank : 2 * p.cp_size - 1 - a.cp_rank;
  return number * chunk + (token < chunk ? token : token - chunk);
}

Positions positions_of(const Rope& p, const RopeArgs& a, std::int64_t batch, std::int64_t token) {
  const std::int64_t in_all = batch * p.seq + token;
  std::int64_t in_sequence = token;
  if (is_packed(p)) {
    const auto* const begins = static_cast<const std::int32_t*>(a.cu_seqlens.data);
    for (batch = p.batch; batch >= 0 && begins[batch] / p.cp_size > token;) --batch;
    if (batch < 0 || batch == p.batch) return {false, {}, 0, false};
    const std::int64_t begin = begins[batch] / p.cp_size, length = begins[batch + 1] / p.cp_size - begin;
    in_sequence = place_in_chunks(p, a, token - begin, length);
  } else {
    in_sequence = place_in_chunks(p, a, token, p.seq);
  }
  const auto read = [&](std::int64_t at) { return common::read_integer(p.index, a.positions.data, at); };
  Positions positions = {true, {}, batch, true};
  for (std::int64_t axis = 0; axis < axes(p); ++axis) {
    const std::int64_t on_axis = axis * batches(p) * p.seq + in_all;
    const std::int64_t position = a.offset + (p.position == RopePosition::sequence ? in_sequence
                                              : p.position == RopePosition::starts ? in_sequence + read(batch)
                                              : p.position == RopePosition::ids    ? read(on_axis)
                                                                                   : on_axis);
    positions.numbers[axis] = position;
    if (has_table(p) && (position < 0 || position >= table_rows(p))) positions.exist = false;
  }
  return positions;
}

struct Angle {
  float cos;
  float sin;
};

// Those of a pair's two elements, which are the same except with table=angles.
struct Angles {
  Angle first, second;
};

// Where angles come from.
struct Source {
  const Rope& p;
  const RopeArgs& a;
  std::vector<std::uint64_t> frequencies;  // table=computed
};

Source source_of(const Rope& p, const RopeArgs& a) {
  Source source{p, a, {}};
  for (std::int64_t j = 0; j < rotary_dim(p) / 2 && !has_table(p); ++j) source.frequencies.push_back(frequency(p, j));
  return source;
}

// Of a pair's elements, which have these numbers among the rotated ones.
Angles read_angles(const Source& source, std::int64_t position, std::int64_t first, std::int64_t second) {
  const auto read = [&](std::int64_t element) {
    Angle angle{};
    cosine_and_sine_of(static_cast<const float*>(source.a.angles.data)[position * table_stride(source.p) + element],
                       angle.cos, angle.sin);
    return angle;
  };
  return {read(first), read(second)};
}

// Of pair j.
Angle angle_of(const Source& source, std::int64_t position, std::int64_t j) {
  const auto& [p, a, frequencies] = source;
  if (!has_table(p)) {
    Angle angle{};
    cosine_and_sine(static_cast<std::uint64_t>(position) * frequencies[static_cast<std::size_t>(j)], angle.cos,
                    angle.sin);
    return angle;
  }
  const bool joined = p.table == RopeTable::joined;
  const std::int64_t at = position * table_stride(p) + entry_of(p, j);
  const auto cos = static_cast<float>(common::read_float(p.table_dtype, a.cos.data, at));
  const auto sin = static_cast<float>(
      common::read_float(p.table_dtype, joined ? a.cos.data : a.sin.data, at + (joined ? entries(p) : 0)));
  return {cos, sin};
}

// The matrix of a pair is cos0, -sin0; sin1, cos1. The gradient's is the transposed one.
void rotate_pair(const Rope& p, Angles angles, float& x0, float& x1) {
  if (p.pass != RopePass::forward) {
    std::swap(angles.first.sin, angles.second.sin);
    angles.first.sin = -angles.first.sin;
    angles.second.sin = -angles.second.sin;
  }
  const float out0 = std::fma(x0, angles.first.cos, -(x1 * angles.first.sin));
  x1 = std::fma(x1, angles.second.cos, x0 * angles.second.sin);
  x0 = out0;
}

// What a head becomes, in fp32, and which of its elements were rotated.
struct Rotated {
  std::vector<float> values;
  std::vector<bool> turned;
};

template <class T>
Rotated rotated_head(const Source& source, const Positions& positions, const T* from) {
  const Rope& p = source.p;
  Rotated head = {{}, std::vector<bool>(static_cast<std::size_t>(p.head_dim))};
  for (std::int64_t i = 0; i < p.head_dim; ++i) head.values.push_back(common::to_float(from[i]));
  for (std::int64_t j = 0; j < rotary_dim(p) / 2 && positions.exist; ++j) {
    const auto [first, second] = elements_of(p, j);
    const std::int64_t position = positions.numbers[section_of(p, j).axis];
    const Angle one = has_angles(p) ? Angle{} : angle_of(source, position, j);
    const Angles angles = has_angles(p) ? read_angles(source, position, first, second) : Angles{one, one};
    const auto at0 = static_cast<std::size_t>(p.rotary_offset + first),
               at1 = static_cast<std::size_t>(p.rotary_offset + second);
    rotate_pair(p, angles, head.values[at0], head.values[at1]);
    head.turned[at0] = head.turned[at1] = true;
  }
  return head;
}

// Elements that are not rotated are copied as bits.
template <class T>
void write_head(const Rotated& head, const T* from, T* to) {
  for (std::size_t i = 0; i < head.values.size(); ++i) {
    if (head.turned[i])
      to[i] = common::from_compute<T>(head.values[i]);
    else if (from != to)
      to[i] = from[i];
  }
}

// Where a quantized head goes, and its scales; or the scale that is given.
struct Codes {
  std::uint8_t* to;
  void* scales;
  const float* given;
};

void quantize_head(const Rope& p, const Rotated& head, const Codes& codes) {
  const std::int64_t length = block_length(p);
  for (std::int64_t first = 0; first < p.head_dim; first += length) {
    const std::int64_t end = std::min(first + length, p.head_dim);
    mx::BlockScale scale{};
    if (codes.given != nullptr) {
      scale = mx::fp32_scale(*codes.given);
    } else {
      float amax = 0;
      for (std::int64_t i = first; i < end; ++i)
        amax = mx::larger_magnitude(p.policy, amax, head.values[static_cast<std::size_t>(i)]);
      scale = mx::scale_of_block({p.element, p.mode, p.policy, has_fp32_scales(p)}, amax);
      if (has_fp32_scales(p))
        static_cast<std::uint32_t*>(codes.scales)[first / length] = scale.stored;
      else
        static_cast<std::uint8_t*>(codes.scales)[first / length] = static_cast<std::uint8_t>(scale.stored);
    }
    for (std::int64_t i = first; i < end; ++i)
      codes.to[i] = mx::encode_element(p.element, head.values[static_cast<std::size_t>(i)] * scale.reciprocal);
  }
}

// Of a token in a tensor, in a cache by page.
struct Place {
  std::int64_t batch, token;
};
constexpr Place kNowhere = {-1, -1};

Place place_in_cache(const Rope& p, const RopeArgs& a, const Positions& positions, std::int64_t in_all) {
  const std::int64_t pages = output_extents(p, kTensorK).of[kBatch], position = positions.numbers[0];
  if (p.cache == RopeCache::positions)
    return position < 0 || position >= p.page_size ? kNowhere : Place{positions.batch, position};
  const bool has_slots = p.cache == RopeCache::slots;
  const std::int64_t slot = has_slots ? common::read_integer(p.index, a.slots.data, in_all) : position;
  if (slot < 0) return kNowhere;
  std::int64_t page = slot / p.page_size;
  if (!has_slots) {
    if (page >= p.max_pages) return kNowhere;
    page = static_cast<const std::int32_t*>(a.pages.data)[positions.batch * p.max_pages + page];
  }
  return page < 0 || page >= pages ? kNowhere : Place{page, slot % p.page_size};
}

// A token's heads in a tensor.
struct Move {
  int tensor;
  Place from, to;
};

// Of a head in a tensor with such extents.
std::int64_t element(const Extents& extents, const Strides& s, const Place& place, std::int64_t head) {
  const std::int64_t in_group = std::max<std::int64_t>(1, extents.of[kHead]);
  return place.batch * s.of[kBatch] + place.token * s.of[kToken] + head % in_group * s.of[kHead] +
         head / in_group * s.of[kGroup];
}

Codes codes_of(const Source& source, const Move& move, std::int64_t head) {
  const auto& [p, a, frequencies] = source;
  const int tensor = move.tensor;
  const Extents extents = output_extents(p, tensor);
  auto* const to =
      static_cast<std::uint8_t*>(output_of(p, a, tensor)) + element(extents, output_strides(p, tensor), move.to, head);
  if (!makes_scales(p)) return {to, nullptr, static_cast<const float*>(scale_of(a, tensor))};
  const std::int64_t scale = element(extents, scale_strides(p, tensor), move.to, head);
  return {to, static_cast<std::byte*>(scales_of(a, tensor)) + scale * bytes(scale_type(p)), nullptr};
}

template <class T>
void move_heads(const Source& source, Positions positions, const Move& move) {
  const Rope& p = source.p;
  const int tensor = move.tensor;
  if (tensor == kTensorV) positions.exist = false;  // values are not rotated
  for (std::int64_t head = 0; head < heads_of(p, tensor); ++head) {
    const T* const from = static_cast<const T*>(input_of(p, source.a, tensor)) +
                          element(input_extents(p, tensor), input_strides(p, tensor), move.from, head);
    const Rotated made = rotated_head(source, positions, from);
    if (is_quantized(p, tensor))
      quantize_head(p, made, codes_of(source, move, head));
    else
      write_head(made, from,
                 static_cast<T*>(output_of(p, source.a, tensor)) +
                     element(output_extents(p, tensor), output_strides(p, tensor), move.to, head));
  }
}

void move_heads(const Source& source, const Positions& positions, const Move& move) {
  common::with_float(source.p.dtype, [&](auto x) {
    using T = decltype(x);
    if constexpr (sizeof(T) == 2 || std::is_same_v<T, float>)  // check refuses others
      move_heads<T>(source, positions, move);
  });
}

void move_token(const Source& source, std::int64_t batch, std::int64_t token) {
  const Rope& p = source.p;
  const Positions positions = positions_of(p, source.a, batch, token);
  if (!positions.is_written) return;
  const Place here = {batch, token};
  const Place in_cache = has_cache(p) ? place_in_cache(p, source.a, positions, batch * p.seq + token) : here;
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    const Place there = tensor == kTensorQ ? here : in_cache;
    if (!has_tensor(p, tensor) || there.batch < 0) continue;
    move_heads(source, positions, {tensor, here, there});
  }
}

}  // namespace

void run_reference(const Rope& p, const RopeArgs& a) {
  const Source source = source_of(p, a);
  parallel_for(batches(p) * p.seq, 1 + (1 << 16) / (1 + all_heads(p) * p.head_dim),
               [&](std::int64_t i, std::int64_t end) {
                 for (; i < end; ++i) move_token(source, i / p.seq, i % p.seq);
               });
  if (p.beyond != RopeBeyond::report || is_idle(p)) return;
  auto& report = *static_cast<std::uint64_t*>(a.report.data);
  for (std::int64_t i = 0; i < batches(p) * p.seq; ++i) {
    const Positions positions = positions_of(p, a, i / p.seq, i % p.seq);
    if (positions.is_written && !positions.exist) report = std::min(report, static_cast<std::uint64_t>(i));
  }
}

}  // namespace quern::rope
