// The scales of blocks on the host: their number, their memory, and the index of each.
#ifndef QUERN_MX_SCALES_H_
#define QUERN_MX_SCALES_H_

#include <bit>
#include <cstdint>

#include "quern/layout.h"

namespace quern::mx {

inline constexpr std::int64_t kSquareLines = 32;

inline std::int64_t round_up_to(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

// The same for powers of two, and the quotient rounded up: without divisions, since launches ask for them.
inline std::int64_t round_up_to_power(std::int64_t n, std::int64_t power) { return (n + power - 1) & -power; }
inline std::int64_t divide_up_by_power(std::int64_t n, std::int64_t power) {
  return (n + power - 1) >> std::countr_zero(static_cast<std::uint64_t>(power));
}

// The scales of one direction of a problem's matrices. A line, which is a row or a column, is cut into blocks.
struct ScaleGrid {
  std::int64_t experts;
  std::int64_t rows;
  std::int64_t cols;
  bool col;             // lines are columns
  std::int64_t block;   // elements of a line that share a scale: a power of two
  bool square;          // plain: one scale for the blocks of 32 lines
  std::int64_t groups;  // of rows, each with its own contiguous scales; 0: none
  bool cut_groups;      // a group may end with a partial block
  DType type;           // of a scale

  std::int64_t blocks_of(std::int64_t n) const { return divide_up_by_power(n, block); }
  std::int64_t lines() const { return col ? cols : rows; }
  std::int64_t blocks() const { return blocks_of(col ? rows : cols); }  // of a line
};

// Blocked or padded scales of one expert: lines padded to 128 and blocks to 4.
inline std::int64_t blocked_bytes(const ScaleGrid& g) {
  return round_up_to(g.lines(), 128) * round_up_to(g.blocks(), 4);
}

// Plain scales of one expert.
inline std::int64_t plain_scales(const ScaleGrid& g) {
  return g.square ? g.blocks_of(g.rows) * g.blocks_of(g.cols) : g.lines() * g.blocks();
}

// Each group begins with a new atom, so the layout has room for one partial atom per group.
inline Layout blocked_layout(const ScaleGrid& g) {
  const std::int64_t lines = round_up_to(g.lines() + (g.col ? 0 : 127 * g.groups), 128);
  const std::int64_t blocks = round_up_to(g.blocks() + (g.col ? 4 * g.groups : 0), 4);
  return Layout::matrix(e8m0, g.experts, lines * blocks, lines * blocks);
}

// For rows [experts, rows, blocks], for columns [experts, blocks, cols], for squares [experts, blocks, blocks].
inline Layout plain_layout(const ScaleGrid& g) {
  const std::int64_t bands = g.blocks_of(g.rows) + (g.cut_groups ? g.groups : 0);
  const std::int64_t rows = g.square || g.col ? bands : g.rows;
  const std::int64_t cols = g.square || !g.col ? g.blocks_of(g.cols) : g.cols;
  return Layout::matrices(g.type, g.experts, rows, cols, rows * cols, cols);
}

// Padded: line by line, or block by block, with gaps to multiples of 4 blocks and 128 lines. Of groups each has its own
// padding, so the gaps are only known on the device.
inline std::int64_t padded_pitch(const ScaleGrid& g) {
  return g.col ? round_up_to(g.lines(), 128) : round_up_to(g.blocks(), 4);
}
inline Layout padded_layout(const ScaleGrid& g) {
  if (g.groups > 0) return blocked_layout(g);
  const std::int64_t rows = g.col ? g.blocks() : g.lines(), cols = g.col ? g.lines() : g.blocks();
  return Layout::matrices(g.type, g.experts, rows, cols, blocked_bytes(g), padded_pitch(g));
}

// The name of the ScaleOrder of plain scales, and of padded ones.
inline const char* plain_order(const ScaleGrid& g) {
  if (g.square) return g.col ? "square_blocks" : "square_lines";
  return g.col ? "block_major" : "line_major";
}

inline const char* padded_order(const ScaleGrid& g) { return g.col ? "padded_blocks" : "padded_lines"; }

inline std::int64_t plain_index(const ScaleGrid& g, std::int64_t expert, std::int64_t line, std::int64_t block) {
  if (g.square) {
    const std::int64_t squares = line / kSquareLines, across = g.blocks_of(g.cols);
    return (expert * g.blocks_of(g.rows) + (g.col ? block : squares)) * across + (g.col ? squares : block);
  }
  const std::int64_t own = g.col ? block * g.lines() + line : line * g.blocks() + block;
  return expert * g.lines() * g.blocks() + own;
}

inline std::int64_t padded_index(const ScaleGrid& g, std::int64_t expert, std::int64_t line, std::int64_t block) {
  return expert * blocked_bytes(g) + (g.col ? block * padded_pitch(g) + line : line * padded_pitch(g) + block);
}

inline std::int64_t blocked_index(const ScaleGrid& g, std::int64_t expert, std::int64_t line, std::int64_t block) {
  const std::int64_t atom = line / 128 * (round_up_to(g.blocks(), 4) / 4) + block / 4;
  return expert * blocked_bytes(g) + atom * 512 + line % 32 * 16 + line % 128 / 32 * 4 + block % 4;
}

// For tests, a scale of a whole tensor: occasionally an unusual one: zero, denormal, infinite, NaN or negative.
float given_scale(std::uint64_t seed);

}  // namespace quern::mx

#endif  // QUERN_MX_SCALES_H_
