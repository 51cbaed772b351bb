// The plain reference, and the indices of generated data.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "common/host_types.h"
#include "gather/operands.h"

namespace quern::gather {
namespace {

const std::byte* source_at(const Gather& p, const GatherArgs& a, std::int64_t row) {
  return static_cast<const std::byte*>(a.source.data) + row * source_stride(p) * element_bytes(p);
}

// The source row of a row of out, resolved on the host: null for a zero row.
const std::byte* resolve(const Gather& p, const GatherArgs& a, std::int64_t out_row) {
  std::int64_t row = common::read_integer(p.index, a.index.data, out_row % p.count);
  if (p.mode == GatherMode::wrap_negative && row < 0) row += p.rows;
  if (p.mode == GatherMode::clamp) row = std::clamp<std::int64_t>(row, 0, p.rows - 1);
  const bool inside = row >= 0 && (!checks(p) || row < p.rows);
  if (!inside) return nullptr;
  return source_at(p, a, p.outer == 1 ? row : out_row / p.count * p.rows + row);
}

template <class T>
void scale_row(T* row, std::int64_t width, double scale) {
  using Compute = common::ComputeOf<T>;
  for (std::int64_t i = 0; i < width; ++i)
    row[i] = common::from_compute<T>(common::to_compute(row[i]) * static_cast<Compute>(scale));
}

void report_bad(const GatherArgs& a, std::int64_t position) {
  auto& report = *static_cast<std::uint64_t*>(a.report.data);
  report = std::min(report, static_cast<std::uint64_t>(position));
}

std::int64_t rows_or_one(const Gather& p) { return std::max<std::int64_t>(1, p.rows); }

// Half of them are adjacent to the valid ones, to detect an off-by-one comparison.
std::int64_t bad_index(const Gather& p, std::uint64_t random) {
  if (p.mode == GatherMode::minus_one_is_zero) return -1;
  const bool below = random % 2 == 0 || p.mode == GatherMode::wrap_negative;
  const std::int64_t most = p.mode == GatherMode::wrap_negative ? rows_or_one(p) - 1 : 99;
  const std::int64_t beyond = random / 2 % 2 == 0 ? 0 : static_cast<std::int64_t>(random / 4 % (most + 1));
  return below ? -1 - beyond : p.rows + beyond;
}

std::uint64_t next(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

void shuffle(std::vector<std::int64_t>& order, std::uint64_t& state) {
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[next(state) * next(state) % i]);
}

std::int64_t bytes_limit(std::int32_t bytes) {
  return bytes >= 8 ? std::numeric_limits<std::int64_t>::max() : std::int64_t{1} << (8 * bytes - 1);
}
std::int64_t index_limit(DType type) {
  if (type == u8) return 256;
  return bytes_limit(quern::bytes(type));
}

}  // namespace

void reference(const Gather& p, const GatherArgs& a) {
  if (p.width == 0) return;  // no kernel is launched, so no index is checked either
  const std::int64_t size = element_bytes(p);
  const auto copy_rows = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::byte* out = static_cast<std::byte*>(a.out.data) + i * out_stride(p) * size;
      const std::byte* row = resolve(p, a, i);
      const auto bytes = static_cast<std::size_t>(row_bytes(p));
      if (row == nullptr) std::memset(out, 0, bytes);
      if (row != nullptr) std::memcpy(out, row, bytes);
      if (p.scale == DType::none) continue;
      const double scale = common::read_float(p.scale, a.scale.data, i % p.count);
      common::with_float(p.dtype, [&](auto x) { scale_row(reinterpret_cast<decltype(x)*>(out), p.width, scale); });
    }
  };
  parallel_for(all_rows(p), 1 + (1 << 20) / row_bytes(p), copy_rows);
  if (p.mode != GatherMode::report) return;
  for (std::int64_t i = 0; i < p.count && p.outer > 0; ++i) {
    if (resolve(p, a, i) == nullptr) report_bad(a, i);
  }
}

void fill_indices(const Gather& p, std::uint64_t seed, void* data) {
  const std::int64_t limit = std::min(rows_or_one(p), index_limit(p.index));
  std::vector<std::int64_t> order(static_cast<std::size_t>(limit));
  for (std::int64_t i = 0; i < limit; ++i) order[static_cast<std::size_t>(i)] = i;
  const bool some_bad = p.mode != GatherMode::assume_valid && p.mode != GatherMode::trap && p.index != u8;
  for (std::int64_t i = 0; i < p.count; ++i) {
    if (i % limit == 0) shuffle(order, seed);
    const bool bad = (some_bad && next(seed) % 8 == 0) || p.rows == 0;
    const std::int64_t row = bad ? bad_index(p, next(seed)) : order[static_cast<std::size_t>(i % limit)];
    common::write_integer(p.index, data, i, row);
  }
}

}  // namespace quern::gather
