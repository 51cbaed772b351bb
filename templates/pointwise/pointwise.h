// pointwise: bias, multiply-add and an activation in one pass over rows of any length.
#ifndef QUERN_POINTWISE_H_
#define QUERN_POINTWISE_H_

#include <cstdint>

#include "quern/activation_table.h"
#include "quern/choice.h"
#include "quern/export.h"
#include "quern/family.h"
#include "quern/pointwise_choices.h"
#include "quern/rounding_choices.h"

namespace quern {

#define QUERN_POINTWISE_OPS(VALUE)       \
  VALUE(bias_act)    /* act(x + bias) */ \
  VALUE(add_mul_act) /* act(x + multiplier * y + bias) */
enum class PointwiseOp : std::uint8_t { QUERN_POINTWISE_OPS(QUERN_CHOICE_VALUE) };

struct PointwiseArgs {
  In x = {};
  In y = {};     // add_mul_act
  In bias = {};  // unless bias_spread is none
  Out out = {};  // may be x or y if that is full and has out's type and stride; must not overlap otherwise
  float multiplier = 1.0f;
  float alpha = kDefaultAlpha;  // parameter of elu, leaky_relu, fatrelu, qgelu and situ
  std::int64_t rows = kOpen;
};

// COST: one read of each operand and one write of out. Spread is in quern/pointwise_choices.h.
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
  std::int64_t x_stride = 0;  // elements between rows; 0: width
  std::int64_t y_stride = 0;
  std::int64_t out_stride = 0;

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_POINTWISE_H_
