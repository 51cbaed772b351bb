// Rows whose index occurs once: each goes to its row of out.
#ifndef QUERN_SCATTER_ROWS_CUH_
#define QUERN_SCATTER_ROWS_CUH_

#include "scatter/index.cuh"

namespace quern::scatter {

// What rows/vectors.cuh and rows/windows.cuh move. `stored` is of placed.cuh or added.cuh.
struct Rows {
  static constexpr bool kAdds = spec::adds, kOutByIndex = true, kSkips = spec::skips;

  static QUERN_DEVICE bool is_skipped(const Params& p, i64 row) { return kSkips && (row < 0 || row >= p.rows); }
  static QUERN_DEVICE SourceRow source(const Params& p, u64 number, bool inside) {
    const bool skipped = kSkips && is_skipped(p, index_at(p, place_of(p, number).position, inside));
    return {source_row(p, number), !inside || skipped};
  }
  static QUERN_DEVICE u8* out(const Params& p, u64 number) {
    const Place place = place_of(p, number);
    const i64 row = index_at(p, place.position);
    return is_skipped(p, row) ? nullptr : out_row(p, row + static_cast<i64>(place.outer) * p.rows);
  }
  template <int Bytes>
  static QUERN_DEVICE Vector<Bytes> result(const Params& p, u64 number, u64 byte, const Vector<Bytes>& value,
                                           const Vector<Bytes>& before) {
    return stored(p, place_of(p, number).position, byte, value, before);
  }
};

QUERN_DEVICE void scatter_rows(const Params& p) { rows::move_rows<Rows>(p); }

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_ROWS_CUH_
