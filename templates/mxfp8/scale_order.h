// Where scales are in memory, on the host: for specs and references.
#ifndef QUERN_MXFP8_SCALE_ORDER_H_
#define QUERN_MXFP8_SCALE_ORDER_H_

#include "mxfp8/matrix.h"

namespace quern::mxfp8 {

// The kernels' ScaleOrder of one direction's scales.
inline const char* order_of(const Mxfp8& p) {
  if (blocked(p)) return "blocked";
  return has_given_scale(p) ? "one" : mx::plain_order(scale_grid(p, col_made(p)));
}

// Which of the scales of one direction is that of block `block` of line `line`.
inline std::int64_t scale_index(const Mxfp8& p, bool col, std::int64_t expert, std::int64_t line, std::int64_t block) {
  const mx::ScaleGrid g = scale_grid(p, col);
  return blocked(p) ? mx::blocked_index(g, expert, line, block) : mx::plain_index(g, expert, line, block);
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_SCALE_ORDER_H_
