#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "base/parallel.h"
#include "common/host_types.h"
#include "interaction/problem.h"
#include "interaction/shape.h"

namespace quern::interaction {
namespace {

// A sum in the order of its terms: of fp32 as the kernel's; of 16-bit numbers, whose products are exact in it, in fp64,
// since tensor cores add in an order that is not known.
template <class T>
struct Sum {
  double value = 0;
  void add(float a, float b) { value += static_cast<double>(a) * static_cast<double>(b); }
  void add(float x) { value += static_cast<double>(x); }
  T rounded() const { return common::from_compute<T>(static_cast<float>(value)); }
};
template <>
struct Sum<float> {
  float value = 0;
  void add(float a, float b) { value = std::fma(a, b, value); }
  void add(float x) { value += x; }
  float rounded() const { return value; }
};

// The operands of a sample.
template <class T>
struct Sample {
  const Interaction& p;
  const T* source;
  const T* gradient;
  T* out;  // or the gradient of source

  float number(std::int64_t i) const { return common::to_float(source[i]); }
  float number(std::int64_t vector, std::int64_t k) const { return number(vector * p.dim + k); }
  // Of the pair of two vectors; on the diagonal 0 where it has none.
  float gradient_of(std::int64_t i, std::int64_t j) const {
    if (i == j && !has_diagonal(p)) return 0;
    return common::to_float(gradient[p.dense + pairs_before(p, std::max(i, j)) + std::min(i, j)]);
  }
};

template <class T>
void lower(const Sample<T>& s) {
  const Interaction& p = s.p;
  std::copy(s.source, s.source + p.dense, s.out);
  T* to = s.out + p.dense;
  for (std::int64_t i = 0; i < p.features; ++i) {
    for (std::int64_t j = 0; j < i + p.diagonal; ++j) {
      Sum<T> sum;
      for (std::int64_t k = 0; k < p.dim; ++k) sum.add(s.number(i, k), s.number(j, k));
      *to++ = sum.rounded();
    }
  }
}

template <class T>
void lower_backward(const Sample<T>& s) {
  const Interaction& p = s.p;
  for (std::int64_t i = 0; i < p.features; ++i) {
    for (std::int64_t k = 0; k < p.dim; ++k) {
      Sum<T> sum;
      for (std::int64_t j = 0; j < p.features; ++j) sum.add(s.gradient_of(i, j), s.number(j, k));
      if (has_diagonal(p)) sum.add(s.gradient_of(i, i), s.number(i, k));
      const std::int64_t place = i * p.dim + k;
      if (place < p.dense) sum.add(common::to_float(s.gradient[place]));
      s.out[place] = sum.rounded();
    }
  }
}

template <class T>
void outer(const Sample<T>& s) {
  const std::int64_t width = numbers_of(s.p);
  for (std::int64_t i = 0; i < width; ++i) {
    for (std::int64_t j = first_of_row(s.p, i); j < width; ++j)
      s.out[row_place(s.p, i) + j] = common::from_compute<T>(s.number(i) * s.number(j));
  }
}

// Adds up neighbours, then sums of two, and so on.
template <std::size_t N>
float pairwise(std::array<float, N> sums) {
  for (std::size_t step = 1; step < N; step *= 2) {
    for (std::size_t i = 0; i < N; i += 2 * step) sums[i] += sums[i + step];
  }
  return sums[0];
}

// As the kernel adds up: 8 warps, 32 lanes, and two columns of 16 bytes of a band in a lane.
template <class T>
struct OuterGradient {
  static constexpr std::int64_t kOfColumn = 16 / sizeof(T), kBand = 64 * kOfColumn;
  const Sample<T>& s;
  std::int64_t width;

  float gradient(std::int64_t i, std::int64_t j) const { return common::to_float(s.gradient[row_place(s.p, i) + j]); }

  float of_row(std::int64_t i) const {
    float all = 0;
    for (std::int64_t band = 0; band < width; band += kBand) {
      std::array<float, 32> lanes{};
      for (std::int64_t j = std::max(band, first_of_row(s.p, i)); j < std::min(band + kBand, width); ++j) {
        float& sum = lanes[static_cast<std::size_t>(j / kOfColumn % 32)];
        sum = std::fma(gradient(i, j), s.number(j), sum);
      }
      all = band == 0 ? pairwise(lanes) : all + pairwise(lanes);
    }
    return all;
  }

  float of_column(std::int64_t j) const {
    std::array<float, 8> warps{};
    for (std::int64_t i = 0; i < width; ++i) {
      if (j < first_of_row(s.p, i)) break;
      float& sum = warps[static_cast<std::size_t>(i % 8)];
      sum = std::fma(gradient(i, j), s.number(i), sum);
    }
    return pairwise(warps);
  }
};

template <class T>
void outer_backward(const Sample<T>& s) {
  const OuterGradient<T> sums{s, numbers_of(s.p)};
  for (std::int64_t i = 0; i < sums.width; ++i) s.out[i] = common::from_compute<T>(sums.of_row(i) + sums.of_column(i));
}

template <class T>
void of_sample(const Sample<T>& s) {
  if (is_lower(s.p)) return is_backward(s.p) ? lower_backward(s) : lower(s);
  return is_backward(s.p) ? outer_backward(s) : outer(s);
}

template <class T>
const T* at(const T* data, std::int64_t elements) {
  return data == nullptr ? nullptr : data + elements;
}

template <class T>
void all_samples(const Interaction& p, const InteractionArgs& a) {
  const auto* const source = static_cast<const T*>(a.source.data);
  const auto* const gradient = static_cast<const T*>(a.gradient.data);
  T* const out = static_cast<T*>(is_backward(p) ? a.source_gradient.data : a.out.data);
  const std::int64_t out_step = is_backward(p) ? source_stride(p) : out_stride(p);
  const std::int64_t work = numbers_of(p) * (is_lower(p) ? p.features : numbers_of(p));
  parallel_for(p.batch, 1 + (1 << 20) / work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      of_sample(Sample<T>{p, source + i * source_stride(p), at(gradient, i * out_stride(p)), out + i * out_step});
  });
}

}  // namespace

void reference(const Interaction& p, const InteractionArgs& a) {
  common::with_float(p.dtype, [&](auto x) {
    using T = decltype(x);
    if constexpr (!std::is_same_v<T, double>) all_samples<T>(p, a);
  });
}

}  // namespace quern::interaction
