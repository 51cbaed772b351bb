// The values of fields that the families of MX formats share. Read by applications, by the host and by kernels.
#ifndef QUERN_MX_CHOICES_H_
#define QUERN_MX_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// Along what blocks lie.
#define QUERN_MX_DIRECTIONS(VALUE) \
  VALUE(row)                       \
  VALUE(col)
enum class MxDirection : unsigned char { QUERN_MX_DIRECTIONS(QUERN_VALUE) };

// Which elements share a scale, and how scales are stored.
#define QUERN_MX_SCALINGS(VALUE)                                         \
  VALUE(mx)       /* 32 elements, an E8M0 byte; 255 is NaN */            \
  VALUE(tensor)   /* everything: `given_scale`, a float on the device */ \
  VALUE(row)      /* a row: an fp32, made of its largest magnitude */    \
  VALUE(block128) /* 128 elements: an fp32 */
enum class MxScaling : unsigned char { QUERN_MX_SCALINGS(QUERN_VALUE) };

// Which elements share a scale of a block of 32.
#define QUERN_MX_BLOCKS(VALUE)                                                                        \
  VALUE(line)          /* 32 elements of a row or a column */                                         \
  VALUE(square)        /* 32 x 32 elements; plain, one scale each: [experts, rows / 32, cols / 32] */ \
  VALUE(square_spread) /* the same; plain, each square's scale written for all its lines, where `line` has theirs */
enum class MxBlock : unsigned char { QUERN_MX_BLOCKS(QUERN_VALUE) };

// Which elements of a matrix are neighbours in memory.
#define QUERN_MX_ORDERS(VALUE)                            \
  VALUE(cols) /* those of a row: [experts, rows, cols] */ \
  VALUE(rows) /* those of a column: [experts, cols, rows] */
enum class MxOrder : unsigned char { QUERN_MX_ORDERS(QUERN_VALUE) };

// plain: row direction [experts, rows, cols / 32], col direction [experts, rows / 32, cols]. blocked: each expert's
// lines and blocks in atoms of 128 x 4, as block-scaled matrix products read them; lines are padded to 128 and blocks
// to 4 with zeros. A line is a row (row direction) or a column.
#define QUERN_MX_SCALE_LAYOUTS(VALUE) \
  VALUE(plain)                        \
  VALUE(blocked)
enum class MxScaleLayout : unsigned char { QUERN_MX_SCALE_LAYOUTS(QUERN_VALUE) };

// Those of mxfp8 and mxfp8_dequantize. padded: as plain, but each line of the memory begins at a multiple, and an
// expert has memory for a multiple of lines: of 4 along blocks, of 128 along the others. TransformerEngine allocates
// so. The padding is not written, and not read.
#define QUERN_MX_PADDED_SCALE_LAYOUTS(VALUE) \
  QUERN_MX_SCALE_LAYOUTS(VALUE)              \
  VALUE(padded)
enum class MxPaddedScaleLayout : unsigned char { QUERN_MX_PADDED_SCALE_LAYOUTS(QUERN_VALUE) };

// The extents that are legal for a dimension that is cut into blocks.
#define QUERN_MX_TAILS(VALUE)                                           \
  VALUE(refuse) /* a multiple of 32, or of 128 with scaling=block128 */ \
  VALUE(pad)    /* any size: the last block may be cut, and is as if zeros followed */
enum class MxTail : unsigned char { QUERN_MX_TAILS(QUERN_VALUE) };

// Whether a float on the device may skip the launch.
#define QUERN_MX_NOOPS(VALUE) \
  VALUE(never)                \
  VALUE(flag) /* where it is 1 nothing is read or written */
enum class MxNoop : unsigned char { QUERN_MX_NOOPS(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_MX_CHOICES_H_
