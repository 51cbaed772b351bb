// glu: gated activations, out = act(a) g, in one pass over rows of any length, and their gradients.
#ifndef QUERN_GLU_H_
#define QUERN_GLU_H_

#include <cstdint>

#include "quern/activation_table.h"
#include "quern/choice.h"
#include "quern/export.h"
#include "quern/family.h"
#include "quern/glu_choices.h"
#include "quern/mx_choices.h"
#include "quern/rounding_choices.h"
#include "quern/scale_choices.h"

namespace quern {

#define QUERN_GLU_PASSES(VALUE) \
  VALUE(forward)  /* out */     \
  VALUE(backward) /* the gradients, from out's */
enum class GluPass : std::uint8_t { QUERN_GLU_PASSES(QUERN_CHOICE_VALUE) };

#define QUERN_GLU_RECOMPUTES(VALUE) \
  VALUE(none)                       \
  VALUE(out) /* pass=backward writes out as well, so that it need not be kept since the forward pass */
enum class GluRecompute : std::uint8_t { QUERN_GLU_RECOMPUTES(QUERN_CHOICE_VALUE) };

// Along what numbers that share a scale lie: a row, a column, or each of both.
#define QUERN_GLU_DIRECTIONS(VALUE) \
  QUERN_MX_DIRECTIONS(VALUE)        \
  VALUE(both)
enum class GluDirection : std::uint8_t { QUERN_GLU_DIRECTIONS(QUERN_CHOICE_VALUE) };

// Operands must not overlap.
struct GluArgs {
  In x = {};       // [groups * rows, 2 * width]; layout=split: [groups * rows, width]
  In gate = {};    // layout=split: as x
  In bias = {};    // [2 * width], added to a row of x; layout=split: to that of x, then to that of gate
  In scale = {};   // [groups * rows]: out = scale * act(a) g
  In counts = {};  // [groups]: of how many rows there are in each group; of others nothing is read, and nothing written
                   // but zeros in scale_gradient
  In gradient = {};         // backward: of out, [groups * rows, width]
  Out out = {};             // [groups * rows, width]; backward: with recompute=out
  Out x_gradient = {};      // backward: as x
  Out gate_gradient = {};   // backward with layout=split: as x
  Out bias_gradient = {};   // [2 * width], with bias_gradient: the sums of x_gradient's columns
  Out scale_gradient = {};  // backward with scale: [groups * rows]; zero in rows beyond a count
  Out workspace = {};       // with bias_gradient or scale_gradient: zeros, which each launch restores; one launch at a
                            // time; see Plan::workspace_bytes
  In given_scale = {};      // scaling=tensor: a float
  Out scales = {};          // with the other scalings: of out, backward of x_gradient; e8m0, or f32
  Out out_col = {};         // direction=both: out along columns, transposed, as out is with direction=col: [width,
                            // groups * rows]
  Out x_gradient_col = {};  // the same of x_gradient: [2 * width, groups * rows]
  Out scales_col = {};      // of out_col or x_gradient_col, as mxfp8 has them
  float alpha = kDefaultAlpha;  // parameter of elu, leaky_relu, fatrelu, qgelu and situ
  float limit = 7.0f;           // these two: gating=clamped
  float offset = 1.0f;
  float beta = 25.0f;  // gating=tanh
  std::int64_t rows = kOpen;
};

// COST: one read of each operand and one write of each output. Layout and gating are in quern/glu_choices.h.
struct Glu {
  using Args = GluArgs;

  std::int64_t rows = kOpen;  // of a group
  std::int64_t width = 4096;  // elements in a row of out
  std::int64_t groups = 1;    // of as many rows; see counts
  Activation activation = Activation::silu;
  GluGating gating = GluGating::product;
  GluLayout layout = GluLayout::halves;
  std::int64_t block = 32;  // layout=blocks: divides width
  GluPass pass = GluPass::forward;
  Rounding rounding = Rounding::single;
  DType dtype = DType::bf16;          // of x, gate, gradient, out and their gradients: f32, f16 or bf16
  DType bias = DType::none;           // none: no bias
  DType bias_gradient = DType::none;  // backward; it needs no bias, as the sums are of x_gradient
  DType scale = DType::none;          // none: no scale
  DType counts = DType::none;         // none: all rows of a group
  GluRecompute recompute = GluRecompute::none;
  GluScaling scaling = GluScaling::none;  // of out, backward of x_gradient
  DType element = DType::e4m3;            // its type with a scaling: e4m3 or e5m2
  ScaleMode mode = ScaleMode::rceil;      // how a scale is made; see quern/scale_choices.h
  ScalePolicy policy = ScalePolicy::ao;
  MxScaleLayout scale_layout = MxScaleLayout::plain;  // plain: [groups * rows, scales of a row]
  GluDirection direction = GluDirection::row;         // of a scaling; col and both as mxfp8 has them, without counts
  std::int64_t x_stride = 0;                          // elements between rows of x and gate; 0: packed
  std::int64_t out_stride = 0;
  std::int64_t gradient_stride = 0;
  std::int64_t x_gradient_stride = 0;  // of x_gradient and gate_gradient

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_GLU_H_
