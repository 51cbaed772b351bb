// The values of embedding's fields. Read by applications, by the host and by the kernel.
#ifndef QUERN_EMBEDDING_CHOICES_H_
#define QUERN_EMBEDDING_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// How an id becomes the number of a row.
#define QUERN_EMBEDDING_HASHES(VALUE)                                                                              \
  VALUE(none)    /* it is that number */                                                                           \
  VALUE(index)   /* its position in the table's vocabulary, of equal ones the first; 0 where it is not in there */ \
  VALUE(modulus) /* (id + 1) modulo the table's rows, never negative; the sum wraps around in the ids' type */
enum class EmbeddingHash : unsigned char { QUERN_EMBEDDING_HASHES(QUERN_VALUE) };

// What a table's part of a row of out is made of.
#define QUERN_EMBEDDING_POOLINGS(VALUE)               \
  VALUE(none) /* one row */                           \
  VALUE(sum)  /* the rows of a bag, added up */       \
  VALUE(mean) /* their sum divided by their number */ \
  VALUE(max)  /* the largest of them, column by column; a NaN wins */
enum class EmbeddingPooling : unsigned char { QUERN_EMBEDDING_POOLINGS(QUERN_VALUE) };

// The meaning of an id that names no row of its table. The first seven are gather's.
#define QUERN_EMBEDDING_MODES(VALUE)                                                                       \
  VALUE(assume_valid)      /* every id is in [0, rows); anything else is undefined */                      \
  VALUE(minus_one_is_zero) /* -1 gives a zero row, the others are in range */                              \
  VALUE(zero)              /* outside [0, rows): a zero row */                                             \
  VALUE(clamp)             /* outside: the nearest row */                                                  \
  VALUE(wrap_negative)     /* [-rows, 0) counts from the end, as in Python; the others are in range */     \
  VALUE(trap)              /* outside: the kernel asserts; the context is then lost (CUDA_ERROR_ASSERT) */ \
  VALUE(report)            /* outside: a zero row, and *report becomes the lowest such position */         \
  VALUE(first)             /* outside: row 0 */                                                            \
  VALUE(report_first)      /* outside: row 0, and *report becomes the lowest such position */
enum class EmbeddingMode : unsigned char { QUERN_EMBEDDING_MODES(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_EMBEDDING_CHOICES_H_
