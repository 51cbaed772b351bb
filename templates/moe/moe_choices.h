// The values of fields that the families of mixtures of experts share.
#ifndef QUERN_MOE_CHOICES_H_
#define QUERN_MOE_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// How a routing of tokens to experts is given, and in which order a token's routes are.
#define QUERN_MOE_MAPS(VALUE)                                                                                  \
  VALUE(ids)  /* [tokens, topk]: a token's experts, in its order; a number of no expert, as -1, is no route */ \
  VALUE(mask) /* [tokens, experts]: not 0 where a token has the expert; its last expert comes first */         \
  VALUE(bits) /* [tokens, experts / 8, rounded up]: the same in bit `expert mod 8` */
enum class MoeMapKind : unsigned char { QUERN_MOE_MAPS(QUERN_VALUE) };

// The rows of an expert without routes.
#define QUERN_MOE_EMPTY(VALUE) \
  VALUE(none)                  \
  VALUE(fill) /* `align`, as grouped products that refuse empty groups need */
enum class MoeEmpty : unsigned char { QUERN_MOE_EMPTY(QUERN_VALUE) };

// The rows behind the last expert's, up to the capacity.
#define QUERN_MOE_TAILS(VALUE)       \
  VALUE(leave) /* are not touched */ \
  VALUE(list)  /* are listed in `pads`, and so cleared */
enum class MoeTail : unsigned char { QUERN_MOE_TAILS(QUERN_VALUE) };

// Whether TransformerEngine's map is written too.
#define QUERN_MOE_ROW_ID_MAPS(VALUE) \
  VALUE(none)                        \
  VALUE(write)
enum class MoeRowIdMap : unsigned char { QUERN_MOE_ROW_ID_MAPS(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_MOE_CHOICES_H_
