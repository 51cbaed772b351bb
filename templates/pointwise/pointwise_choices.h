// The values of pointwise's fields. Read by applications, by the host and by the kernel.
#ifndef QUERN_POINTWISE_CHOICES_H_
#define QUERN_POINTWISE_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// How an operand is broadcast over [rows, width].
#define QUERN_OPERAND_SPREADS(VALUE)                             \
  VALUE(full)   /* [rows, width] */                              \
  VALUE(row)    /* [width]: the same for each row */             \
  VALUE(column) /* [rows]: the same for each element of a row */ \
  VALUE(scalar) /* [1] */
#define QUERN_SPREADS(VALUE)   \
  QUERN_OPERAND_SPREADS(VALUE) \
  VALUE(none) /* absent (bias only) */
enum class Spread : unsigned char { QUERN_SPREADS(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_POINTWISE_CHOICES_H_
