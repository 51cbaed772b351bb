#include "concat/shape.h"

#include <algorithm>
#include <numeric>

#include "common/geometry.h"

namespace quern::concat {
namespace {

using common::divide_up;

Block make_block(std::int64_t rows, std::int64_t columns, std::int64_t last, const Cut& cut) {
  Block block{};
  block.rows = rows;
  block.columns = static_cast<unsigned>(columns);
  block.last = static_cast<unsigned>(last) & 0xfffffffU;
  block.lanes_log2 = common::lanes_log2_of(columns, cut.threads) & 15U;
  return block;
}

std::int64_t rows_of_tile(const Block& block, const Cut& cut) { return (cut.threads >> block.lanes_log2) * cut.unroll; }

// A row may begin anywhere in 16 bytes, and rows with gaps are apart by a pitch with the remainder of their stride.
std::int64_t shared_bytes_of(const Block& block, bool gaps, const Cut& cut) {
  const std::int64_t lanes = std::int64_t{1} << block.lanes_log2, rows = rows_of_tile(block, cut);
  const std::int64_t row = std::min<std::int64_t>(block.columns, lanes) * cut.vector;
  return 16 + rows * (row + (gaps || block.columns > lanes ? 16 : 0));
}

}  // namespace

std::int64_t all_widths(const Concat& p) {
  return std::accumulate(p.widths.values, p.widths.values + sources(p), std::int64_t{0});
}

bool is_run(const Concat& p, int i) { return is_flat(p) && !is_indexed(p) && stride_of(p, i) == p.widths[i]; }

std::int64_t flat_elements(const Concat& p, int end) {
  std::int64_t all = 0;
  for (int i = 0; i < end; ++i) all += rows_of(p, i) * p.widths[i];
  return all;
}

std::int64_t natural_vector(const Concat& p, std::int64_t limit) {
  const std::int64_t size = element_bytes(p);
  std::int64_t vector = is_flat(p) ? limit : common::common_alignment({matrix_stride(p) * size}, limit);
  for (int i = 0; i < sources(p); ++i) {
    const std::int64_t rows = is_run(p, i) && rows_of(p, i) != kOpen ? rows_of(p, i) : 1;
    vector = common::common_alignment({rows * p.widths[i] * size, rows * stride_of(p, i) * size}, vector);
  }
  return vector;
}

std::int64_t all_slots(const Concat& p, std::int64_t vector) {
  return (is_flat(p) ? flat_elements(p, sources(p)) : p.rows * all_widths(p)) * element_bytes(p) / vector;
}

Block block_of(const Concat& p, int i, const Cut& cut) {
  const std::int64_t size = element_bytes(p);
  if (!is_flat(p)) {
    const std::int64_t columns = all_widths(p) * size / cut.vector;
    return make_block(p.rows, columns, columns, cut);
  }
  if (!is_run(p, i)) {
    const std::int64_t columns = p.widths[i] * size / cut.vector;
    return make_block(columns == 0 ? 0 : rows_of(p, i), columns, columns, cut);
  }
  const std::int64_t slots = rows_of(p, i) * p.widths[i] * size / cut.vector;
  const std::int64_t columns = std::clamp<std::int64_t>(slots, 1, cut.threads), rows = divide_up(slots, columns);
  return make_block(rows, columns, slots - (rows - 1) * columns, cut);
}

std::int64_t tiles_of(const Block& block, const Cut& cut) {
  return divide_up(block.rows, rows_of_tile(block, cut)) *
         divide_up(block.columns, std::int64_t{1} << block.lanes_log2);
}

std::int64_t shared_bytes(const Concat& p, const Cut& cut) {
  if (!is_flat(p)) return shared_bytes_of(block_of(p, 0, cut), matrix_stride(p) != all_widths(p), cut);
  // A tile of the layout flat has a slot for each thread at most, in rows without gaps.
  std::int64_t most = 0;
  for (int i = 0; i < sources(p); ++i) {
    const Block block = is_run(p, i) ? make_block(1, cut.threads, 1, cut) : block_of(p, i, cut);
    most = std::max(most, shared_bytes_of(block, false, cut));
  }
  return most;
}

}  // namespace quern::concat
