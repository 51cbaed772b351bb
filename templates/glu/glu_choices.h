// The values of glu's fields that its kernel knows. Read by applications, by the host and by the kernel.
#ifndef QUERN_GLU_CHOICES_H_
#define QUERN_GLU_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// Where the two numbers of an element lie: the activation's argument a, and the gate g.
#define QUERN_GLU_LAYOUTS(VALUE)                                   \
  VALUE(halves)      /* a row of x is all a, then all g */         \
  VALUE(swapped)     /* all g, then all a */                       \
  VALUE(interleaved) /* a, g, a, g, ... */                         \
  VALUE(blocks)      /* `block` numbers a, as many g, and so on */ \
  VALUE(split)       /* x has a, and another operand of its shape, gate, g */
enum class GluLayout : unsigned char { QUERN_GLU_LAYOUTS(QUERN_VALUE) };

// What becomes of a and g before they are multiplied.
#define QUERN_GLU_GATINGS(VALUE)                                                                        \
  VALUE(product) /* act(a) g */                                                                         \
  VALUE(clamped) /* act(min(a, limit)) (clamp(g, -limit, limit) + offset), as in gpt-oss: with qgelu */ \
  VALUE(tanh)    /* act(a) beta tanh(g / beta), as in SiTU: with situ */
enum class GluGating : unsigned char { QUERN_GLU_GATINGS(QUERN_VALUE) };

// Whether what a pass makes is stored in 8 bits, and which numbers of a row share a scale.
#define QUERN_GLU_SCALINGS(VALUE)                                        \
  VALUE(none)     /* it has the type of x */                             \
  VALUE(mx)       /* 32 numbers, an E8M0 byte; 255 is NaN */             \
  VALUE(tensor)   /* everything: `given_scale`, a float on the device */ \
  VALUE(row)      /* a row: an fp32, made of its largest magnitude */    \
  VALUE(block128) /* 128 numbers: an fp32 */
enum class GluScaling : unsigned char { QUERN_GLU_SCALINGS(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_GLU_CHOICES_H_
