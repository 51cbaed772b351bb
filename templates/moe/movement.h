// Rows that move between tokens and experts: what moe_permute, moe_unpermute and chunk_sort share on the host.
#ifndef QUERN_MOE_MOVEMENT_H_
#define QUERN_MOE_MOVEMENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/scale_choices.h"
#include "moe/moe_choices.h"
#include "moe/routing.h"
#include "quern/family.h"

namespace quern::moe {

enum class Form : std::uint8_t {
  dispatch,          // a token's row to the row of each of its routes; padding rows are zeros
  combine,           // the sum of a token's rows
  combine_gradient,  // of a weighted combine: of the rows, and of the weights
  reorder,           // each row to one row, in chunks; a token is a row and has one route
  factor_gradient,   // of a dispatch with factors: of the rows of tokens, and of the factors
};

struct Movement {
  Form form;
  bool weighted;  // probs are factors of rows; else they move with the rows
  bool residual;
  DType dtype;
  DType probs;         // none: there are none
  bool dense;          // a token has a probability for each expert; else for each route
  MoeScaling scaling;  // dispatch and reorder: of the scales that move with the rows
  std::int64_t tokens;
  std::int64_t hidden;
  std::int64_t topk;
  RowRules rules;  // capacity 0: enough for any routing
  // Of dispatch: rows are quantized to `element`; none: they are not.
  DType element;
  ScaleMode mode = ScaleMode::rceil;
  ScalePolicy policy;
  bool blocked;  // the layout of the scales; with it token_scales are written too, and there is a workspace
  // Of dispatch and its gradient: rows are multiplied before they move. none: they are not.
  DType factors;
  bool route_factors;  // a factor for each route; else for each token
  // Of reorder:
  bool backward;
  DType index;  // of the sizes of chunks and their order
  std::int64_t chunks;
};

// The gradient of probs, see moe/segments.cuh: the most chunks of a segment, and the sums of a token that a block may
// keep: what any launch has without asking.
inline constexpr std::int64_t kChunkBytes = 16;
inline constexpr std::int64_t kChunksOfSegment = 128;
inline constexpr std::int64_t kMostSumBytes = 48 << 10;
// Their table is in shared memory, 32 KB.
inline constexpr std::int64_t kMostChunks = 4096;
// Words of a workspace before those of rows: what blocks count, in a line of its own.
inline constexpr std::int64_t kCountWords = 32;

// Whether rows are moved as bits.
inline bool moves_bits(const Movement& m) { return m.form == Form::dispatch || m.form == Form::reorder; }
inline bool quantizes(const Movement& m) { return m.element != DType::none; }
inline bool has_factors(const Movement& m) { return m.factors != DType::none; }
inline bool has_probs(const Movement& m) { return m.probs != DType::none; }
// Whether out_probs is of tokens, not of rows.
inline bool collects_probs(const Movement& m) {
  return has_probs(m) && (m.form == Form::combine_gradient || m.form == Form::factor_gradient ||
                          (m.form == Form::combine && !m.weighted));
}
// Whether padding rows are written.
inline bool clears_pads(const Movement& m) {
  return m.form != Form::combine && m.form != Form::factor_gradient && lists_pads(m.rules);
}
inline std::int64_t row_bytes(const Movement& m) { return m.hidden * bytes(m.dtype); }
inline DType out_type(const Movement& m) { return quantizes(m) ? m.element : m.dtype; }
inline std::int64_t out_row_bytes(const Movement& m) { return m.hidden * bytes(out_type(m)); }
// Rows of the grouped matrix; kOpen if `tokens` is.
std::int64_t capacity_of(const Movement& m);

// The memory of the operands, [tokens, hidden] or [capacity, hidden], and so on.
inline Layout token_matrix(const Movement& m) { return Layout::matrix(m.dtype, m.tokens, m.hidden, m.hidden); }
inline Layout row_matrix(const Movement& m) { return Layout::matrix(m.dtype, capacity_of(m), m.hidden, m.hidden); }
inline Layout of_routes(const Movement& m, DType dtype) { return Layout::matrix(dtype, m.tokens, m.topk, m.topk); }
inline Layout of_tokens(const Movement& m, DType probs) {
  return m.dense ? Layout::matrix(probs, m.tokens, m.rules.experts, m.rules.experts) : of_routes(m, probs);
}
inline Layout experts_of_routes(const Movement& m) { return of_routes(m, m.dense ? i32 : DType::none); }
inline Layout of_rows(const Movement& m, DType dtype) { return Layout::list(dtype, capacity_of(m)); }
// Scales of a row, and their type.
inline std::int64_t scales_of_row(const Movement& m) {
  return m.scaling == MoeScaling::row        ? 1
         : m.scaling == MoeScaling::block128 ? (m.hidden + 127) / 128
                                             : (m.hidden + 31) / 32;
}
inline DType scale_type(const Movement& m) {
  return m.scaling == MoeScaling::none ? DType::none : m.scaling == MoeScaling::mx ? e8m0 : f32;
}
// Elements of a row that share a made scale; 0: all of them, or the scale is given.
inline std::int64_t block_length(const Movement& m) {
  return m.scaling == MoeScaling::mx ? 32 : m.scaling == MoeScaling::block128 ? 128 : 0;
}
inline bool has_given_scale(const Movement& m) { return quantizes(m) && m.scaling == MoeScaling::none; }
inline bool scales_rows(const Movement& m) { return quantizes(m) && m.scaling == MoeScaling::row; }
// Whether rows are multiplied by others, in segments.
inline bool has_dots(const Movement& m) { return m.form == Form::combine_gradient || m.form == Form::factor_gradient; }
// Whether all threads of a row make one number: warps of a block may share the row.
inline bool has_teams(const Movement& m) { return has_dots(m) || scales_rows(m); }
inline Layout scales_matrix(const Movement& m, std::int64_t rows) {
  return Layout::matrix(scale_type(m), rows, scales_of_row(m), scales_of_row(m));
}
// The scale of a block of a row, in out_scales.
std::int64_t made_scale_index(const Movement& m, std::int64_t row, std::int64_t block);
// Blocks of a row of out_scales: the blocked layout has a multiple of 4, with zeros after the last.
inline std::int64_t made_scales_of_row(const Movement& m) {
  return m.blocked ? (scales_of_row(m) + 3) / 4 * 4 : scales_of_row(m);
}
// Those that a quantization makes.
Layout made_scales(const Movement& m);
// With blocked scales: those of tokens, and a word for each row.
Layout token_scales_layout(const Movement& m);
Layout workspace_layout(const Movement& m);
inline Layout absent() { return Layout::list(DType::none, 0); }

// The operands of a launch; null where the problem does not have one.
struct Operands {
  const void* source = nullptr;
  const void* token_rows = nullptr;
  const void* pads = nullptr;
  const void* probs = nullptr;
  void* out = nullptr;
  void* out_probs = nullptr;
  const void* rows = nullptr;      // combine_gradient, factor_gradient: what was combined or moved
  const void* residual = nullptr;  // combine
  const void* scales = nullptr;    // dispatch and reorder: those that move
  void* out_scales = nullptr;
  void* token_scales = nullptr;  // dispatch with blocked scales
  void* workspace = nullptr;
  const void* given_scale = nullptr;  // dispatch that quantizes without making scales
  const void* sizes = nullptr;        // reorder
  const void* order = nullptr;
  const void* token_experts = nullptr;  // if each expert has a probability
  const void* factors = nullptr;        // dispatch, factor_gradient
  void* out_factors = nullptr;          // factor_gradient
};

// "" or the reason why a problem is refused.
std::string check_movement(const Movement& m);
// Test data of one routing for all operands of a problem. False: numbers of the operand's type.
bool generate_movement(const Movement& m, std::string_view operand, std::uint64_t seed, void* data);
void move_on_host(const Movement& m, const Operands& operands);
// The fewest bytes that the routing of benchmarks moves.
std::int64_t moved_bytes(const Movement& m);

}  // namespace quern::moe

#endif  // QUERN_MOE_MOVEMENT_H_
