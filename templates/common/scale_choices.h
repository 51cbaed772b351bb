// How scales are computed from largest magnitudes. Read by applications, by the host and by kernels.
#ifndef QUERN_COMMON_SCALE_CHOICES_H_
#define QUERN_COMMON_SCALE_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// How a scale is rounded to a power of two. `amax` is the largest magnitude of a block, `max` that of the element type
// (448 of e4m3, 57344 of e5m2), whose exponent is P (8, 15).
#define QUERN_SCALE_MODES(VALUE)                                                                              \
  VALUE(floor) /* 2^(exponent of amax - P), as in OCP Microscaling 1.0: an amax above 1.75 * 2^n saturates */ \
  VALUE(rceil) /* amax / max rounded up to a power of two: nothing saturates */                               \
  VALUE(ceil)  /* as floor, of amax rounded up to a power of two */                                           \
  VALUE(even)  /* as floor, of amax rounded to the element's mantissa */                                      \
  VALUE(exact) /* amax / max, not rounded to a power of two: fp32 scales only */
enum class ScaleMode : unsigned char { QUERN_SCALE_MODES(QUERN_VALUE) };

// The result for a block with a NaN or an infinity.
#define QUERN_SCALE_POLICIES(VALUE)                                       \
  VALUE(ao) /* torchao: its scale is 255, and all its elements are NaN */ \
  VALUE(te) /* TransformerEngine: NaNs do not count, an infinity gives scale 254; rceil only */
enum class ScalePolicy : unsigned char { QUERN_SCALE_POLICIES(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_COMMON_SCALE_CHOICES_H_
