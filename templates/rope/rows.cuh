// The order of rows. A row is a head of a token, or a group of its heads.
#ifndef QUERN_ROPE_ROWS_CUH_
#define QUERN_ROPE_ROWS_CUH_

#include "rope/kernel_params.cuh"

namespace quern::rope {

using namespace common;

// The axes are numbered as in Params.
struct Row {
  i64 at[3];
  QUERN_DEVICE i64 batch() const { return at[spec::batch_axis]; }
  QUERN_DEVICE i64 token() const { return at[spec::token_axis]; }
  QUERN_DEVICE u32 group() const { return static_cast<u32>(at[spec::head_axis]); }
};

QUERN_DEVICE Row row_at(const AxesOf<32>& axes, u64 number) {
  const u32 n = static_cast<u32>(number), outer = divide32(n, axes.by[0]), last = divide32(outer, axes.by[1]);
  return {{n - outer * axes.extents[0], outer - last * axes.extents[1], last}};
}
QUERN_DEVICE Row row_at(const AxesOf<64>& axes, u64 number) {
  const u64 outer = divide(number, axes.by[0]), last = divide(outer, axes.by[1]);
  return {{static_cast<i64>(number) - static_cast<i64>(outer) * axes.extents[0],
           static_cast<i64>(outer) - static_cast<i64>(last) * axes.extents[1], static_cast<i64>(last)}};
}

// The row that is `count` rows after another one: few, so that it is mostly on the same last axis. A token has fewer
// than 2^31 heads.
QUERN_DEVICE Row row_after(const AxesOf<64>& axes, const Row& first, u32 count) {
  const u64 at = static_cast<u64>(first.at[0]) + count;
  const u64 whole = spec::head_axis == 0 ? divide32(static_cast<u32>(at), axes.by[0]) : divide(at, axes.by[0]);
  const i64 middle = first.at[1] + static_cast<i64>(whole);
  Row row = {{static_cast<i64>(at) - static_cast<i64>(whole) * axes.extents[0], middle, first.at[2]}};
  if (middle >= axes.extents[1]) {
    const i64 outer = static_cast<i64>(divide(static_cast<u64>(middle), axes.by[1]));
    row.at[1] = middle - outer * axes.extents[1];
    row.at[2] += outer;
  }
  return row;
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_ROWS_CUH_
