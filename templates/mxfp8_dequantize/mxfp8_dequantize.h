// mxfp8_dequantize: back from what mxfp8 writes, 8-bit elements and their scales, to numbers.
//
// Each number is element * 2^(scale - 127), rounded once to dtype; with fp32 scales element * scale in fp32, then
// rounded to dtype. It is NaN where either is. Fields of the same name mean what they mean for mxfp8, and source and
// scales are laid out as mxfp8 with the same fields writes them.
#ifndef QUERN_MXFP8_DEQUANTIZE_H_
#define QUERN_MXFP8_DEQUANTIZE_H_

#include <cstdint>

#include "quern/export.h"
#include "quern/family.h"

namespace quern {

// Along what blocks lie.
enum class Mxfp8DequantizeDirection : std::uint8_t { row, col };

enum class Mxfp8DequantizeScaling : std::uint8_t {
  mx,        // 32 elements, an E8M0 byte; 255 is NaN
  tensor,    // everything: `given_scale`, a float on the device
  row,       // a row: an fp32
  block128,  // 128 elements: an fp32
};

enum class Mxfp8DequantizeBlock : std::uint8_t {
  line,           // elements of a row or a column
  square,         // 32 x 32 elements, one scale each
  square_spread,  // the same, each square's scale written for all its lines
};

// With direction=col whose elements are neighbours in source.
enum class Mxfp8DequantizeOrder : std::uint8_t {
  cols,  // [experts, rows, cols]
  rows,  // [experts, cols, rows], as mxfp8 transposes them
};

enum class Mxfp8DequantizeScales : std::uint8_t { plain, blocked };

enum class Mxfp8DequantizeTail : std::uint8_t {
  refuse,  // the dimension that is cut into blocks must be a multiple of 32, or of 128 with scaling=block128
  pad,     // the last block may be cut
};

// Whether a float on the device may call the launch off.
enum class Mxfp8DequantizeNoop : std::uint8_t { never, flag };

struct Mxfp8DequantizeArgs {
  In source = {};         // of element
  In source_scales = {};  // e8m0, or f32 as scaling says; none with scaling=tensor
  In given_scale = {};    // scaling=tensor: a float
  In noop = {};           // noop=flag: a float; where it is 1 nothing is read or written
  Out out = {};           // of dtype, in the order of source, no gaps; must not overlap source
  std::int64_t rows = kOpen;
  std::int64_t experts = kOpen;
};

// COST: one read of source and scales, and one write of out.
struct Mxfp8Dequantize {
  using Args = Mxfp8DequantizeArgs;

  std::int64_t rows = kOpen;
  std::int64_t cols = 4096;
  std::int64_t experts = 1;
  Mxfp8DequantizeDirection direction = Mxfp8DequantizeDirection::row;
  DType dtype = DType::bf16;    // of out: f32, f16 or bf16
  DType element = DType::e4m3;  // of source: e4m3 or e5m2
  Mxfp8DequantizeScaling scaling = Mxfp8DequantizeScaling::mx;
  Mxfp8DequantizeBlock block = Mxfp8DequantizeBlock::line;
  Mxfp8DequantizeOrder out_order = Mxfp8DequantizeOrder::rows;
  Mxfp8DequantizeScales scale_layout = Mxfp8DequantizeScales::plain;
  Mxfp8DequantizeTail tail = Mxfp8DequantizeTail::refuse;
  Mxfp8DequantizeNoop noop = Mxfp8DequantizeNoop::never;
  std::int64_t source_stride = 0;         // elements from a line of source to the next; 0: as many as it has
  std::int64_t source_expert_stride = 0;  // from an expert of source to the next; 0: the lines of one. Fewer are legal:
                                          // a line of each expert, then the next of each

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_MXFP8_DEQUANTIZE_H_
