// The operands of a problem on the host: their sizes, and what an index means.
#ifndef QUERN_GATHER_OPERANDS_H_
#define QUERN_GATHER_OPERANDS_H_

#include <cstdint>

#include "gather/gather.h"

namespace quern::gather {

inline std::int64_t element_bytes(const Gather& p) { return bytes(p.dtype); }
inline std::int64_t row_bytes(const Gather& p) { return p.width * element_bytes(p); }
inline std::int64_t source_stride(const Gather& p) { return p.source_stride == 0 ? p.width : p.source_stride; }
inline std::int64_t out_stride(const Gather& p) { return p.out_stride == 0 ? p.width : p.out_stride; }
// Rows of out, of all matrices; the extents are known.
inline std::int64_t all_rows(const Gather& p) { return p.outer * p.count; }

// Whether the mode compares indices with the number of rows.
inline bool checks(const Gather& p) {
  return p.mode != GatherMode::assume_valid && p.mode != GatherMode::minus_one_is_zero;
}
inline bool needs_rows(const Gather& p) { return p.outer != 1 || checks(p); }
inline bool allows_no_rows(const Gather& p) {
  return p.mode == GatherMode::minus_one_is_zero || p.mode == GatherMode::zero || p.mode == GatherMode::report;
}

// The plain reference.
void reference(const Gather& p, const GatherArgs& a);

// Indices: a permutation if count <= rows, else one permutation after another, each of its own: a period would have
// an L2 of less than the source's size miss always. Some indices are outside of source if the mode gives them a
// meaning.
void fill_indices(const Gather& p, std::uint64_t seed, void* data);

}  // namespace quern::gather

#endif  // QUERN_GATHER_OPERANDS_H_
