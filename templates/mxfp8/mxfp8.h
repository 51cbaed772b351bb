// mxfp8: quantization to MXFP8, 8-bit elements with a power-of-two scale (E8M0) for each block of 32; by `scaling` also
// to 8-bit elements with fp32 scales.
//
// source is [experts, rows, cols]. With direction row, a block is 32 consecutive elements of a row, and out is laid out
// as source. With direction col, a block is 32 rows of a column, and out is transposed: [experts, cols, rows], as the
// second matrix product of a layer reads it. `both` makes both from one read.
#ifndef QUERN_MXFP8_H_
#define QUERN_MXFP8_H_

#include <cstdint>

#include "quern/activation_table.h"
#include "quern/choice.h"
#include "quern/export.h"
#include "quern/family.h"
#include "quern/mx_choices.h"
#include "quern/mxfp8_choices.h"
#include "quern/scale_choices.h"

namespace quern {

// Along what blocks lie.
#define QUERN_MXFP8_DIRECTIONS(VALUE) \
  QUERN_MX_DIRECTIONS(VALUE)          \
  VALUE(both)
enum class Mxfp8Direction : std::uint8_t { QUERN_MXFP8_DIRECTIONS(QUERN_CHOICE_VALUE) };

#define QUERN_MXFP8_BIAS_GRADIENTS(VALUE) \
  VALUE(none)                             \
  VALUE(sums) /* what is quantized, summed over the rows of each column, in fp32 and in one order */
enum class Mxfp8BiasGradient : std::uint8_t { QUERN_MXFP8_BIAS_GRADIENTS(QUERN_CHOICE_VALUE) };

// Which dimensions of groups differ from one to the next. Of all groups there are `rows` rows, or `cols` columns.
#define QUERN_MXFP8_VARYINGS(VALUE)                                                                       \
  VALUE(rows) /* groups are rows of one matrix; `offsets` are their ends */                               \
  VALUE(cols) /* a group is a matrix of `rows` rows; `col_offsets` are the ends of the groups' columns */ \
  VALUE(both) /* a group is a matrix; `offsets` and `col_offsets` are the ends of their rows and columns */
enum class Mxfp8Varying : std::uint8_t { QUERN_MXFP8_VARYINGS(QUERN_CHOICE_VALUE) };

// Those of quern/scale_choices.h and quern/mx_choices.h, under this family's names. Mxfp8Prologue is in
// quern/mxfp8_choices.h.
using Mxfp8Mode = ScaleMode;
using Mxfp8Policy = ScalePolicy;
// With fp32 scales an element is the number times the scale's reciprocal, and all statements about blocks of 32 hold
// for blocks of 128. A scale that is rounded to a power of two has the value of the E8M0 byte, where 255 is NaN.
using Mxfp8Scaling = MxScaling;
using Mxfp8Block = MxBlock;
using Mxfp8Order = MxOrder;
using Mxfp8Scales = MxPaddedScaleLayout;
using Mxfp8Tail = MxTail;
using Mxfp8Noop = MxNoop;

struct Mxfp8Args {
  In source = {};
  In input = {};    // prologue dact and dgated: [experts, rows, cols] of dtype, no gaps
  In offsets = {};  // groups: [groups], where each ends; a group begins where the one before it ends, the first at 0
  In col_offsets = {};  // varying=cols and both: [groups], where the columns of each end, counted as the rows are
  In given_scale = {};  // scaling=tensor: a float
  In noop = {};         // noop=flag: a float; where it is 1 nothing is read or written
  Out out = {};         // of element; must not overlap source or input
  Out scales = {};      // e8m0, or f32 as scaling says; none with scaling=tensor
  Out out_col = {};     // direction both: the col direction's; out and scales are then the row direction's
  Out scales_col = {};
  Out bias_gradient = {};  // bias_gradient=sums: [experts, cols] of f32
  Out workspace = {};      // its scratch memory: zeros, which each launch restores; one launch at a time; see
                           // Plan::workspace_bytes
  Out status = {};  // groups: an int32 that the caller has set to 0; 1 + the number of the first group that ends before
                    // it begins or after the last row (or whose rows must be whole blocks and are not; the same of its
                    // columns; or with which there are more elements than `capacity`): then nothing else is written
  float alpha = kDefaultAlpha;  // parameter of the activation
  std::int64_t rows = kOpen;
  std::int64_t experts = kOpen;
};

// COST: one read of source and input, and one write of each output.
struct Mxfp8 {
  using Args = Mxfp8Args;

  std::int64_t rows = kOpen;
  std::int64_t cols = 4096;
  std::int64_t experts = 1;
  Mxfp8Direction direction = Mxfp8Direction::row;
  DType dtype = DType::bf16;    // of source: f32, f16 or bf16
  DType element = DType::e4m3;  // of out: e4m3 or e5m2
  Mxfp8Scaling scaling = Mxfp8Scaling::mx;
  Mxfp8Mode mode = Mxfp8Mode::rceil;
  Mxfp8Policy policy = Mxfp8Policy::ao;
  Mxfp8Block block = Mxfp8Block::line;
  Mxfp8Order source_order = Mxfp8Order::cols;
  Mxfp8Order out_order = Mxfp8Order::rows;  // of the col direction's out; cols: not transposed
  Mxfp8Scales scale_layout = Mxfp8Scales::plain;
  Mxfp8Tail tail = Mxfp8Tail::refuse;
  std::int64_t groups = 0;                    // of rows, whose ends are on the device; 0: none
  Mxfp8Varying varying = Mxfp8Varying::rows;  // cols, both: the groups' matrices lie one after the other in source, and
                                              // so do those of each output
  std::int64_t capacity = 0;                  // varying=both: what source has room for, in elements; 0: rows * cols
  Mxfp8Noop noop = Mxfp8Noop::never;
  DType offset = DType::i32;  // type of the ends: i32 or i64
  Mxfp8Prologue prologue = Mxfp8Prologue::none;
  Activation activation = Activation::identity;
  Mxfp8BiasGradient bias_gradient = Mxfp8BiasGradient::none;
  std::int64_t source_stride = 0;  // elements from a row of source (with source_order=rows a column) to the next; 0: as
                                   // many as it has
  std::int64_t source_expert_stride = 0;  // from an expert of source to the next; 0: the rows of one. Fewer are legal:
                                          // a row of each expert, then the next of each

  std::int64_t out_stride = 0;      // elements from a line of out to the next, which is a row, or a column where out is
                                    // transposed; 0: as many as it has. Gaps are not written
  std::int64_t out_col_stride = 0;  // direction both: the same of out_col

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_MXFP8_H_
