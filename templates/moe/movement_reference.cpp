// The plain reference of the families that move rows. Sums are in fp32 and in the order of the kernels.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "common/host_types.h"
#include "moe/movement.h"
#include "mx/block_scale.h"

namespace quern::moe {
namespace {

// A row, or -1 for one that the matrix does not have.
std::int32_t inside(const Movement& m, std::int32_t row) { return row < capacity_of(m) ? std::max(row, -1) : -1; }

std::int32_t row_of(const Movement& m, const Operands& o, std::int64_t token, std::int64_t k) {
  return inside(m, static_cast<const std::int32_t*>(o.token_rows)[token * m.topk + k]);
}

const std::byte* row_at(const Movement& m, const void* rows, std::int64_t row) {
  return static_cast<const std::byte*>(rows) + row * row_bytes(m);
}
std::byte* row_at(const Movement& m, void* rows, std::int64_t row) {
  return static_cast<std::byte*>(rows) + row * row_bytes(m);
}

// Where the probability of a route with a row is.
std::int64_t place_of_prob(const Movement& m, const Operands& o, std::int64_t token, std::int64_t k) {
  const std::int64_t route = token * m.topk + k;
  return m.dense ? token * m.rules.experts + static_cast<const std::int32_t*>(o.token_experts)[route] : route;
}

float prob_at(const Movement& m, const Operands& o, std::int64_t at) {
  return static_cast<float>(common::read_float(m.probs, o.probs, at));
}

// probs are bits where they move with the rows. From null: zeros.
void copy_prob(const Movement& m, const Operands& o, std::int64_t to, std::int64_t from) {
  const auto size = static_cast<std::size_t>(bytes(m.probs));
  auto* const out = static_cast<std::byte*>(o.out_probs) + to * bytes(m.probs);
  if (from < 0) std::memset(out, 0, size);
  if (from >= 0) std::memcpy(out, static_cast<const std::byte*>(o.probs) + from * bytes(m.probs), size);
}

// Of a token, before those of its routes with a row are written.
void clear_probs(const Movement& m, const Operands& o, std::int64_t token) {
  if (!collects_probs(m)) return;
  const std::int64_t size = (m.dense ? m.rules.experts : m.topk) * bytes(m.probs);
  std::memset(static_cast<std::byte*>(o.out_probs) + token * size, 0, static_cast<std::size_t>(size));
}

// A row, or what quantization makes of it.
struct Made {
  std::vector<std::byte> elements;
  std::vector<std::uint32_t> scales;
};

mx::BlockScale scale_of(const Movement& m, const Operands& o, const float* values, std::int64_t count) {
  if (has_given_scale(m)) return mx::fp32_scale(*static_cast<const float*>(o.given_scale));
  float amax = 0;
  for (std::int64_t i = 0; i < count; ++i) amax = mx::larger_magnitude(m.policy, amax, values[i]);
  return mx::scale_of_block({m.element, m.mode, m.policy, m.scaling != MoeScaling::mx}, amax);
}

// A token's row, times the factor of this number.
std::vector<std::byte> multiplied_row(const Movement& m, const Operands& o, std::int64_t token, std::int64_t number) {
  const std::byte* const row = row_at(m, o.source, token);
  std::vector<std::byte> products(row, row + row_bytes(m));
  if (!has_factors(m)) return products;
  const auto factor = static_cast<float>(common::read_float(m.factors, o.factors, number));
  common::with_float(m.dtype, [&](auto x) {
    using T = decltype(x);
    if constexpr (!std::is_same_v<T, double>) {
      T* const values = reinterpret_cast<T*>(products.data());
      for (std::int64_t i = 0; i < m.hidden; ++i)
        values[i] = common::from_compute<T>(common::to_float(values[i]) * factor);
    }
  });
  return products;
}

Made quantized_row(const Movement& m, const Operands& o, const std::vector<std::byte>& row) {
  Made made;
  std::vector<float> values;
  for (std::int64_t i = 0; i < m.hidden; ++i)
    values.push_back(static_cast<float>(common::read_float(m.dtype, row.data(), i)));
  const std::int64_t length = block_length(m) == 0 ? std::max<std::int64_t>(1, m.hidden) : block_length(m);
  // A row without elements has a scale too, if each row has one.
  for (std::int64_t first = 0; first < std::max<std::int64_t>(m.hidden, scales_rows(m)); first += length) {
    const std::int64_t count = std::min(length, m.hidden - first);
    const mx::BlockScale scale = scale_of(m, o, values.data() + first, count);
    made.scales.push_back(scale.stored);
    for (std::int64_t i = first; i < first + count; ++i)
      made.elements.push_back(
          std::byte{mx::encode_element(m.element, values[static_cast<std::size_t>(i)] * scale.reciprocal)});
  }
  return made;
}

Made made_row(const Movement& m, const Operands& o, std::int64_t token, std::int64_t factor) {
  const std::vector<std::byte> row = multiplied_row(m, o, token, factor);
  return quantizes(m) ? quantized_row(m, o, row) : Made{row, {}};
}

void put_made(const Movement& m, const Operands& o, std::int64_t row, const Made& made) {
  auto* const out = static_cast<std::byte*>(o.out) + row * out_row_bytes(m);
  std::copy(made.elements.begin(), made.elements.end(), out);
  if (!quantizes(m) || has_given_scale(m)) return;
  const std::int64_t size = bytes(scale_type(m));
  for (std::int64_t block = 0; block < made_scales_of_row(m); ++block) {
    const auto b = static_cast<std::size_t>(block);
    const std::uint32_t scale = b < made.scales.size() ? made.scales[b] : 0;
    std::memcpy(static_cast<std::byte*>(o.out_scales) + made_scale_index(m, row, block) * size, &scale,
                static_cast<std::size_t>(size));
  }
}

// Of a padding row, or of a route whose probability is 0.
void put_zeros(const Movement& m, const Operands& o, std::int64_t row) {
  put_made(m, o, row, {std::vector<std::byte>(static_cast<std::size_t>(out_row_bytes(m))), {}});
}

// The scales of a row; of no token: zeros.
void copy_scales(const Movement& m, const Operands& o, std::int64_t row, std::int64_t token) {
  if (m.scaling == MoeScaling::none || quantizes(m)) return;
  const std::int64_t size = scales_of_row(m) * bytes(scale_type(m));
  auto* const out = static_cast<std::byte*>(o.out_scales) + row * size;
  const auto* const scales = static_cast<const std::byte*>(o.scales);
  if (size > 0 && token < 0) std::memset(out, 0, static_cast<std::size_t>(size));
  if (size > 0 && token >= 0) std::memcpy(out, scales + token * size, static_cast<std::size_t>(size));
}

// In the plain layout, with zeros after the last of a row.
void put_token_scales(const Movement& m, const Operands& o, std::int64_t token, const Made& made) {
  auto* const out = static_cast<std::byte*>(o.token_scales) + token * made_scales_of_row(m);
  for (std::int64_t block = 0; block < made_scales_of_row(m); ++block) {
    const auto b = static_cast<std::size_t>(block);
    out[b] = static_cast<std::byte>(b < made.scales.size() ? made.scales[b] : 0);
  }
}

void clear_rows(const Movement& m, const Operands& o) {
  if (!clears_pads(m)) return;
  const auto* const pads = static_cast<const std::int32_t*>(o.pads);
  for (std::int64_t i = 0; i < capacity_of(m) && inside(m, pads[i]) >= 0; ++i) {
    put_zeros(m, o, pads[i]);
    if (has_probs(m) && !m.weighted) copy_prob(m, o, pads[i], -1);
    copy_scales(m, o, pads[i], -1);
  }
}

void dispatch_token(const Movement& m, const Operands& o, std::int64_t token) {
  Made made = made_row(m, o, token, m.route_factors ? token * m.topk : token);
  if (m.blocked) put_token_scales(m, o, token, made);
  for (std::int64_t k = 0; k < m.topk; ++k) {
    const std::int32_t row = row_of(m, o, token, k);
    if (row < 0) continue;
    const std::int64_t place = has_probs(m) ? place_of_prob(m, o, token, k) : 0;
    const bool zero = has_probs(m) && prob_at(m, o, place) == 0;
    if (m.route_factors) made = made_row(m, o, token, token * m.topk + k);
    if (zero) put_zeros(m, o, row);
    if (!zero) put_made(m, o, row, made);
    if (has_probs(m)) copy_prob(m, o, row, place);
    copy_scales(m, o, row, zero ? -1 : token);
  }
}

template <class T>
void combine_token(const Movement& m, const Operands& o, std::int64_t token) {
  std::vector<float> sums(static_cast<std::size_t>(m.hidden));
  clear_probs(m, o, token);
  for (std::int64_t k = 0; k < m.topk; ++k) {
    const std::int32_t row = row_of(m, o, token, k);
    if (row < 0) continue;
    const std::int64_t place = has_probs(m) ? place_of_prob(m, o, token, k) : 0;
    if (collects_probs(m)) copy_prob(m, o, place, row);
    const float weight = m.weighted && has_probs(m) ? prob_at(m, o, place) : 1;
    const T* const values = reinterpret_cast<const T*>(row_at(m, o.source, row));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = std::fmaf(weight, common::to_float(values[i]), sums[i]);
  }
  const T* const residual = m.residual ? reinterpret_cast<const T*>(row_at(m, o.residual, token)) : nullptr;
  T* const out = reinterpret_cast<T*>(row_at(m, o.out, token));
  for (std::size_t i = 0; i < sums.size(); ++i)
    out[i] = common::from_compute<T>(residual == nullptr ? sums[i] : sums[i] + common::to_float(residual[i]));
}

// The sums of chunks of 16 bytes in the order that moe/segments.cuh describes.
template <int kCount>
float tree_sum(float (&sums)[kCount]) {
  for (int half = kCount / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}
template <class T>
float dot(const T* a, const T* b, std::int64_t count) {
  constexpr std::int64_t kChunk = 16 / sizeof(T);
  float all = 0;
  for (std::int64_t first = 0; first < count; first += std::int64_t{4} * 32 * kChunk) {
    float chunks[4][32] = {};
    for (std::int64_t i = first; i < std::min(count, first + std::int64_t{4} * 32 * kChunk); ++i) {
      float& sum = chunks[(i - first) / kChunk / 32][(i - first) / kChunk % 32];
      sum = std::fmaf(common::to_float(a[i]), common::to_float(b[i]), sum);
    }
    const float of[4] = {tree_sum(chunks[0]), tree_sum(chunks[1]), tree_sum(chunks[2]), tree_sum(chunks[3])};
    all += (of[0] + of[1]) + (of[2] + of[3]);
  }
  return all;
}

template <class T>
void gradient_of_token(const Movement& m, const Operands& o, std::int64_t token) {
  const T* const gradient = reinterpret_cast<const T*>(row_at(m, o.source, token));
  clear_probs(m, o, token);
  for (std::int64_t k = 0; k < m.topk; ++k) {
    const std::int32_t row = row_of(m, o, token, k);
    if (row < 0) continue;
    const std::int64_t place = place_of_prob(m, o, token, k);
    const float weight = prob_at(m, o, place);
    T* const out = reinterpret_cast<T*>(row_at(m, o.out, row));
    for (std::int64_t i = 0; i < m.hidden; ++i)
      out[i] = common::from_compute<T>(common::to_float(gradient[i]) * weight);
    const float of_weight = dot(reinterpret_cast<const T*>(row_at(m, o.rows, row)), gradient, m.hidden);
    common::with_float(m.probs, [&](auto x) {
      using P = decltype(x);
      static_cast<P*>(o.out_probs)[place] = common::from_compute<P>(of_weight);
    });
  }
}

template <class T>
void factor_gradient_of_token(const Movement& m, const Operands& o, std::int64_t token) {
  const T* const moved = reinterpret_cast<const T*>(row_at(m, o.rows, token));
  std::vector<float> sums(static_cast<std::size_t>(m.hidden));
  float of_token = 0;
  const auto put_factor = [&](std::int64_t at, float gradient) {
    common::with_float(m.factors, [&](auto x) {
      using F = decltype(x);
      static_cast<F*>(o.out_factors)[at] = common::from_compute<F>(gradient);
    });
  };
  clear_probs(m, o, token);
  for (std::int64_t k = 0; k < m.topk; ++k) {
    const std::int64_t route = token * m.topk + k, at = m.route_factors ? route : token;
    const std::int32_t row = row_of(m, o, token, k);
    if (m.route_factors && row < 0) put_factor(route, 0);
    if (row < 0) continue;
    if (has_probs(m)) copy_prob(m, o, place_of_prob(m, o, token, k), row);
    const T* const gradient = reinterpret_cast<const T*>(row_at(m, o.source, row));
    const auto factor = static_cast<float>(common::read_float(m.factors, o.factors, at));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = std::fmaf(factor, common::to_float(gradient[i]), sums[i]);
    const float of_route = dot(gradient, moved, m.hidden);
    of_token += of_route;
    if (m.route_factors) put_factor(route, of_route);
  }
  if (!m.route_factors) put_factor(token, of_token);
  T* const out = reinterpret_cast<T*>(row_at(m, o.out, token));
  for (std::size_t i = 0; i < sums.size(); ++i) out[i] = common::from_compute<T>(sums[i]);
}

// Of each row of a matrix in chunks, where it goes. Sizes and orders that are undefined name no row outside of it.
std::vector<std::int64_t> moved_rows(const Movement& m, const Operands& o) {
  std::vector<std::int64_t> first(static_cast<std::size_t>(m.chunks) + 1), moved(static_cast<std::size_t>(m.tokens));
  for (std::int64_t c = 0; c < m.chunks; ++c)
    first[static_cast<std::size_t>(c) + 1] =
        first[static_cast<std::size_t>(c)] + common::read_integer(m.index, o.sizes, c);
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < m.chunks; ++i) {
    const std::int64_t chunk = common::read_integer(m.index, o.order, i);
    if (chunk < 0 || chunk >= m.chunks) continue;
    const std::int64_t end = std::min(m.tokens, first[static_cast<std::size_t>(chunk) + 1]);
    for (std::int64_t row = std::max<std::int64_t>(0, first[static_cast<std::size_t>(chunk)]); row < end; ++row)
      moved[static_cast<std::size_t>(row)] = std::min(m.tokens - 1, next++);
  }
  for (; next < m.tokens; ++next) moved[static_cast<std::size_t>(next)] = next;
  return moved;
}

void reorder_on_host(const Movement& m, const Operands& o) {
  const std::vector<std::int64_t> moved = moved_rows(m, o);
  const auto size = static_cast<std::size_t>(row_bytes(m));
  for (std::int64_t row = 0; row < m.tokens; ++row) {
    const std::int64_t other = moved[static_cast<std::size_t>(row)];
    const std::int64_t from = m.backward ? other : row, to = m.backward ? row : other;
    if (size > 0) std::memcpy(row_at(m, o.out, to), row_at(m, o.source, from), size);
    if (has_probs(m)) copy_prob(m, o, to, from);
    copy_scales(m, o, to, from);
  }
}

void move_token(const Movement& m, const Operands& o, std::int64_t token) {
  if (m.form == Form::dispatch) return dispatch_token(m, o, token);
  common::with_float(m.dtype, [&](auto x) {
    using T = decltype(x);
    if constexpr (!std::is_same_v<T, double>) {
      if (m.form == Form::combine) combine_token<T>(m, o, token);
      if (m.form == Form::combine_gradient) gradient_of_token<T>(m, o, token);
      if (m.form == Form::factor_gradient) factor_gradient_of_token<T>(m, o, token);
    }
  });
}

}  // namespace

void move_on_host(const Movement& m, const Operands& operands) {
  if (m.form == Form::reorder) return reorder_on_host(m, operands);
  clear_rows(m, operands);
  if (m.hidden == 0 && !has_probs(m) && m.scaling == MoeScaling::none && m.form != Form::factor_gradient) return;
  parallel_for(m.tokens, 1 + (1 << 18) / (m.topk * std::max<std::int64_t>(1, row_bytes(m))),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t token = begin; token < end; ++token) move_token(m, operands, token);
               });
}

}  // namespace quern::moe
