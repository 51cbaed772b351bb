// The values of fields that the families of mixtures of experts share.
#ifndef QUERN_MOE_CHOICES_H_
#define QUERN_MOE_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// The form of a routing. A route is a pair of a token and an expert; a token's routes are in this order.
#define QUERN_MOE_MAPS(VALUE)                                                                                         \
  VALUE(ids)    /* [tokens, topk] of expert ids, in their order; invalid ids (negative or too large) are ignored */   \
  VALUE(mask)   /* [tokens, experts], nonzero where the token is routed to the expert; from the last expert down */   \
  VALUE(bits)   /* [tokens, ceil(experts / 8)], the same mask in bits: expert e is bit e % 8 of byte e / 8 */         \
  VALUE(counts) /* [ranks, experts]: how many tokens each expert has on each rank; tokens are sorted by rank, then by \
                   expert, and have one route */
enum class MoeMapKind : unsigned char { QUERN_MOE_MAPS(QUERN_VALUE) };

// The rows of an expert without routes.
#define QUERN_MOE_EMPTY(VALUE) \
  VALUE(none)                  \
  VALUE(fill) /* `align` padding rows, for grouped GEMMs that refuse empty groups */
enum class MoeEmpty : unsigned char { QUERN_MOE_EMPTY(QUERN_VALUE) };

// Unused rows: those between the last expert's and the capacity.
#define QUERN_MOE_TAILS(VALUE)     \
  VALUE(leave) /* not in `pads` */ \
  VALUE(list)  /* in `pads`, so that they are zeroed like padding rows */
enum class MoeTail : unsigned char { QUERN_MOE_TAILS(QUERN_VALUE) };

// The rows that move, or their gradients.
#define QUERN_MOE_PASSES(VALUE) \
  VALUE(forward)                \
  VALUE(backward)
enum class MoePass : unsigned char { QUERN_MOE_PASSES(QUERN_VALUE) };

// The scales that move with quantized rows.
#define QUERN_MOE_SCALINGS(VALUE)                         \
  VALUE(none)     /* also for one scale of everything */  \
  VALUE(row)      /* an fp32 for each row */              \
  VALUE(block128) /* an fp32 for 128 elements of a row */ \
  VALUE(mx)       /* an E8M0 byte for 32 elements */
enum class MoeScaling : unsigned char { QUERN_MOE_SCALINGS(QUERN_VALUE) };

// The probabilities of a token, and their gradients.
#define QUERN_MOE_PROB_LAYOUTS(VALUE)     \
  VALUE(routes)  /* one for each route */ \
  VALUE(experts) /* one for each expert; without a route it is not read, and its gradient is 0 */
enum class MoeProbLayout : unsigned char { QUERN_MOE_PROB_LAYOUTS(QUERN_VALUE) };

// The factors of rows that move to experts.
#define QUERN_MOE_SCALES_OF(VALUE) \
  VALUE(tokens) /* one for each */ \
  VALUE(routes) /* one for each route of a token */
enum class MoeScaleOf : unsigned char { QUERN_MOE_SCALES_OF(QUERN_VALUE) };

// What the sum of a token's rows is added to.
#define QUERN_MOE_RESIDUALS(VALUE) \
  VALUE(none)                      \
  VALUE(add) /* a row for each token */
enum class MoeResidual : unsigned char { QUERN_MOE_RESIDUALS(QUERN_VALUE) };

// Whether TransformerEngine's row_id_map is written too.
#define QUERN_MOE_ROW_ID_MAPS(VALUE) \
  VALUE(none)                        \
  VALUE(write)
enum class MoeRowIdMap : unsigned char { QUERN_MOE_ROW_ID_MAPS(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_MOE_CHOICES_H_
