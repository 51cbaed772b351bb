// scatter: out[index[i], :] = source[i, :], or is added to what out has there: any row length, stride and alignment.
#ifndef QUERN_SCATTER_H_
#define QUERN_SCATTER_H_

#include <cstdint>

#include "quern/choice.h"
#include "quern/export.h"
#include "quern/family.h"

namespace quern {

#define QUERN_SCATTER_OPS(VALUE)              \
  VALUE(copy) /* rows replace those of out */ \
  VALUE(add)  /* rows are added to those of out; f32, f16 or bf16 */
enum class ScatterOp : std::uint8_t { QUERN_SCATTER_OPS(QUERN_CHOICE_VALUE) };

// The meaning of an index outside of out.
#define QUERN_SCATTER_MODES(VALUE)                                            \
  VALUE(assume_valid) /* every index is in [0, rows); else it is undefined */ \
  VALUE(skip)         /* its row of source is not used */
enum class ScatterMode : std::uint8_t { QUERN_SCATTER_MODES(QUERN_CHOICE_VALUE) };

#define QUERN_SCATTER_ORDERS(VALUE)                                                                         \
  VALUE(none)  /* no index repeats, except for those that are skipped; if one does, its row is undefined */ \
  VALUE(given) /* indices may repeat: `order` has the positions of index, sorted by it */
enum class ScatterOrder : std::uint8_t { QUERN_SCATTER_ORDERS(QUERN_CHOICE_VALUE) };

// The rows of out that no index names.
#define QUERN_SCATTER_RESTS(VALUE)         \
  VALUE(leave) /* they stay as they are */ \
  VALUE(zero)  /* they become zeros, and op=add does not add what out had; needs order=given or indices=unique */
enum class ScatterRest : std::uint8_t { QUERN_SCATTER_RESTS(QUERN_CHOICE_VALUE) };

// Of rest=zero; with rest=leave `order` says it.
#define QUERN_SCATTER_INDICES(VALUE)                       \
  VALUE(any)    /* indices may repeat: `order` is given */ \
  VALUE(unique) /* no index repeats, except for those that are skipped; if one does, its last row is used */
enum class ScatterIndices : std::uint8_t { QUERN_SCATTER_INDICES(QUERN_CHOICE_VALUE) };

#define QUERN_SCATTER_FACTORS(VALUE) \
  VALUE(none)                        \
  VALUE(alpha) /* `alpha`, a number of the launch, multiplies what is added */
enum class ScatterFactor : std::uint8_t { QUERN_SCATTER_FACTORS(QUERN_CHOICE_VALUE) };

#define QUERN_SCATTER_SCALES_OF(VALUE) \
  VALUE(columns) /* [width] */         \
  VALUE(rows)    /* [count] */
enum class ScatterScaleOf : std::uint8_t { QUERN_SCATTER_SCALES_OF(QUERN_CHOICE_VALUE) };

#define QUERN_SCATTER_PASSES(VALUE) \
  VALUE(forward)                    \
  VALUE(backward) /* of op=add: the gradients of source and of scale, from that of out */
enum class ScatterPass : std::uint8_t { QUERN_SCATTER_PASSES(QUERN_CHOICE_VALUE) };

// Pointers to device memory; see Operand in family.h for ownership.
struct ScatterArgs {
  In source = {};  // [outer, count, width] of dtype, rows source_stride elements apart; backward: with a scale only
  In index = {};   // [count]
  In order = {};   // order=given: [count] of i32, positions of index so that index[order[0]], index[order[1]], …
                   // do not decrease, skipped ones last; equal ones are added in this order. index_sort's is;
                   // with any other the launch is undefined and may not end
  In scale = {};   // where the problem has it
  Out out = {};    // forward: [outer, rows, width] of dtype, rows out_stride elements apart; must not overlap an input
  Out workspace = {};  // order=given with op=add, indices=unique, and backward with a scale of columns: scratch, zeros
                       // before the first launch; each launch restores them; one launch at a time; see
                       // Plan::workspace_bytes
  In gradient = {};    // backward: [rows, width] of dtype, rows out_stride elements apart, the gradient of out
  Out source_gradient = {};  // backward: [count, width] of dtype, rows source_stride elements apart
  Out scale_gradient = {};   // backward with a scale: as scale
  float alpha = 1;           // where the problem has it
  std::int64_t rows = kOpen;
  std::int64_t count = kOpen;
  std::int64_t outer = kOpen;
};

// COST: one launch, with indices=unique a cooperative one. One read of source; one write, and with op=add rest=leave
// one read, of the rows of out that indices name; with rest=zero one write of all. Backward: one read of a row of
// gradient for each index, and of source if there is a scale; one write of source_gradient.
struct Scatter {
  using Args = ScatterArgs;

  ScatterOp op = ScatterOp::copy;
  std::int64_t rows = kOpen;   // of out; may stay open with mode=assume_valid rest=leave outer=1
  std::int64_t count = kOpen;  // of index and source
  std::int64_t width = 4096;   // elements per row
  DType dtype = DType::bf16;
  DType index = DType::i64;  // or i32
  ScatterMode mode = ScatterMode::assume_valid;
  ScatterOrder order = ScatterOrder::none;
  ScatterRest rest = ScatterRest::leave;
  ScatterFactor factor = ScatterFactor::none;
  DType scale = DType::none;  // f32, f16 or bf16: factors of what is added
  ScatterScaleOf scale_of = ScatterScaleOf::columns;
  ScatterPass pass = ScatterPass::forward;
  std::int64_t source_stride = 0;  // elements; 0: width
  std::int64_t out_stride = 0;
  std::int64_t outer = 1;  // matrices by the same index: out[o, index[i], :]
  ScatterIndices indices = ScatterIndices::any;

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_SCATTER_H_
