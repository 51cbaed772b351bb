// The widest accesses to tensors. Host code.
#ifndef QUERN_ROPE_VECTORS_H_
#define QUERN_ROPE_VECTORS_H_

#include "rope/problem.h"

namespace quern::rope {

// Bytes of the widest access that divides all parts of a head and all distances, at most `limit`.
std::int64_t natural_vector(const Rope& p, std::int64_t limit);

// The same of runs of heads that are adjacent in memory, whatever the parts of a head are: each begins at a head whose
// number in its line is a multiple of something. At least the size of an element.
std::int64_t run_vector(const Rope& p, std::int64_t limit);

// Whether rows that follow each other on the fastest axis are adjacent in memory: heads of a token, or with
// layout=bhsd the tokens of a head.
bool has_adjacent_rows(const Rope& p);

// Whether all tensors are without gaps, since the problem gives no strides.
bool has_no_strides(const Rope& p);

}  // namespace quern::rope

#endif  // QUERN_ROPE_VECTORS_H_
