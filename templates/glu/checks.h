// The rules between the fields of a problem, and how far a result may be off.
#ifndef QUERN_GLU_CHECKS_H_
#define QUERN_GLU_CHECKS_H_

#include <string>

#include "glu/glu.h"

namespace quern::glu {

// The operands, in the order of the family's table.
enum OperandNumber {
  kX,
  kGate,
  kBias,
  kScale,
  kCounts,
  kGradient,
  kOut,
  kXGradient,
  kGateGradient,
  kBiasGradient,
  kScaleGradient,
  kWorkspace,
  kGivenScale,
  kScales,
  kOutCol,
  kXGradientCol,
  kScalesCol
};

inline constexpr std::int64_t kMaxWidth = std::int64_t{1} << 29;  // a row of x has a number for each of 30 bits

std::string check(const Glu& p);
std::string check_extents(const Glu& p);

// Whether results are products alone, the same on every device.
bool is_exact(const Glu& p);
Tolerance tolerance(const Glu& p, int operand);

}  // namespace quern::glu

#endif  // QUERN_GLU_CHECKS_H_
