// The parameter struct of the kernels that move rows between tokens and experts. Read by host and kernels.
#ifndef QUERN_MOE_PARAMS_CUH_
#define QUERN_MOE_PARAMS_CUH_

#include "common/divide.cuh"

namespace quern::moe {

// Reorder: up to this many chunks one warp makes the table of a block.
constexpr unsigned kFewChunks = 64;

// What most forms read comes first: a cold line of parameters is one more wait at the beginning of a kernel.
struct Params {
  const void* source;
  const int* token_rows;
  void* out;
  const void* probs;
  unsigned long long tokens;
  unsigned row_bytes;
  unsigned capacity;       // rows of experts; a row beyond them is none
  unsigned vectors;        // of a row
  unsigned parts;          // of a row
  unsigned pad_blocks;     // the first blocks of the grid, which have padding rows
  unsigned out_row_bytes;  // dispatch: fewer, if rows are quantized
  common::Divisor by_parts;
  const int* pads;
  const void* rows;  // combine_gradient, factor_gradient: what the forward pass combined or moved
  void* out_probs;
  // Gradients of weights, with one team but for combine_gradient:
  unsigned teams;           // of a token, which share its routes
  unsigned routes_of_team;  // one after the other
  common::Divisor by_teams;
  const void* residual;             // combine: added to the sum
  const int* token_experts;         // if each expert has a probability
  unsigned long long pad_parts;     // parts of as many rows as `pads` has entries
  unsigned long long listed_parts;  // parts of as many padding rows as a map of the problem's fields lists
  unsigned list_blocks;             // those that clear them; the next one looks whether the list goes on
  const void* source_end;           // rows at any address: where operands end
  const void* rows_end;
  const void* factors;  // dispatch: of tokens or routes
  void* out_factors;    // factor_gradient
  const void* scales;
  void* out_scales;
  unsigned scale_vectors;  // of the scales of a row
  unsigned experts;
  // Dispatch that quantizes:
  unsigned blocks;        // of a row
  unsigned tiles;         // blocked scales: of 128 rows of out
  void* token_scales;     // blocked scales: of the rows of tokens, plain
  unsigned* row_sources;  // workspace: see moe/quantize.cuh
  unsigned* barrier;      // workspace
  unsigned* ended;        // workspace: a number of blocks
  // Reorder:
  const void* sizes;             // rows of each chunk
  const void* order;             // the chunk that comes first, second and so on
  unsigned long long all_parts;  // of all rows
  unsigned chunks;
  unsigned group_parts;  // that a group of lanes moves
  unsigned part_scales;  // vectors of scales that move with a part
};

}  // namespace quern::moe

#endif  // QUERN_MOE_PARAMS_CUH_
