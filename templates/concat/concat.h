// concat: matrices side by side in one matrix, or their rows one after the other in one array, with or without an index
// that picks the rows; and the inverse, which splits them again.
#ifndef QUERN_CONCAT_H_
#define QUERN_CONCAT_H_

#include <cstdint>

#include "quern/choice.h"
#include "quern/export.h"
#include "quern/family.h"

namespace quern {

// Where the elements of source i are in out. first_i is the sum of the widths before it.
#define QUERN_CONCAT_LAYOUTS(VALUE)                                                                    \
  VALUE(columns) /* out[r, first_i + c] = source_i[r, c]: every source has `rows` rows */              \
  VALUE(flat)    /* the rows of source 0 one after the other, then those of source 1, without gaps; of \
                    equal widths these are the rows of a matrix */
enum class ConcatLayout : std::uint8_t { QUERN_CONCAT_LAYOUTS(QUERN_CHOICE_VALUE) };

// What an index outside of its source gives. The words are gather's.
#define QUERN_CONCAT_MODES(VALUE)                                                   \
  VALUE(assume_valid)      /* every index is in range; anything else is undefined*/ \
  VALUE(minus_one_is_zero) /* -1 gives zeros, the others are in range */            \
  VALUE(zero)              /* zeros */
enum class ConcatMode : std::uint8_t { QUERN_CONCAT_MODES(QUERN_CHOICE_VALUE) };

#define QUERN_CONCAT_PASSES(VALUE)                                                                                \
  VALUE(forward)  /* sources to out */                                                                            \
  VALUE(backward) /* source, which has the shape of the forward's out, split to outs; with an index each row goes \
                     where the forward pass picked it */
enum class ConcatPass : std::uint8_t { QUERN_CONCAT_PASSES(QUERN_CHOICE_VALUE) };

// Pointers to device memory; see Operand in family.h for ownership. Outputs must not overlap each other or an input.
struct ConcatArgs {
  InList sources = {};  // forward: source i is [rows or source_rows[i], widths[i]], rows strides[i] elements apart
  InList index = {};    // with an index: [rows or counts[i]] for each source
  Out out = {};         // forward: columns: [rows, all widths], rows out_stride elements apart; flat: [all elements]
  In source = {};       // backward: the same
  OutList outs = {};    // backward: as sources. With an index, rows that it does not name stay as they are
  std::int64_t rows = kOpen;
};

// Elements are moved unchanged, NaN payloads included. Gaps between rows are neither read nor written.
// COST: one launch. Each element is read once and written once.
struct Concat {
  using Args = ConcatArgs;

  ConcatLayout layout = ConcatLayout::columns;
  std::int64_t rows = kOpen;    // of out; flat: that each source gives, unless there are counts
  List<64> widths = {64, 64};   // elements in a row of each source; 0 is legal
  DType dtype = DType::bf16;    // any
  List<64> strides = {};        // elements between the rows of each source; none, or 0: its width
  std::int64_t out_stride = 0;  // columns: elements between the rows of out; 0: all widths
  List<64> counts = {};         // flat: rows that each source gives; none: `rows` each
  DType index = DType::none;    // i32 or i64: out takes row index_i[r] of source i in the place of its row r
  List<64> source_rows = {};    // with an index: rows of each source
  ConcatMode mode = ConcatMode::assume_valid;
  ConcatPass pass = ConcatPass::forward;  // backward with an index: a row that it names twice is undefined

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_CONCAT_H_
