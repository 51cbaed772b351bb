// moe_unpermute: the rows of experts, added up for each token (combine), and the gradients of that.
//
// The map is moe_map's: the same tokens, experts, topk, align, empty, capacity and tail give operands of equal shapes.
#ifndef QUERN_MOE_UNPERMUTE_H_
#define QUERN_MOE_UNPERMUTE_H_

#include <cstdint>

#include "quern/export.h"
#include "quern/family.h"
#include "quern/moe_choices.h"

namespace quern {

// A route is a pair of a token and an expert.
struct MoeUnpermuteArgs {
  In source = {};         // forward: [capacity, hidden]; backward: [tokens, hidden], the gradient of the forward's out
  In token_rows = {};     // [tokens, topk] of i32: the row of each route, -1 without one; each row once
  In token_experts = {};  // prob_layout=experts: [tokens, topk] of i32, the expert of each route, no expert twice
  In pads = {};   // backward, with align > 1, empty=fill or tail=list: [capacity] of i32, the padding rows, then -1
  In probs = {};  // probs other than none: [tokens, topk], or [tokens, experts], the factors of the rows
  Out out = {};   // forward: [tokens, hidden]; backward: [capacity, hidden], the gradient of the forward's source
  Out out_probs = {};   // backward with probs: their gradient, of the same shape
  In rows = {};         // backward with probs: [capacity, hidden], the forward's source
  In residual = {};     // forward with residual=add: [tokens, hidden]
  In scales = {};       // scaling other than none: the scales of source, [tokens, 1 or hidden / 128 or hidden / 32]
  Out out_scales = {};  // their copies, [capacity, the same]
  std::int64_t tokens = kOpen;
};

// COST: one launch. Forward, each row is read once and each token written once. Backward, a token's gradient is read
// once; with probs the forward's rows are read as well. Padding rows of a gradient are zeros, unused rows are not
// written.
struct MoeUnpermute {
  using Args = MoeUnpermuteArgs;

  std::int64_t tokens = kOpen;
  std::int64_t hidden = 4096;  // elements in a row
  std::int64_t experts = 8;    // up to 1024
  std::int64_t topk = 2;       // the most routes of a token
  std::int64_t align = 1;      // rows
  MoeEmpty empty = MoeEmpty::none;
  std::int64_t capacity = 0;  // rows of the grouped matrix; 0: enough for any routing
  MoeTail tail = MoeTail::leave;
  MoePass pass = MoePass::forward;
  DType dtype = DType::bf16;                          // backward without probs: also e4m3, e5m2 and u8
  DType probs = DType::none;                          // the factor of each row in the sum: f32, f16 or bf16; none: 1
  MoeProbLayout prob_layout = MoeProbLayout::routes;  // experts: as TransformerEngine has them
  MoeResidual residual = MoeResidual::none;
  MoeScaling scaling = MoeScaling::none;  // backward without probs of e4m3, e5m2 and u8

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_MOE_UNPERMUTE_H_
