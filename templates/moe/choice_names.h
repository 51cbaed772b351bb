// The names of choices in the field tables of the families of mixtures of experts.
#ifndef QUERN_MOE_CHOICE_NAMES_H_
#define QUERN_MOE_CHOICE_NAMES_H_

#include "common/scale_choices.h"
#include "moe/moe_choices.h"
#include "quern/choice.h"

namespace quern::moe {

inline constexpr const char* kMaps[] = {QUERN_MOE_MAPS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kEmpty[] = {QUERN_MOE_EMPTY(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kTails[] = {QUERN_MOE_TAILS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kResiduals[] = {QUERN_MOE_RESIDUALS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kScalings[] = {QUERN_MOE_SCALINGS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kPasses[] = {QUERN_MOE_PASSES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kScaleModes[] = {QUERN_SCALE_MODES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kScalePolicies[] = {QUERN_SCALE_POLICIES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kProbLayouts[] = {QUERN_MOE_PROB_LAYOUTS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kScalesOf[] = {QUERN_MOE_SCALES_OF(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kRowIdMaps[] = {QUERN_MOE_ROW_ID_MAPS(QUERN_CHOICE_NAME) nullptr};

}  // namespace quern::moe

#endif  // QUERN_MOE_CHOICE_NAMES_H_
