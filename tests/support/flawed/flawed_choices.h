// The values of the parameter `flaw`. Read by tests and by the kernel.
#ifndef QUERN_TESTS_SUPPORT_FLAWED_CHOICES_H_
#define QUERN_TESTS_SUPPORT_FLAWED_CHOICES_H_

namespace quern::test {

#define QUERN_VALUE(name) name,

#define QUERN_FLAWS(VALUE)                                          \
  VALUE(none)                                                       \
  VALUE(last_tile)     /* wrong in the last tile only */            \
  VALUE(past_the_end)  /* writes one element behind out */          \
  VALUE(uninitialized) /* its result depends on what was in out */  \
  VALUE(accumulates)   /* adds to out in place of assigning */      \
  VALUE(unstable)      /* its result depends on the time */         \
  VALUE(endless)       /* does not end */                           \
  VALUE(address)       /* writes to an address that nobody has */   \
  VALUE(local_memory)  /* 100 KB of local memory a thread */        \
  VALUE(compile_time)  /* the compiler does not come to an end */   \
  VALUE(compile_error) /* the compiler refuses it */                \
  VALUE(launch)        /* more threads in a block than there are */ \
  VALUE(nan)           /* NaN in place of a number */               \
  VALUE(input)         /* changes x */                              \
  VALUE(gap)           /* writes between the rows of out */         \
  VALUE(slow)          /* right, and twice the work */              \
  VALUE(odd_rows)      /* wrong where the rows are odd in number */ \
  VALUE(finite)        /* right for finite numbers only */
enum class Flaw : int { QUERN_FLAWS(QUERN_VALUE) count };

#undef QUERN_VALUE

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_FLAWED_CHOICES_H_
