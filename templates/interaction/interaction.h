// interaction: products of the features of recommenders. Of the vectors of a sample either all products of two numbers,
// or the inner products of all pairs of vectors, as in DLRM; and the gradients of both.
#ifndef QUERN_INTERACTION_H_
#define QUERN_INTERACTION_H_

#include <cstdint>

#include "quern/choice.h"
#include "quern/export.h"
#include "quern/family.h"

namespace quern {

// x is the source of a sample: `features` vectors of `dim` numbers, seen as a list c of features * dim where they are
// not told apart.
#define QUERN_INTERACTION_FORMS(VALUE)                                                                             \
  VALUE(lower) /* the lower triangle of x x^T, row by row: <x[i], x[j]> for j < i, after the first `dense` numbers \
                  of the source as they are */                                                                     \
  VALUE(outer) /* c[i] * c[j] for all i and j, row by row */                                                       \
  VALUE(upper) /* of these those with i < j */
enum class InteractionForm : std::uint8_t { QUERN_INTERACTION_FORMS(QUERN_CHOICE_VALUE) };

#define QUERN_INTERACTION_PASSES(VALUE) \
  VALUE(forward)  /* source to out */   \
  VALUE(backward) /* source and the gradient of out to the gradient of the source */
enum class InteractionPass : std::uint8_t { QUERN_INTERACTION_PASSES(QUERN_CHOICE_VALUE) };

// Pointers to device memory; see Operand in family.h for ownership. Outputs must not overlap each other or an input.
struct InteractionArgs {
  In source = {};            // [batch, features, dim], samples source_stride elements apart
  Out out = {};              // forward: [batch, columns], rows out_stride elements apart
  In gradient = {};          // backward: as out
  Out source_gradient = {};  // backward: as source
  std::int64_t batch = kOpen;
};

// `columns` is dense + features * (features - 1) / 2, with diagonal=1 dense + features * (features + 1) / 2, of outer
// n^2 for n = features * dim, and of upper n * (n - 1) / 2, with diagonal=1 n * (n + 1) / 2. Products and sums are in
// fp32, added in a fixed order, and rounded once. COST: one launch. forward: each element of source is read once where
// a sample has at most 32 vectors.
struct Interaction {
  using Args = InteractionArgs;

  InteractionForm form = InteractionForm::lower;
  std::int64_t batch = kOpen;      // samples
  std::int64_t features = 27;      // vectors of a sample; lower: at most 128
  std::int64_t dim = 128;          // numbers of a vector; outer, upper: features * dim is at most 4096
  DType dtype = DType::bf16;       // f32, bf16 or f16, of all operands
  std::int64_t source_stride = 0;  // elements between samples of source; 0: features * dim
  std::int64_t out_stride = 0;     // elements between rows of out; 0: columns
  std::int64_t diagonal = 0;       // lower, upper: 1: the pairs with i = j too
  std::int64_t dense = 0;          // lower: as many numbers of each sample come first in its row of out
  InteractionPass pass = InteractionPass::forward;

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_INTERACTION_H_
