// The numbers that tests and benchmarks give to glu. Host code.
#ifndef QUERN_GLU_DATA_H_
#define QUERN_GLU_DATA_H_

#include <cstdint>

#include "glu/glu.h"

namespace quern::glu {

// Of an operand, by its number in the family's table. Numbers from -4 to 4 with zeros, NaN and denormals between them,
// fewer where columns are added up. Arguments of the activation are infinite too. Other factors are not, nor large:
// beside one, what an activation cancels has no bound.
void generate_numbers(const Glu& p, int operand, const Layout& layout, std::uint64_t seed, void* data);

// Arguments of the activation such that results are the same on every device, though activations differ in their last
// bits: the scale of a block hides no such difference. `seed`: of the problem's first operand; `x` has numbers already.
void generate_arguments(const Glu& p, std::uint64_t seed, void* x);

// How many rows of each group there are, now and then fewer than none or more than all.
void generate_counts(const Glu& p, std::uint64_t seed, void* data);

}  // namespace quern::glu

#endif  // QUERN_GLU_DATA_H_
