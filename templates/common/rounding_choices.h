// Where results are rounded. Read by applications and by the host.
#ifndef QUERN_COMMON_ROUNDING_CHOICES_H_
#define QUERN_COMMON_ROUNDING_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// single: fp32 throughout, one rounding at the store. torch: as in PyTorch's eager operators, the result of every
// product, sum and activation is rounded to their operands' common type.
#define QUERN_ROUNDINGS(VALUE) \
  VALUE(single)                \
  VALUE(torch)
enum class Rounding : unsigned char { QUERN_ROUNDINGS(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_COMMON_ROUNDING_CHOICES_H_
