// Tokens to the rows of their routes. Padding rows are zeros, which the first blocks write.
#ifndef QUERN_MOE_DISPATCH_CUH_
#define QUERN_MOE_DISPATCH_CUH_

#include "moe/dispatch_token.cuh"

namespace quern::moe {

QUERN_DEVICE void move_rows(const Params& p) {
  if constexpr (spec::pads) {
    if (blockIdx.x < p.pad_blocks) return clear_pads(p);
  }
  const Part part = part_at(p, group_from(p.pad_blocks));
  if (part.row < p.tokens) dispatch_token_part(p, part);
}

}  // namespace quern::moe

#endif  // QUERN_MOE_DISPATCH_CUH_
