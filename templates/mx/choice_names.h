// The values of fields that families share, as text.
#ifndef QUERN_MX_CHOICE_NAMES_H_
#define QUERN_MX_CHOICE_NAMES_H_

#include "mx/mx_choices.h"
#include "quern/choice.h"

namespace quern::mx {

inline constexpr const char* kDirections[] = {QUERN_MX_DIRECTIONS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kScalings[] = {QUERN_MX_SCALINGS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kBlocks[] = {QUERN_MX_BLOCKS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kOrders[] = {QUERN_MX_ORDERS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kScaleLayouts[] = {QUERN_MX_SCALE_LAYOUTS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kPaddedScaleLayouts[] = {QUERN_MX_PADDED_SCALE_LAYOUTS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kTails[] = {QUERN_MX_TAILS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kNoops[] = {QUERN_MX_NOOPS(QUERN_CHOICE_NAME) nullptr};

}  // namespace quern::mx

#endif  // QUERN_MX_CHOICE_NAMES_H_
