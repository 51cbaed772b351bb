// mxfp8: quantization to MXFP8, 8-bit elements with a power-of-two scale (E8M0) for each block of 32; by `scaling` also
// to 8-bit elements with fp32 scales.
//
// source is [experts, rows, cols]. With direction row, blocks are 32 neighbours of a row, and out is laid out as
// source. With direction col, blocks are 32 rows of a column, and out is transposed: [experts, cols, rows], what the
// second matrix product of a layer reads. `both` makes both from one read.
#ifndef QUERN_MXFP8_H_
#define QUERN_MXFP8_H_

#include <cstdint>

#include "quern/activation_table.h"
#include "quern/export.h"
#include "quern/family.h"

namespace quern {

enum class Mxfp8Direction : std::uint8_t { row, col, both };

// Whether a float on the device may call the launch off.
enum class Mxfp8Noop : std::uint8_t { never, flag };

// What shares a scale, and how that is stored. With fp32 scales an element is the number times the scale's reciprocal,
// and what is said of blocks of 32 holds for those of 128; a scale that is a power of two is the number that the byte
// stands for, and 255 is NaN.
enum class Mxfp8Scaling : std::uint8_t {
  mx,        // 32 elements, an E8M0 byte
  tensor,    // everything: `given_scale`, a float on the device
  row,       // a row: an fp32, made of its largest magnitude
  block128,  // 128 elements: an fp32
};

// How a scale is rounded to a power of two. `amax` is the largest magnitude of a block, `max` that of the element type
// (448 of e4m3, 57344 of e5m2), whose exponent is P (8, 15).
enum class Mxfp8Mode : std::uint8_t {
  floor,  // 2^(exponent of amax - P), as in OCP Microscaling 1.0: an amax above 1.75 times a power of two saturates
  rceil,  // amax / max rounded up to a power of two: nothing saturates
  ceil,   // as floor, of amax rounded up to a power of two
  even,   // as floor, of amax rounded to the element's mantissa
  exact,  // amax / max, not rounded to a power of two: fp32 scales only
};

// What is made of source before it is quantized, in fp32 and rounded to dtype; act is the activation.
enum class Mxfp8Prologue : std::uint8_t {
  none,
  act,     // act(source)
  gated,   // act(a) * g, source being [experts, rows, 2 * cols], a and g its halves
  dact,    // source * act'(input): the gradient of act's argument, source being that of its value
  dgated,  // the gradients of a and g, as [experts, rows, cols]: source * act'(a) * g and source * act(a), a and g
           // being the halves of input, and source, [experts, rows, cols / 2], the gradient of act(a) * g
};

enum class Mxfp8BiasGradient : std::uint8_t {
  none,
  sums,  // what is quantized, summed over the rows of each column, in fp32 and in one order
};

enum class Mxfp8Policy : std::uint8_t {
  ao,  // torchao: a block with a NaN or an infinity has scale 255, and all its elements are NaN
  te,  // TransformerEngine: NaNs do not count, an infinity gives scale 254; rceil only
};

enum class Mxfp8Block : std::uint8_t {
  line,           // 32 elements of a row or a column
  square,         // 32 x 32 elements, one scale each: [experts, rows / 32, cols / 32]
  square_spread,  // the same numbers, each square's scale written for all its lines, where `line` has theirs
};

// Which elements of source are neighbours in memory.
enum class Mxfp8Order : std::uint8_t {
  cols,  // those of a row: [experts, rows, cols]
  rows,  // those of a column: [experts, cols, rows]
};

enum class Mxfp8Scales : std::uint8_t {
  plain,    // row direction [experts, rows, cols / 32], col direction [experts, rows / 32, cols]
  blocked,  // of each expert's lines and blocks in atoms of 128 x 4, as block-scaled matrix products read them; lines
            // are padded to 128 and blocks to 4 with zeros. A line is a row (row direction) or a column
};

enum class Mxfp8Tail : std::uint8_t {
  refuse,  // the dimension that is cut into blocks must be a multiple of 32, or of 128 with scaling=block128
  pad,     // the last block is as if zeros followed
};

struct Mxfp8Args {
  In source = {};
  In input = {};    // prologue dact and dgated: [experts, rows, cols] of dtype, no gaps
  In offsets = {};  // groups: [groups], where each ends; a group begins where the one before it ends, the first at 0
  In given_scale = {};  // scaling=tensor: a float
  In noop = {};         // noop=flag: a float; where it is 1 nothing is read or written
  Out out = {};         // of element; must not overlap source or input
  Out scales = {};      // e8m0, or f32 as scaling says; none with scaling=tensor
  Out out_col = {};     // with direction both: of the col direction; out and scales are then of the row direction
  Out scales_col = {};
  Out bias_gradient = {};  // bias_gradient=sums: [experts, cols] of f32
  Out workspace = {};      // and what it is made in: zeros, as each launch leaves it, one at a time; see
                           // Plan::workspace_bytes
  Out status = {};  // groups: an int32 that the caller has set to 0; 1 + the number of the first group that ends before
                    // it begins or after the last row (or whose rows must be whole blocks and are not): then nothing
                    // else is written
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
  std::int64_t groups = 0;  // of rows, whose ends are on the device; 0: none
  Mxfp8Noop noop = Mxfp8Noop::never;
  DType offset = DType::i32;  // type of the ends: i32 or i64
  Mxfp8Prologue prologue = Mxfp8Prologue::none;
  Activation activation = Activation::identity;
  Mxfp8BiasGradient bias_gradient = Mxfp8BiasGradient::none;
  std::int64_t source_stride = 0;  // elements from a row of source (with source_order=rows a column) to the next; 0: as
                                   // many as it has
  std::int64_t source_expert_stride = 0;  // from an expert of source to the next; 0: the rows of one. Fewer are legal:
                                          // a row of each expert, then the next of each

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_MXFP8_H_
