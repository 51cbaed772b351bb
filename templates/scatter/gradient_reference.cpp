// The plain reference of the backward pass. Sums are in fp32 and in the order of the kernel.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "common/host_types.h"
#include "scatter/problem.h"

namespace quern::scatter {
namespace {

class Gradients {
 public:
  Gradients(const Scatter& p, const ScatterArgs& a) : p_(p), a_(a) {}

  template <class T>
  void run() const {
    parallel_for(all_rows(p_), 1 + (1 << 20) / std::max<std::int64_t>(1, row_bytes(p_)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) put_row<T>(row);
                 });
    if (has_row_scale(p_)) {
      for (std::int64_t i = 0; i < p_.count; ++i) store_scale(i, dot<T>(i));
    }
    if (has_column_scale(p_)) {
      for (std::int64_t c = 0; c < p_.width; ++c) store_scale(c, column_sum<T>(c));
    }
  }

 private:
  // Rows of source are numbered through all matrices.
  template <class T>
  void put_row(std::int64_t row) const {
    if (p_.width == 0) return;
    T* const out = static_cast<T*>(a_.source_gradient.data) + row * source_stride(p_);
    const T* const gradient = gradient_of<T>(row);
    const auto size = static_cast<std::size_t>(row_bytes(p_));
    if (gradient == nullptr) {
      std::memset(out, 0, size);
    } else if (!has_alpha(p_) && !has_scale(p_)) {
      std::memcpy(out, gradient, size);
    } else {
      for (std::int64_t c = 0; c < p_.width; ++c)
        out[c] = common::from_compute<T>(times_factors(common::to_float(gradient[c]), row % p_.count, c));
    }
  }

  float times_factors(float value, std::int64_t row, std::int64_t column) const {
    if (has_alpha(p_)) value *= a_.alpha;
    return has_scale(p_) ? value * scale_at(has_row_scale(p_) ? row : column) : value;
  }

  // 256 sums of every 256th product, of one matrix after the other, added up in a tree.
  template <class T>
  float dot(std::int64_t position) const {
    constexpr std::int64_t kSums = 256;
    float sums[kSums] = {};
    for (std::int64_t row = position; p_.width > 0 && row < all_rows(p_); row += p_.count) {
      const T* const gradient = gradient_of<T>(row);
      const T* const source = source_of<T>(row);
      for (std::int64_t c = 0; gradient != nullptr && c < p_.width; ++c)
        sums[c % kSums] = std::fmaf(common::to_float(gradient[c]), common::to_float(source[c]), sums[c % kSums]);
    }
    for (std::int64_t half = 1; half < kSums; half *= 2) {
      for (std::int64_t i = 0; i < kSums; i += 2 * half) sums[i] += sums[i + half];
    }
    return sums[0];
  }

  // Rows in groups, these in chunks, and chunks in sequence.
  template <class T>
  float column_sum(std::int64_t column) const {
    float all = 0;
    for (std::int64_t chunk = 0; chunk < all_rows(p_); chunk += kRowsOfChunk) {
      float of_chunk = 0;
      for (std::int64_t group = chunk; group < std::min(all_rows(p_), chunk + kRowsOfChunk); group += kRowsOfGroup) {
        float of_group = 0;
        for (std::int64_t i = group; i < std::min(all_rows(p_), group + kRowsOfGroup); ++i) {
          if (const T* const gradient = gradient_of<T>(i))
            of_group =
                std::fmaf(common::to_float(gradient[column]), common::to_float(source_of<T>(i)[column]), of_group);
        }
        of_chunk += of_group;
      }
      all += of_chunk;
    }
    return all;
  }

  void store_scale(std::int64_t at, float sum) const {
    if (has_alpha(p_)) sum *= a_.alpha;
    common::with_float(p_.scale, [&](auto x) {
      using T = decltype(x);
      if constexpr (sizeof(T) <= 4) static_cast<T*>(a_.scale_gradient.data)[at] = common::from_compute<T>(sum);
    });
  }

  float scale_at(std::int64_t at) const { return static_cast<float>(common::read_float(p_.scale, a_.scale.data, at)); }

  template <class T>
  const T* source_of(std::int64_t row) const {
    return static_cast<const T*>(a_.source.data) + row * source_stride(p_);
  }
  // Null where the index is skipped.
  template <class T>
  const T* gradient_of(std::int64_t row) const {
    const std::int64_t named = common::read_integer(p_.index, a_.index.data, row % p_.count);
    if (skips(p_) && (named < 0 || named >= p_.rows)) return nullptr;
    const std::int64_t first = p_.outer == 1 ? 0 : row / p_.count * p_.rows;
    return static_cast<const T*>(a_.gradient.data) + (first + named) * out_stride(p_);
  }

  const Scatter& p_;
  const ScatterArgs& a_;
};

}  // namespace

void gradients_on_host(const Scatter& p, const ScatterArgs& a) {
  common::with_float(p.dtype, [&](auto x) {
    using T = decltype(x);
    if constexpr (sizeof(T) <= 4) Gradients(p, a).run<T>();
  });
}

}  // namespace quern::scatter
