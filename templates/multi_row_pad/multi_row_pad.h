// multi_row_pad: up to 64 matrices in one launch, each padded with rows of zeros to a number of rows of its own; and
// back. row_pad does this to the groups of one matrix, whose sizes are on the device.
#ifndef QUERN_MULTI_ROW_PAD_H_
#define QUERN_MULTI_ROW_PAD_H_

#include <cstdint>

#include "quern/choice.h"
#include "quern/export.h"
#include "quern/family.h"

namespace quern {

#define QUERN_MULTI_ROW_PAD_DIRECTIONS(VALUE)                       \
  VALUE(pad)   /* sources have `rows`; outs have the padded rows */ \
  VALUE(unpad) /* the inverse: padding is not read. The gradient of pad */
enum class MultiRowPadDirection : std::uint8_t { QUERN_MULTI_ROW_PAD_DIRECTIONS(QUERN_CHOICE_VALUE) };

// Pointers to device memory; see Operand in family.h for ownership. Outputs must not overlap each other or an input.
struct MultiRowPadArgs {
  InList sources = {};  // pad: source i is [rows[i], cols[i]]; unpad: [padded rows of i, cols[i]]; no gaps
  OutList outs = {};    // the other
};

// Elements are moved unchanged, NaN payloads included.
// COST: one launch. Each element of the unpadded matrices is read once, and each element of the outputs is written
// once.
struct MultiRowPad {
  using Args = MultiRowPadArgs;

  MultiRowPadDirection direction = MultiRowPadDirection::pad;
  List<64> rows = {100, 500};  // of each matrix before it is padded; 0 is legal
  List<64> cols = {4096};      // elements in a row of each matrix; one entry: of all
  List<64> padded_rows = {};   // of each matrix after it is padded; none: its rows, rounded up to a multiple of `align`
  std::int64_t align = 32;
  DType dtype = DType::bf16;  // any

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_MULTI_ROW_PAD_H_
