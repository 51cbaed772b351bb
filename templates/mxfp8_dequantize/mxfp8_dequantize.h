// mxfp8_dequantize: converts the output of mxfp8, 8-bit elements and their scales, back to numbers.
//
// Each number is element * 2^(scale - 127), rounded once to dtype; with fp32 scales element * scale in fp32, then
// rounded to dtype. It is NaN if either is. Fields have the same meaning as the fields of mxfp8 with the same name, and
// source and scales are laid out as mxfp8 with the same fields writes them.
#ifndef QUERN_MXFP8_DEQUANTIZE_H_
#define QUERN_MXFP8_DEQUANTIZE_H_

#include <cstdint>

#include "quern/export.h"
#include "quern/family.h"
#include "quern/mx_choices.h"

namespace quern {

// Those of quern/mx_choices.h, under this family's names.
using Mxfp8DequantizeDirection = MxDirection;
using Mxfp8DequantizeScaling = MxScaling;
using Mxfp8DequantizeBlock = MxBlock;
using Mxfp8DequantizeOrder = MxOrder;  // with direction=col, of source; rows: as mxfp8 transposes them
using Mxfp8DequantizeScales = MxPaddedScaleLayout;
using Mxfp8DequantizeTail = MxTail;
using Mxfp8DequantizeNoop = MxNoop;

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
