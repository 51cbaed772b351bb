// The host's view of a problem: numbers of its operands, and how a launch cuts it.
#ifndef QUERN_INTERACTION_SHAPE_H_
#define QUERN_INTERACTION_SHAPE_H_

#include <cstdint>

#include "interaction/interaction.h"

namespace quern::interaction {

inline constexpr std::int64_t kMostFeatures = 128;  // lower: a warp has all pairs of a sample in shared memory
inline constexpr std::int64_t kMostNumbers = 4096;  // outer: of a sample
inline constexpr std::int64_t kMostDim = std::int64_t{1} << 24;

inline bool is_lower(const Interaction& p) { return p.form == InteractionForm::lower; }
inline bool is_upper(const Interaction& p) { return p.form == InteractionForm::upper; }
inline bool is_backward(const Interaction& p) { return p.pass == InteractionPass::backward; }
inline bool has_diagonal(const Interaction& p) { return p.diagonal != 0; }
inline std::int64_t element_bytes(const Interaction& p) { return bytes(p.dtype); }
// upper: the first j of row i; outer and upper: where the row's product with j = 0 is, or would be.
inline std::int64_t first_of_row(const Interaction& p, std::int64_t i) { return is_upper(p) ? i + 1 - p.diagonal : 0; }
inline std::int64_t row_place(const Interaction& p, std::int64_t i) {
  const std::int64_t width = p.features * p.dim;
  return is_upper(p) ? i * (width - 1 + p.diagonal) - i * (i - 1) / 2 - first_of_row(p, i) : i * width;
}
// Whether tensor cores multiply.
inline bool by_tensor_cores(const Interaction& p) { return is_lower(p) && p.dtype != DType::f32; }

// Of a sample.
inline std::int64_t numbers_of(const Interaction& p) { return p.features * p.dim; }
inline std::int64_t pairs_before(const Interaction& p, std::int64_t i) {
  return has_diagonal(p) ? i * (i + 1) / 2 : i * (i - 1) / 2;
}
inline std::int64_t columns_of(const Interaction& p) {
  if (is_upper(p)) return pairs_before(p, numbers_of(p));
  return is_lower(p) ? p.dense + pairs_before(p, p.features) : numbers_of(p) * numbers_of(p);
}
inline std::int64_t source_stride(const Interaction& p) {
  return p.source_stride == 0 ? numbers_of(p) : p.source_stride;
}
inline std::int64_t out_stride(const Interaction& p) { return p.out_stride == 0 ? columns_of(p) : p.out_stride; }

// Whether all rows that are read in columns of 16 bytes, and what is written as they are, can be aligned.
bool may_be_whole(const Interaction& p);
// Whether a row's dense numbers are stored together with its pairs: each lane of a warp has a column of 16 bytes of
// them.
bool dense_with_pairs(const Interaction& p);
// Shared memory of a warp in the form lower, given the parameters `numbers` and `band`.
std::int64_t warp_bytes(const Interaction& p, std::int64_t numbers, std::int64_t band);
// That of a block in the form outer.
std::int64_t block_bytes(const Interaction& p);
// Accesses of 16 bytes to a row of out, wherever it begins; outer.
std::int64_t row_accesses(const Interaction& p);

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_SHAPE_H_
