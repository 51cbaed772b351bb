// Out in 8 bits on the host: which numbers share a scale, and where scales are.
#ifndef QUERN_EMBEDDING_QUANTIZED_H_
#define QUERN_EMBEDDING_QUANTIZED_H_

#include <cstdint>
#include <string>

#include "embedding/embedding.h"
#include "embedding/shape.h"
#include "mx/choice_names.h"
#include "mx/scales.h"
#include "quern/spec.h"

namespace quern::embedding {

inline constexpr const char* kScalings[] = {QUERN_EMBEDDING_SCALINGS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kScaleModes[] = {QUERN_SCALE_MODES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kScalePolicies[] = {QUERN_SCALE_POLICIES(QUERN_CHOICE_NAME) nullptr};

inline bool has_given_scale(const Embedding& p) { return p.scaling == EmbeddingScaling::tensor; }
inline bool has_made_scales(const Embedding& p) { return is_quantized(p) && !has_given_scale(p); }
inline bool has_fp32_scales(const Embedding& p) { return p.scaling != EmbeddingScaling::mx; }
inline bool has_atoms(const Embedding& p) { return p.scale_layout == MxScaleLayout::blocked; }

// Numbers of a row that share a scale; 0: a row has one, or it is given.
inline std::int64_t block_length(const Embedding& p) {
  return p.scaling == EmbeddingScaling::mx ? 32 : p.scaling == EmbeddingScaling::block128 ? 128 : 0;
}
inline mx::ScaleGrid scale_grid(const Embedding& p) {
  return {1, p.batch, width_of(p), false, block_length(p), false, 0, false, has_fp32_scales(p) ? f32 : e8m0};
}
inline std::int64_t scales_of_row(const Embedding& p) { return block_length(p) == 0 ? 1 : scale_grid(p).blocks(); }

inline Layout given_scale_layout(const Embedding& p) { return has_given_scale(p) ? Layout::list(f32, 1) : Layout{}; }
inline Layout out_scales_layout(const Embedding& p) {
  if (!has_made_scales(p)) return {};
  if (has_atoms(p)) return mx::blocked_layout(scale_grid(p));
  return Layout::matrix(has_fp32_scales(p) ? f32 : e8m0, p.batch, scales_of_row(p), scales_of_row(p));
}

// Rows and slots of out that threads are there for: those of blocked scales' padding too.
inline std::int64_t rows_to_do(const Embedding& p) { return has_atoms(p) ? mx::round_up_to(p.batch, 128) : p.batch; }
std::int64_t columns_to_do(const Embedding& p, const Cut& cut);
// Adjacent threads that share a scale, as far as the problem says it.
inline std::int64_t threads_of_block(const Embedding& p, std::int64_t elements) {
  return block_length(p) == 0 ? 1 : block_length(p) / elements;
}

// The rules between the fields: a sentence, or "".
std::string check_scaling(const Embedding& p);

void specialize_scaling(const Embedding& p, Spec& spec);

// Quantizes a row of numbers of dtype. Blocked scales were cleared.
void quantize_row(const Embedding& p, const EmbeddingArgs& a, std::int64_t row, const void* numbers);

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_QUANTIZED_H_
