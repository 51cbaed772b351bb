// Where scales are in memory, on the host: for specs and references.
#ifndef QUERN_MXFP8_SCALE_ORDER_H_
#define QUERN_MXFP8_SCALE_ORDER_H_

#include "mxfp8/matrix.h"

namespace quern::mxfp8 {

// The kernels' ScaleOrder of one direction's scales.
inline const char* order_of(const Mxfp8& p, bool in_atoms) {
  const bool col = col_made(p);
  if (in_atoms) return "blocked";
  if (has_given_scale(p)) return "one";
  if (p.block == Mxfp8Block::square) return col ? "square_blocks" : "square_lines";
  return col ? "block_major" : "line_major";
}

// Which of the scales of one direction is that of block `block` of line `line`.
inline std::int64_t scale_index(const Mxfp8& p, bool col, bool in_atoms, std::int64_t expert, std::int64_t line,
                                std::int64_t block) {
  const ScaleMatrix m = scales_of_direction(p, col);
  if (in_atoms) {
    const std::int64_t atom = line / 128 * (round_up_to(m.blocks, 4) / 4) + block / 4;
    return expert * blocked_bytes(m) + atom * 512 + line % 32 * 16 + line % 128 / 32 * 4 + block % 4;
  }
  if (p.block == Mxfp8Block::square) {
    const std::int64_t squares = line / kBlockElements, across = blocks_of(p, p.cols);
    return (expert * blocks_of(p, p.rows) + (col ? block : squares)) * across + (col ? squares : block);
  }
  return expert * m.lines * m.blocks + (m.block_major ? block * m.lines + line : line * m.blocks + block);
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_SCALE_ORDER_H_
