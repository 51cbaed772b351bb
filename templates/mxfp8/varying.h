// Groups that are matrices of their own, one after the other in memory, whose rows, columns or both only the device
// knows. Host code: how much memory they can need, and their shapes for references and tests.
#ifndef QUERN_MXFP8_VARYING_H_
#define QUERN_MXFP8_VARYING_H_

#include <cstdint>
#include <vector>

#include "mxfp8/mxfp8.h"

namespace quern::mxfp8 {

inline bool has_matrices(const Mxfp8& p) { return p.varying != Mxfp8Varying::rows; }

// Elements of all groups, at most; kOpen while that is not known.
std::int64_t most_elements(const Mxfp8& p);

// The most tiles of `rows` x `cols` elements that groups of any shape can need, each group its own.
std::int64_t most_tiles(const Mxfp8& p, std::int64_t rows, std::int64_t cols);

// One group as a problem of its own, with its operands.
struct GroupMatrix {
  Mxfp8 problem;
  Mxfp8Args args;
};
// Empty if a group is invalid; then *status is 1 + its number.
std::vector<GroupMatrix> matrices_of(const Mxfp8& p, const Mxfp8Args& a);

// Generates ends of rows (`offsets`) or of columns (`col_offsets`) so that all groups have most_elements at most.
void generate_ends(const Mxfp8& p, bool cols, std::uint64_t seed, void* ends);

// The groups of benchmarks, without operands.
std::vector<GroupMatrix> bench_matrices(const Mxfp8& p);

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_VARYING_H_
