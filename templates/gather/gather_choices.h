// The values of gather's fields. Read by applications, by the host and by the kernel.
#ifndef QUERN_GATHER_CHOICES_H_
#define QUERN_GATHER_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// The meaning of an index outside of `source`. All but the first two need `rows`.
#define QUERN_GATHER_MODES(VALUE)                                                                          \
  VALUE(assume_valid)      /* every index is in [0, rows); anything else is undefined */                   \
  VALUE(minus_one_is_zero) /* -1 gives a zero row, the others are in range */                              \
  VALUE(zero)              /* outside [0, rows): a zero row */                                             \
  VALUE(clamp)             /* outside: the nearest row */                                                  \
  VALUE(wrap_negative)     /* [-rows, 0) counts from the end, as in Python; the others are in range */     \
  VALUE(trap)              /* outside: the kernel asserts; the context is then lost (CUDA_ERROR_ASSERT) */ \
  VALUE(report)            /* outside: a zero row, and *report becomes the lowest such position */
enum class GatherMode : unsigned char { QUERN_GATHER_MODES(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_GATHER_CHOICES_H_
