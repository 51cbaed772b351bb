// How scales of blocks are laid out. Read by kernels and by the host.
#ifndef QUERN_MX_SCALE_PARAMS_CUH_
#define QUERN_MX_SCALE_PARAMS_CUH_

namespace quern::mx {

// Where the scale of block `block` of line `line` is, for each expert.
enum class ScaleOrder {
  line_major,     // [lines, blocks]
  block_major,    // [blocks, lines]
  square_lines,   // [lines / 32, blocks]
  square_blocks,  // [blocks, lines / 32]
  blocked,        // in atoms
  padded_lines,   // [lines, blocks], lines rounded up to 128, blocks to 4
  padded_blocks,  // [blocks, lines], the same
  one,            // for everything
};

// One matrix of scales for each expert. A line is divided into blocks.
struct ScaleParams {
  long long lines;
  long long blocks;
};

// Blocked scales: 128 lines, 4 blocks of each.
constexpr int kAtomBytes = 512;

}  // namespace quern::mx

#endif  // QUERN_MX_SCALE_PARAMS_CUH_
