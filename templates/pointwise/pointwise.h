// pointwise: bias, multiply-add and an activation in one pass over rows of any length.
#ifndef QUERN_POINTWISE_H_
#define QUERN_POINTWISE_H_

#include <cstdint>

#include "quern/activation_table.h"
#include "quern/choice.h"
#include "quern/export.h"
#include "quern/family.h"
#include "quern/mx_choices.h"
#include "quern/pointwise_choices.h"
#include "quern/rounding_choices.h"
#include "quern/scale_choices.h"

namespace quern {

#define QUERN_POINTWISE_OPS(VALUE)       \
  VALUE(bias_act)    /* act(x + bias) */ \
  VALUE(add_mul_act) /* act(x + multiplier * y + bias) */
enum class PointwiseOp : std::uint8_t { QUERN_POINTWISE_OPS(QUERN_CHOICE_VALUE) };

#define QUERN_POINTWISE_PASSES(VALUE) \
  VALUE(forward)  /* out */           \
  VALUE(backward) /* the gradients, from out's */
enum class PointwisePass : std::uint8_t { QUERN_POINTWISE_PASSES(QUERN_CHOICE_VALUE) };

// Which elements of a program's output share a scale. A scale for a whole tensor is an input of the program.
#define QUERN_POINTWISE_SCALINGS(VALUE)                               \
  VALUE(none)                                                         \
  VALUE(mx)       /* 32 of a row, an E8M0 byte; 255 is NaN */         \
  VALUE(row)      /* a row: an fp32, made of its largest magnitude */ \
  VALUE(block128) /* 128 of a row: an fp32 */
enum class PointwiseScaling : std::uint8_t { QUERN_POINTWISE_SCALINGS(QUERN_CHOICE_VALUE) };

struct PointwiseArgs {
  In x = {};
  In y = {};     // add_mul_act
  In bias = {};  // unless bias_spread is none
  Out out = {};  // may be x or y if that is full and has out's type and stride; must not overlap otherwise
  // pass=backward, which has no out and overlaps nothing:
  In gradient = {};              // of out, laid out as out
  Out x_gradient = {};           // laid out as x
  Out y_gradient = {};           // add_mul_act: laid out as y
  Out bias_gradient = {};        // [width], with bias_gradient: the sums of x_gradient's columns
  Out multiplier_gradient = {};  // [1] of f32, with multiplier_gradient: the sum of x_gradient times y
  Out workspace = {};  // with the last two, and with expr that has sum_rows or sum_all: zeros, which each launch
                       // restores; one launch at a time; see Plan::workspace_bytes
  float multiplier = 1.0f;
  float alpha = kDefaultAlpha;  // parameter of elu, leaky_relu, fatrelu, qgelu and situ
  std::int64_t rows = kOpen;
  // With expr, which has none of the others but rows: the program's operands in memory and its numbers, each in the
  // order in which its outputs, from the first on and left to right, first need them; and its outputs in their order.
  InList inputs = {};
  OutList outputs = {};  // may have the address of a full input of the same type; must not overlap anything otherwise
  // With scaling: of each output of e4m3 or e5m2 that covers [rows, width], in their order. plain: [rows, scales of a
  // row]; blocked: see quern/mx_choices.h. Must not overlap anything.
  OutList scales = {};
  float numbers[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
};

// COST: one read of each operand and one write of each output. Spread is in quern/pointwise_choices.h.
struct Pointwise {
  using Args = PointwiseArgs;

  std::int64_t rows = kOpen;
  std::int64_t width = 4096;  // elements per row
  PointwiseOp op = PointwiseOp::bias_act;
  Activation activation = Activation::relu;
  DType dtype = DType::bf16;    // of x, and of the others unless they say otherwise: f32, f16 or bf16
  DType y_dtype = DType::none;  // none: dtype
  DType bias_dtype = DType::none;
  DType out_dtype = DType::none;
  Spread x_spread = Spread::full;
  Spread y_spread = Spread::full;
  Spread bias_spread = Spread::row;
  Rounding rounding = Rounding::single;
  PointwisePass pass = PointwisePass::forward;  // backward: x, and y, are full
  DType bias_gradient = DType::none;            // backward: type of the sums; bias_spread is row or none
  DType multiplier_gradient = DType::none;      // backward with add_mul_act: none or f32
  std::int64_t x_stride = 0;                    // elements between rows; 0: width
  std::int64_t y_stride = 0;
  std::int64_t out_stride = 0;
  // Of the outputs of expr that are e4m3 or e5m2 and cover [rows, width]. Their numbers are those of the program in
  // fp32, multiplied by the reciprocal of their scale and rounded once.
  PointwiseScaling scaling = PointwiseScaling::none;
  ScaleMode mode = ScaleMode::rceil;  // how a scale is made; see quern/scale_choices.h
  ScalePolicy policy = ScalePolicy::ao;
  MxScaleLayout scale_layout = MxScaleLayout::plain;
  // A program, as docs/expressions.md says: it takes the place of all fields but rows, width, dtype and those of a
  // scaling. Texts with the same canonical form are one problem. The last member: launches copy no more than its text.
  Text<1000> expr = {};

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_POINTWISE_H_
