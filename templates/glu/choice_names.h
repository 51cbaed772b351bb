// The values of fields of scales, as text.
#ifndef QUERN_GLU_CHOICE_NAMES_H_
#define QUERN_GLU_CHOICE_NAMES_H_

#include "common/scale_choices.h"
#include "mx/choice_names.h"
#include "quern/choice.h"

namespace quern::glu {

inline constexpr const char* kModes[] = {QUERN_SCALE_MODES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kPolicies[] = {QUERN_SCALE_POLICIES(QUERN_CHOICE_NAME) nullptr};

}  // namespace quern::glu

#endif  // QUERN_GLU_CHOICE_NAMES_H_
