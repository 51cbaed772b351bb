// The plain reference of scatter. Sums are in fp32 and in the order of the kernel.
#include <cmath>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "common/host_types.h"
#include "scatter/problem.h"

namespace quern::scatter {
namespace {

class Reference {
 public:
  Reference(const Scatter& p, const ScatterArgs& a) : p_(p), a_(a) {}

  void run() const {
    if (is_ordered(p_)) return run_ordered();
    if (is_unique(p_)) return run_unique();
    parallel_for(p_.count, 1 + (1 << 20) / row_bytes(p_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) put({i});
    });
  }

 private:
  void clear_rows() const {
    for (std::int64_t row = 0; row < p_.rows; ++row)
      std::memset(out_at(row), 0, static_cast<std::size_t>(row_bytes(p_)));
  }

  // Of equal indices the last one.
  void run_unique() const {
    clear_rows();
    std::vector<std::int64_t> positions(static_cast<std::size_t>(p_.rows), -1);
    for (std::int64_t i = 0; i < p_.count; ++i) {
      const std::int64_t row = row_of(i);
      if (row >= 0 && row < p_.rows) positions[static_cast<std::size_t>(row)] = i;
    }
    parallel_for(p_.rows, 1 + (1 << 20) / row_bytes(p_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        if (const std::int64_t i = positions[static_cast<std::size_t>(row)]; i >= 0) put({i});
      }
    });
  }

  void run_ordered() const {
    if (zeroes(p_)) clear_rows();
    std::vector<std::int64_t> segment;
    for (std::int64_t place = 0; place < p_.count; ++place) {
      segment.push_back(static_cast<const std::int32_t*>(a_.order.data)[place]);
      const bool last = place + 1 == p_.count ||
                        row_of(static_cast<const std::int32_t*>(a_.order.data)[place + 1]) != row_of(segment[0]);
      if (!last) continue;
      put(segment);
      segment.clear();
    }
  }

  // The rows at these positions, which have the same index.
  void put(const std::vector<std::int64_t>& positions) const {
    const std::int64_t row = row_of(positions[0]);
    if (skips(p_) && (row < 0 || row >= p_.rows)) return;
    if (!adds(p_)) {
      std::memcpy(out_at(row), source_at(positions.back()), static_cast<std::size_t>(row_bytes(p_)));
      return;
    }
    common::with_float(p_.dtype, [&](auto x) {
      using T = decltype(x);
      if constexpr (sizeof(T) <= 4) add<T>(row, positions);
    });
  }

  template <class T>
  void add(std::int64_t row, const std::vector<std::int64_t>& positions) const {
    T* const out = reinterpret_cast<T*>(out_at(row));
    for (std::int64_t c = 0; c < p_.width; ++c) {
      const float sum = sum_of<T>(positions, c);
      const float old = zeroes(p_) ? 0 : common::to_float(out[c]);
      out[c] = common::from_compute<T>(result(c, sum, old));
    }
  }

  float result(std::int64_t column, float sum, float old) const {
    const bool factor = p_.factor == ScatterFactor::alpha || has_column_scale(p_);
    if (!factor) return zeroes(p_) ? sum : old + sum;
    float f = p_.factor == ScatterFactor::alpha ? a_.alpha : 1;
    if (has_column_scale(p_)) f *= static_cast<float>(common::read_float(p_.scale, a_.scale.data, column));
    return zeroes(p_) ? f * sum : std::fmaf(f, sum, old);
  }

  // Rows in groups, these in chunks, and chunks in sequence. -0 is what changes nothing.
  template <class T>
  float sum_of(const std::vector<std::int64_t>& positions, std::int64_t column) const {
    const auto count = static_cast<std::int64_t>(positions.size());
    float all = -0.0F;
    for (std::int64_t chunk = 0; chunk < count; chunk += kRowsOfChunk) {
      float of_chunk = -0.0F;
      for (std::int64_t group = chunk; group < std::min(count, chunk + kRowsOfChunk); group += kRowsOfGroup) {
        float of_group = -0.0F;
        for (std::int64_t i = group; i < std::min(count, group + kRowsOfGroup); ++i) {
          const std::int64_t at = positions[static_cast<std::size_t>(i)];
          const float value = common::to_float(reinterpret_cast<const T*>(source_at(at))[column]);
          of_group = has_row_scale(p_) ? std::fmaf(scale_at(at), value, of_group) : of_group + value;
        }
        of_chunk += of_group;
      }
      all += of_chunk;
    }
    return all;
  }

  float scale_at(std::int64_t at) const { return static_cast<float>(common::read_float(p_.scale, a_.scale.data, at)); }
  std::int64_t row_of(std::int64_t position) const { return common::read_integer(p_.index, a_.index.data, position); }
  const std::byte* source_at(std::int64_t position) const {
    return static_cast<const std::byte*>(a_.source.data) + position * source_stride(p_) * element_bytes(p_);
  }
  std::byte* out_at(std::int64_t row) const {
    return static_cast<std::byte*>(a_.out.data) + row * out_stride(p_) * element_bytes(p_);
  }

  const Scatter& p_;
  const ScatterArgs& a_;
};

}  // namespace

void scatter_on_host(const Scatter& p, const ScatterArgs& a) {
  for (std::int64_t o = 0; p.width > 0 && o < p.outer; ++o) {
    const std::int64_t size = element_bytes(p);
    ScatterArgs own = a;
    if (p.count > 0)
      own.source.data = static_cast<const std::byte*>(a.source.data) + o * p.count * source_stride(p) * size;
    if (p.rows > 0) own.out.data = static_cast<std::byte*>(a.out.data) + o * p.rows * out_stride(p) * size;
    Reference(p, own).run();
  }
}

}  // namespace quern::scatter
