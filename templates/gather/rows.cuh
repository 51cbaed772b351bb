// The row of source for a row of out, and where its copy goes.
#ifndef QUERN_GATHER_ROWS_CUH_
#define QUERN_GATHER_ROWS_CUH_

#include "gather/params.h"
#include "rows/source.cuh"

namespace quern::gather {

using namespace rows;

// Not inside: 0, and nothing is read.
QUERN_DEVICE i64 load_index(const Params& p, u64 position, bool inside) {
  using Index = spec::Index;
  const auto raw = load_if<sizeof(Index), LoadHint::keep>(inside, static_cast<const Index*>(p.index) + position);
  return bit_cast<Index>(raw);
}

// The bytes of so many rows: an index of 32 bits that names a row is not negative, and one multiplication is enough.
template <class Row>
QUERN_DEVICE u64 bytes_before(Row row, i64 stride) {
  if constexpr (!spec::short_rows) return static_cast<u64>(row) * static_cast<u64>(stride);
  return static_cast<u64>(row) * static_cast<u32>(stride);
}

// The row of source for a row of out. Not inside: a zero row.
QUERN_DEVICE SourceRow resolve(const Params& p, u64 out_row, bool inside = true) {
  const auto [outer, position] = place_of(p, out_row);
  i64 row = load_index(p, position, inside);
  bool zero = false;
  if constexpr (spec::mode == Mode::minus_one_is_zero) {
    zero = row == -1;
  } else if constexpr (spec::mode == Mode::wrap_negative) {
    row += row < 0 ? p.rows : 0;
  } else if constexpr (spec::mode == Mode::clamp) {
    row = row < 0 ? 0 : row >= p.rows ? p.rows - 1 : row;
  } else if constexpr (spec::mode != Mode::assume_valid) {
    zero = inside && (row < 0 || row >= p.rows);
  }
  if constexpr (spec::mode == Mode::trap) {
    if (zero) __assertfail("gather: an index names no row of source", __FILE__, __LINE__, "quern_gather", 1);
  }
  if constexpr (spec::mode == Mode::report) {
    if (zero) atomicMin(p.report, position);
  }
  if constexpr (spec::outer) row += static_cast<i64>(outer) * p.rows;
  const i64 named = zero ? 0 : row;
  constexpr bool kFits32 = sizeof(spec::Index) == 4 && !spec::outer && spec::mode != Mode::wrap_negative;
  const u64 before = kFits32 ? bytes_before(static_cast<u32>(named), p.source_stride)
                             : bytes_before(static_cast<u64>(named), p.source_stride);
  return {static_cast<const u8*>(p.source) + before, zero || !inside};
}

// What rows/vectors.cuh and rows/windows.cuh move. `scaled` is of scale.cuh or no_scale.cuh.
struct Rows {
  static constexpr bool kAdds = false, kOutByIndex = false, kSkips = false;
  static QUERN_DEVICE SourceRow source(const Params& p, u64 row, bool inside) { return resolve(p, row, inside); }
  static QUERN_DEVICE u8* out(const Params& p, u64 row) {
    return static_cast<u8*>(p.out) + bytes_before(row, p.out_stride);
  }
  template <int Bytes>
  static QUERN_DEVICE Vector<Bytes> result(const Params& p, u64 row, u64, const Vector<Bytes>& value,
                                           const Vector<Bytes>&) {
    return scaled(p, row, value);
  }
};

}  // namespace quern::gather

#endif  // QUERN_GATHER_ROWS_CUH_
