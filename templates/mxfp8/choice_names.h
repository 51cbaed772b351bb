// The values of mxfp8's fields as text.
#ifndef QUERN_MXFP8_CHOICE_NAMES_H_
#define QUERN_MXFP8_CHOICE_NAMES_H_

#include "mx/choice_names.h"
#include "mxfp8/mxfp8.h"

namespace quern::mxfp8 {

using mx::kBlocks;
using mx::kNoops;
using mx::kOrders;
using mx::kPaddedScaleLayouts;
using mx::kScalings;
using mx::kTails;
inline constexpr const char* kDirections[] = {QUERN_MXFP8_DIRECTIONS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kModes[] = {QUERN_SCALE_MODES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kPolicies[] = {QUERN_SCALE_POLICIES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kPrologues[] = {QUERN_MXFP8_PROLOGUES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kVaryings[] = {QUERN_MXFP8_VARYINGS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kBiasGradients[] = {QUERN_MXFP8_BIAS_GRADIENTS(QUERN_CHOICE_NAME) nullptr};

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_CHOICE_NAMES_H_
