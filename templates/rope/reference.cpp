// The plain reference: the formula of rope.h, pair by pair.
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "common/host_types.h"
#include "rope/problem.h"
#include "rope/turns.cuh"

namespace quern::rope {
namespace {

// A token's entries of the table, by axis.
struct Entry {
  bool exists;
  std::int64_t positions[4];
  bool is_written;  // the token is of a sequence
};

// The number in a whole sequence of token `token` of the `length` of it that a rank has.
std::int64_t place_in_chunks(const Rope& p, const RopeArgs& a, std::int64_t token, std::int64_t length) {
  if (!has_chunks(p)) return token;
  const std::int64_t chunk = length / 2, number = token < chunk ? a.cp_rank : 2 * p.cp_size - 1 - a.cp_rank;
  return number * chunk + (token < chunk ? token : token - chunk);
}

Entry entry_of(const Rope& p, const RopeArgs& a, std::int64_t batch, std::int64_t token) {
  const std::int64_t in_all = batch * p.seq + token;
  std::int64_t in_sequence = token;
  if (is_packed(p)) {
    const auto* const begins = static_cast<const std::int32_t*>(a.cu_seqlens.data);
    for (batch = p.batch; batch >= 0 && begins[batch] / p.cp_size > token;) --batch;
    if (batch < 0 || batch == p.batch) return {false, {}, false};
    const std::int64_t begin = begins[batch] / p.cp_size, length = begins[batch + 1] / p.cp_size - begin;
    in_sequence = place_in_chunks(p, a, token - begin, length);
  } else {
    in_sequence = place_in_chunks(p, a, token, p.seq);
  }
  const auto read = [&](std::int64_t at) { return common::read_integer(p.index, a.positions.data, at); };
  Entry entry = {true, {}, true};
  for (std::int64_t axis = 0; axis < axes(p); ++axis) {
    const std::int64_t on_axis = axis * batches(p) * p.seq + in_all;
    const std::int64_t position = a.offset + (p.position == RopePosition::sequence ? in_sequence
                                              : p.position == RopePosition::starts ? in_sequence + read(batch)
                                              : p.position == RopePosition::ids    ? read(on_axis)
                                                                                   : on_axis);
    entry.positions[axis] = position;
    if (has_table(p) && (position < 0 || position >= table_rows(p))) entry.exists = false;
  }
  return entry;
}

struct Angle {
  float cos;
  float sin;
};

// Those of a pair's two elements, which are the same but for table=angles.
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
  const std::int64_t at = position * table_stride(p) + j;
  const auto cos = static_cast<float>(common::read_float(p.table_dtype, a.cos.data, at));
  const auto sin = static_cast<float>(
      common::read_float(p.table_dtype, joined ? a.cos.data : a.sin.data, at + (joined ? rotary_dim(p) / 2 : 0)));
  return {cos, sin};
}

// The matrix of a pair is cos0, -sin0; sin1, cos1. The gradient's is the transposed one.
template <class T>
void rotate_pair(const Rope& p, Angles angles, const T* from, T* to, std::int64_t first, std::int64_t second) {
  if (p.pass != RopePass::forward) {
    std::swap(angles.first.sin, angles.second.sin);
    angles.first.sin = -angles.first.sin;
    angles.second.sin = -angles.second.sin;
  }
  const float x0 = common::to_float(from[first]), x1 = common::to_float(from[second]);
  to[first] = common::from_compute<T>(std::fma(x0, angles.first.cos, -(x1 * angles.first.sin)));
  to[second] = common::from_compute<T>(std::fma(x1, angles.second.cos, x0 * angles.second.sin));
}

template <class T>
void rotate_head(const Source& source, const Entry& entry, const T* from, T* to) {
  const Rope& p = source.p;
  if (from != to) std::memcpy(to, from, static_cast<std::size_t>(p.head_dim) * sizeof(T));
  const std::int64_t half = rotary_dim(p) / 2;
  for (std::int64_t j = 0; j < half && entry.exists; ++j) {
    const std::int64_t first = is_interleaved(p) ? 2 * j : j, second = first + (is_interleaved(p) ? 1 : half);
    const std::int64_t position = entry.positions[axis_of(p, j)];
    const Angle one = has_angles(p) ? Angle{} : angle_of(source, position, j);
    const Angles angles = has_angles(p) ? read_angles(source, position, first, second) : Angles{one, one};
    rotate_pair(p, angles, from, to, p.rotary_offset + first, p.rotary_offset + second);
  }
}

struct Side {
  std::int64_t heads;
  const void* from;
  void* to;
  Strides from_strides, to_strides;
};

void rotate_token(const Source& source, const Side& side, std::int64_t batch, std::int64_t token) {
  const Rope& p = source.p;
  const Entry entry = entry_of(p, source.a, batch, token);
  if (!entry.is_written) return;
  const auto place = [&](const Strides& s, std::int64_t head) {
    return batch * s.of[kBatch] + token * s.of[kToken] + head * s.of[kHead];
  };
  common::with_float(p.dtype, [&](auto x) {
    using T = decltype(x);
    if constexpr (sizeof(T) == 8)
      return;  // check refuses f64
    else
      for (std::int64_t head = 0; head < side.heads; ++head)
        rotate_head(source, entry, static_cast<const T*>(side.from) + place(side.from_strides, head),
                    static_cast<T*>(side.to) + place(side.to_strides, head));
  });
}

Side side_of(const Rope& p, std::int64_t heads, const void* from, const List<3>& from_strides, void* to,
             const List<3>& to_strides) {
  const Strides out = strides_of(p, heads, to_strides);
  if (is_in_place(p)) return {heads, to, to, out, out};
  return {heads, from, to, strides_of(p, heads, from_strides), out};
}

}  // namespace

void run_reference(const Rope& p, const RopeArgs& a) {
  const Source source = source_of(p, a);
  const Side sides[] = {side_of(p, p.heads, a.q.data, p.q_strides, a.q_out.data, p.q_out_strides),
                        side_of(p, p.kv_heads, a.k.data, p.k_strides, a.k_out.data, p.k_out_strides)};
  parallel_for(batches(p) * p.seq, 1 + (1 << 16) / (1 + all_heads(p) * p.head_dim),
               [&](std::int64_t i, std::int64_t end) {
                 for (; i < end; ++i) {
                   for (const Side& side : sides) rotate_token(source, side, i / p.seq, i % p.seq);
                 }
               });
  if (p.beyond != RopeBeyond::report || all_heads(p) == 0) return;
  auto& report = *static_cast<std::uint64_t*>(a.report.data);
  for (std::int64_t i = 0; i < batches(p) * p.seq; ++i) {
    const Entry entry = entry_of(p, a, i / p.seq, i % p.seq);
    if (entry.is_written && !entry.exists) report = std::min(report, static_cast<std::uint64_t>(i));
  }
}

}  // namespace quern::rope
