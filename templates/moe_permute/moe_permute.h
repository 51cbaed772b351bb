// moe_permute: the rows of tokens, copied to the rows of their experts (dispatch), and the gradient of that.
//
// The map is moe_map's: the same tokens, experts, topk, align, empty, capacity and tail give operands of equal shapes.
#ifndef QUERN_MOE_PERMUTE_H_
#define QUERN_MOE_PERMUTE_H_

#include <cstdint>

#include "quern/export.h"
#include "quern/family.h"
#include "quern/moe_choices.h"
#include "quern/mx_choices.h"
#include "quern/scale_choices.h"

namespace quern {

// A route is a pair of a token and an expert.
struct MoePermuteArgs {
  In source = {};         // forward: [tokens, hidden]; backward: [capacity, hidden], the gradient of the forward's out
  In token_rows = {};     // [tokens, topk] of i32: the row of each route, -1 without one; each row once
  In token_experts = {};  // prob_layout=experts: [tokens, topk] of i32, the expert of each route, no expert twice
  In pads = {};   // forward, with align > 1, empty=fill or tail=list: [capacity] of i32, the padding rows, then -1
  In probs = {};  // probs other than none, forward: [tokens, topk], or [tokens, experts]; backward: [capacity], the
                  // gradient of out_probs
  Out out = {};   // forward: [capacity, hidden], grouped by expert; backward: [tokens, hidden]
  Out out_probs = {};   // probs other than none, forward: [capacity]; backward: [tokens, topk], or [tokens, experts]
  In scales = {};       // scaling other than none: the scales of source, [tokens, scales]: row 1,
                        // block128 ceil(hidden / 128), mx ceil(hidden / 32)
  Out out_scales = {};  // their copies, [capacity, scales]; with element those that are made, scale_layout=blocked: of
                        // a row a multiple of 4
  In given_scale = {};  // element without scaling: a float, by whose reciprocal everything is multiplied
  Out token_scales = {};  // scale_layout=blocked: [tokens, scales], the scales of tokens' rows in the plain layout; of
                          // a row a multiple of 4, with zeros after the last
  Out workspace = {};  // scale_layout=blocked: scratch, zeros before the first launch; each launch restores them; one
                       // launch at a time; see Plan::workspace_bytes
  In scale = {};       // scale other than none: factors of rows, [tokens], or with scale_of=routes [tokens, topk]
  In rows = {};        // backward with scale: [tokens, hidden], the forward's source
  Out scale_gradient = {};  // backward with scale: the same shape
  std::int64_t tokens = kOpen;
};

// COST: one launch; with scale_layout=blocked a cooperative one. Forward, a row is read once and written topk times; of
// the rest of out, padding rows are written (zeros, and a probability of 0) and unused rows are not.
struct MoePermute {
  using Args = MoePermuteArgs;

  std::int64_t tokens = kOpen;
  std::int64_t hidden = 4096;  // elements in a row
  std::int64_t experts = 8;    // up to 1024
  std::int64_t topk = 2;       // the most routes of a token
  std::int64_t align = 1;      // rows
  MoeEmpty empty = MoeEmpty::none;
  std::int64_t capacity = 0;  // rows of the grouped matrix; 0: enough for any routing
  MoeTail tail = MoeTail::leave;
  MoePass pass = MoePass::forward;
  DType dtype = DType::bf16;  // backward: f32, f16 or bf16
  DType probs = DType::none;  // a probability of each route moves with its row: f32, f16 or bf16
  MoeProbLayout prob_layout = MoeProbLayout::routes;  // experts: as TransformerEngine has them
  MoeScaling scaling = MoeScaling::none;              // forward of e4m3, e5m2 and u8, or with element
  // Forward of f32, f16 and bf16: rows are quantized to e4m3 or e5m2 as they move, with the numerics of mxfp8 (see
  // quern/mxfp8.h). scaling: mx, row, block128, or none for given_scale; the last block of a row may be
  // partial.
  DType element = DType::none;
  ScaleMode mode = ScaleMode::rceil;
  ScalePolicy policy = ScalePolicy::ao;
  MxScaleLayout scale_layout = MxScaleLayout::plain;  // blocked: scaling=mx, align and capacity multiples of 128
  // Of f32, f16 and bf16: a row is multiplied by a factor of its token or route in fp32, and rounded to dtype
  // before it moves or is quantized. f32, f16 or bf16.
  DType scale = DType::none;
  MoeScaleOf scale_of = MoeScaleOf::tokens;

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_MOE_PERMUTE_H_
