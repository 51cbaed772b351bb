// Where scales are in memory.
#ifndef QUERN_MX_SCALE_PLACES_CUH_
#define QUERN_MX_SCALE_PLACES_CUH_

#include "common/vector.cuh"
#include "mx/scale_params.cuh"

namespace quern::mx {

using namespace common;

QUERN_DEVICE i64 round_up(u64 n, u64 to) { return static_cast<i64>((n + to - 1) / to * to); }

// The 128x4 layout of block-scaled matrix products: atoms of 512 bytes, 128 lines and 4 blocks of each,
// consecutive along the blocks.
QUERN_DEVICE u32 atom_byte(u32 line, u32 block) { return line % 32 * 16 + line / 32 * 4 + block; }
QUERN_DEVICE i64 blocked_offset(i64 line, i64 block, i64 blocks) {
  const u64 l = line, b = block, atom = l / 128 * ((static_cast<u64>(blocks) + 3) / 4) + b / 4;
  return static_cast<i64>(atom * kAtomBytes + atom_byte(l % 128, b % 4));
}

QUERN_DEVICE i64 blocked_bytes(i64 lines, i64 blocks) { return round_up(lines, 128) * round_up(blocks, 4); }

// The caller has to know whether this one is in the padding of blocked scales.
template <ScaleOrder Order>
QUERN_DEVICE i64 scale_place(const ScaleParams& p, u64 expert, i64 line, i64 block) {
  if constexpr (Order == ScaleOrder::one) return 0;
  const i64 squares = (p.lines + 31) / 32;
  if constexpr (Order == ScaleOrder::line_major) return (expert * p.lines + line) * p.blocks + block;
  if constexpr (Order == ScaleOrder::block_major) return (expert * p.blocks + block) * p.lines + line;
  if constexpr (Order == ScaleOrder::square_lines) return (expert * squares + line / 32) * p.blocks + block;
  if constexpr (Order == ScaleOrder::square_blocks) return (expert * p.blocks + block) * squares + line / 32;
  const i64 begin = expert * blocked_bytes(p.lines, p.blocks);  // padded ones have as many bytes
  if constexpr (Order == ScaleOrder::padded_lines) return begin + line * round_up(p.blocks, 4) + block;
  if constexpr (Order == ScaleOrder::padded_blocks) return begin + block * round_up(p.lines, 128) + line;
  return begin + blocked_offset(line, block, p.blocks);
}

}  // namespace quern::mx

#endif  // QUERN_MX_SCALE_PLACES_CUH_
