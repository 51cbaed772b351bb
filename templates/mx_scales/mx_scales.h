// mx_scales: E8M0 scales of blocks of 32 from their plain layout to the one that block-scaled matrix products read, and
// back.
//
// The scales are laid out as those of mxfp8 with scaling=mx and the same rows, cols, experts, direction, block, tail
// and groups. In direction row a line is a row of the matrix, in direction col a column; a line has a scale for each 32
// elements. Plain, they are [experts, rows, cols / 32], or in direction col [experts, rows / 32, cols]. Blocked, each
// expert has its lines padded to 128 and its blocks to 4 with zeros, in atoms of 512 bytes: 128 lines and 4 blocks of
// each, where block b of line l is byte 16 * (l % 32) + 4 * (l / 32) + b.
#ifndef QUERN_MX_SCALES_MX_SCALES_H_
#define QUERN_MX_SCALES_MX_SCALES_H_

#include <cstdint>

#include "quern/choice.h"
#include "quern/export.h"
#include "quern/family.h"
#include "quern/mx_choices.h"

namespace quern {

#define QUERN_MX_SCALES_TARGETS(VALUE) \
  VALUE(blocked)                       \
  VALUE(plain) /* with block=square the first line of a square speaks for it */
enum class MxScalesTo : std::uint8_t { QUERN_MX_SCALES_TARGETS(QUERN_CHOICE_VALUE) };

// The layout of the scales that are not blocked. padded: as TransformerEngine allocates them, see quern/mx_choices.h;
// the padding is not written, and not read.
#define QUERN_MX_SCALES_LAYOUTS(VALUE) \
  VALUE(plain)                         \
  VALUE(padded)
enum class MxScalesLayout : std::uint8_t { QUERN_MX_SCALES_LAYOUTS(QUERN_CHOICE_VALUE) };

// Those of quern/mx_choices.h, under this family's names.
using MxScalesDirection = MxDirection;
using MxScalesBlock = MxBlock;
using MxScalesTail = MxTail;
using MxScalesNoop = MxNoop;

struct MxScalesArgs {
  In source = {};   // scales of e8m0
  In offsets = {};  // groups: [groups] of `offset`, where each ends; a group begins where the one before it ends
  In noop = {};     // noop=flag: a float; where it is 1 nothing is read or written
  Out out = {};     // must not overlap source
  Out status = {};  // groups: an int32 that the caller has set to 0; 1 + the number of the first group that ends before
                    // it begins or after the last row, or whose rows must be whole blocks and are not: then nothing
                    // else is written
  std::int64_t rows = kOpen;
  std::int64_t experts = kOpen;
};

// COST: one read and one write of the scales.
struct MxScales {
  using Args = MxScalesArgs;

  MxScalesTo to = MxScalesTo::blocked;
  std::int64_t rows = kOpen;  // of the matrix that the scales belong to
  std::int64_t cols = 4096;
  std::int64_t experts = 1;
  MxScalesDirection direction = MxScalesDirection::row;
  MxScalesBlock block = MxScalesBlock::line;
  MxScalesTail tail = MxScalesTail::refuse;
  std::int64_t groups = 0;  // of rows, whose ends are on the device; 0: none
  DType offset = DType::i32;
  MxScalesNoop noop = MxScalesNoop::never;
  MxScalesLayout scale_layout = MxScalesLayout::plain;  // padded: block=line or square_spread

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_MX_SCALES_MX_SCALES_H_
