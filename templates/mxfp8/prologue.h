// A prologue on the host: the numbers that the reference quantizes, and test inputs for which they are known to the
// last bit.
#ifndef QUERN_MXFP8_PROLOGUE_H_
#define QUERN_MXFP8_PROLOGUE_H_

#include <string_view>

#include "mxfp8/matrix.h"

namespace quern::mxfp8 {

// Element [row, column] of the numbers to quantize, before rounding to dtype; `row` counts the rows of all matrices, in
// the order of source.
float made(const Mxfp8& p, const Mxfp8Args& a, std::int64_t row, std::int64_t column);

// The tolerance of an output of quantize.
Tolerance prologue_tolerance(const Mxfp8& p, std::string_view operand);

// Source and input of a prologue. With an activation that is not exact, results of a GPU and the host differ by a few
// fp32 ulps. So its arguments are chosen such that both results round to the same number, and its value is multiplied
// only with powers of two.
void generate_arguments(const Mxfp8& p, bool input, std::uint64_t seed, void* data);

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_PROLOGUE_H_
