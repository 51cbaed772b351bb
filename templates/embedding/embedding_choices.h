// The values of embedding's fields. Read by applications, by the host and by the kernel.
#ifndef QUERN_EMBEDDING_CHOICES_H_
#define QUERN_EMBEDDING_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// Where the tables are.
#define QUERN_EMBEDDING_LAYOUTS(VALUE)          \
  VALUE(list)   /* each in memory of its own */ \
  VALUE(packed) /* all in one operand; where each begins, and its rows, are on the device */
enum class EmbeddingLayout : unsigned char { QUERN_EMBEDDING_LAYOUTS(QUERN_VALUE) };

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

// How the ids of bags are divided.
#define QUERN_EMBEDDING_BAGS(VALUE)                       \
  VALUE(offsets) /* by the place where each bag begins */ \
  VALUE(lengths) /* by the number of ids that each bag has */
enum class EmbeddingBags : unsigned char { QUERN_EMBEDDING_BAGS(QUERN_VALUE) };

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

#define QUERN_EMBEDDING_PASSES(VALUE)       \
  VALUE(forward)  /* out from the tables */ \
  VALUE(backward) /* the gradient of out back to the rows that were read */
enum class EmbeddingPass : unsigned char { QUERN_EMBEDDING_PASSES(QUERN_VALUE) };

// What becomes of the sum g of the gradients of a row w, with the learning rate r. Nothing is done to rows without one.
#define QUERN_EMBEDDING_OPTIMIZERS(VALUE)                                                                       \
  VALUE(none)        /* it is stored in weights_gradient */                                                     \
  VALUE(sgd)         /* w -= r g */                                                                             \
  VALUE(row_adagrad) /* m += mean(g^2) of the row; w -= r / (sqrt(m) + epsilon) g */                            \
  VALUE(adam)        /* m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= r m' / (sqrt(v') + epsilon), where \
                        m' = m / (1 - b1^step) and v' = v / (1 - b2^step) */
enum class EmbeddingOptimizer : unsigned char { QUERN_EMBEDDING_OPTIMIZERS(QUERN_VALUE) };

// How an updated number is rounded to the type of a 16-bit table.
#define QUERN_EMBEDDING_ROUNDINGS(VALUE)  \
  VALUE(nearest)    /* to nearest even */ \
  VALUE(stochastic) /* to one of the two next ones, by chance and in proportion to how near they are */
enum class EmbeddingRounding : unsigned char { QUERN_EMBEDDING_ROUNDINGS(QUERN_VALUE) };

// Whether out is stored in 8 bits, and which numbers of a row of it share a scale.
#define QUERN_EMBEDDING_SCALINGS(VALUE)                                  \
  VALUE(none)     /* it has dtype */                                     \
  VALUE(mx)       /* 32 numbers, an E8M0 byte; 255 is NaN */             \
  VALUE(tensor)   /* everything: `given_scale`, a float on the device */ \
  VALUE(row)      /* a row: an fp32, made of its largest magnitude */    \
  VALUE(block128) /* 128 numbers: an fp32 */
enum class EmbeddingScaling : unsigned char { QUERN_EMBEDDING_SCALINGS(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_EMBEDDING_CHOICES_H_
