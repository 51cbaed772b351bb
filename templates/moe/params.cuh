// The parameter struct of the kernels that move rows between tokens and experts. Read by host and kernels.
#ifndef QUERN_MOE_PARAMS_CUH_
#define QUERN_MOE_PARAMS_CUH_

#include "common/divide.cuh"

namespace quern::moe {

// Reorder: up to this many chunks one warp makes the table of a block.
constexpr unsigned kFewChunks = 64;

struct Params {
  const void* source;
  const void* rows;      // combine_gradient, factor_gradient: what the forward pass combined or moved
  const void* residual;  // combine: added to the sum
  const void* probs;
  const void* scales;
  const int* token_rows;
  const int* token_experts;  // if each expert has a probability
  const int* pads;
  const void* sizes;  // reorder: rows of each chunk
  const void* order;  // reorder: the chunk that comes first, second and so on
  void* out;
  void* out_probs;
  void* out_scales;
  unsigned long long tokens;
  unsigned long long pad_parts;  // parts of as many rows as `pads` has entries
  unsigned long long all_parts;  // reorder: of all rows
  unsigned row_bytes;
  unsigned out_row_bytes;  // dispatch: fewer, if rows are quantized
  unsigned vectors;        // of a row
  unsigned parts;          // of a row
  unsigned scale_vectors;  // of the scales of a row
  unsigned blocks;         // quantized rows: of a row
  unsigned pad_blocks;     // the first blocks of the grid, which clear padding rows
  unsigned capacity;       // rows of experts; a row beyond them is none. In a line that is read anyway
  unsigned experts;
  unsigned chunks;
  common::Divisor by_parts;
  unsigned group_parts;  // reorder: that a group of lanes moves
  // Gradients of weights, with one team but for combine_gradient:
  unsigned teams;           // of a token, which share its routes
  unsigned routes_of_team;  // one after the other
  common::Divisor by_teams;
  // Dispatch with blocked scales:
  void* token_scales;     // of the rows of tokens, plain
  unsigned* row_sources;  // workspace: see moe/quantize.cuh
  unsigned* barrier;      // workspace
  unsigned* ended;        // workspace: a number of blocks
  unsigned tiles;         // of 128 rows of out
  // Rows at any address: where operands end.
  const void* source_end;
  const void* rows_end;
  const void* factors;  // dispatch: of tokens or routes
  void* out_factors;    // factor_gradient
};

}  // namespace quern::moe

#endif  // QUERN_MOE_PARAMS_CUH_
