// Values that are no finite number.
#ifndef QUERN_TESTS_UNIT_COMMON_SUPPORT_H_
#define QUERN_TESTS_UNIT_COMMON_SUPPORT_H_

#include <limits>

namespace quern::common {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

}  // namespace quern::common

#endif  // QUERN_TESTS_UNIT_COMMON_SUPPORT_H_
