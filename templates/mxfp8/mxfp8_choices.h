// The values of mxfp8's fields. Read by applications, by the host and by kernels.
#ifndef QUERN_MXFP8_CHOICES_H_
#define QUERN_MXFP8_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// The function applied to source before quantization, in fp32 and rounded to dtype; act is the activation. In dgated
// source is [experts, rows, cols / 2], the gradient of act(a) * g, and a and g are the halves of input.
#define QUERN_MXFP8_PROLOGUES(VALUE)                                                                       \
  VALUE(none)                                                                                              \
  VALUE(act)    /* act(source) */                                                                          \
  VALUE(gated)  /* act(a) * g, source being [experts, rows, 2 * cols], a and g its halves */               \
  VALUE(dact)   /* source * act'(input): the gradient of act's argument, source being that of its value */ \
  VALUE(dgated) /* the gradients of a and g, as [experts, rows, cols]: source * act'(a) * g and source * act(a) */
enum class Mxfp8Prologue : unsigned char { QUERN_MXFP8_PROLOGUES(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_MXFP8_CHOICES_H_
