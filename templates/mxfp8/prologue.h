// A prologue on the host: what the reference quantizes, and inputs of which that is known to the last bit.
#ifndef QUERN_MXFP8_PROLOGUE_H_
#define QUERN_MXFP8_PROLOGUE_H_

#include <string_view>

#include "mxfp8/matrix.h"

namespace quern::mxfp8 {

// Element [row, column] of what is quantized, before it is rounded to dtype; `row` of all matrices, as source has them.
float made(const Mxfp8& p, const Mxfp8Args& a, std::int64_t row, std::int64_t column);

// What an operand of quantize may be off by.
Tolerance prologue_tolerance(const Mxfp8& p, std::string_view operand);

// Source and input of a prologue. An activation that is not exact gives a GPU and the host numbers that differ by some
// units of fp32. So its arguments are such that both round to the same number, and what its value is multiplied with is
// a power of two.
void generate_arguments(const Mxfp8& p, bool input, std::uint64_t seed, void* data);

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_PROLOGUE_H_
