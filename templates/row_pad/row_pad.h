// row_pad: moves groups of rows so that each begins at a multiple of `align`, with zeros between them, as grouped
// matrix products need it; and back.
//
// The boundaries of groups are on the device: `offsets` has the end of each of `groups` in the unpadded rows. A group
// begins where the one before it ends, the first at 0; rows after the last group belong to none.
#ifndef QUERN_ROW_PAD_H_
#define QUERN_ROW_PAD_H_

#include <cstdint>

#include "quern/choice.h"
#include "quern/export.h"
#include "quern/family.h"
#include "quern/mx_choices.h"

namespace quern {

#define QUERN_ROW_PAD_DIRECTIONS(VALUE)                                                                         \
  VALUE(pad)   /* out is [round_up(rows + groups * align, align), cols], as many rows as all groups can need */ \
  VALUE(unpad) /* source is, and rows of out after the last group are not touched */
enum class RowPadDirection : std::uint8_t { QUERN_ROW_PAD_DIRECTIONS(QUERN_CHOICE_VALUE) };

using RowPadNoop = MxNoop;  // of quern/mx_choices.h

struct RowPadArgs {
  In source = {};
  In offsets = {};  // [groups] of `offset`: where each ends in the unpadded rows
  In noop = {};     // noop=flag: a float; where it is 1 nothing is read or written
  Out out = {};     // must not overlap source
  Out starts = {};  // pad: [groups] of `offset`, where each group begins in out
  Out ends = {};    // and where its padding ends
  Out status = {};  // an int32 that the caller has set to 0; 1 + the number of the first group that ends before it
                    // begins or after the last row: then nothing else is written
  std::int64_t rows = kOpen;
};

// COST: one read of the groups' rows, and one write of out.
struct RowPad {
  using Args = RowPadArgs;

  RowPadDirection direction = RowPadDirection::pad;
  std::int64_t rows = kOpen;  // of the unpadded matrix
  std::int64_t cols = 4096;
  std::int64_t groups = 1;
  std::int64_t align = 32;    // rows
  DType dtype = DType::bf16;  // any: elements are moved unchanged
  DType offset = DType::i32;  // i32 or i64
  RowPadNoop noop = RowPadNoop::never;

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_ROW_PAD_H_
