// The values of mxfp8's fields as text.
#ifndef QUERN_MXFP8_CHOICES_H_
#define QUERN_MXFP8_CHOICES_H_

namespace quern::mxfp8 {

// In the order of their enums.
inline constexpr const char* kDirections[] = {"row", "col", "both", nullptr};
inline constexpr const char* kModes[] = {"floor", "rceil", "ceil", "even", "exact", nullptr};
inline constexpr const char* kScalings[] = {"mx", "tensor", "row", "block128", nullptr};
inline constexpr const char* kPolicies[] = {"ao", "te", nullptr};
inline constexpr const char* kBlocks[] = {"line", "square", "square_spread", nullptr};
inline constexpr const char* kOrders[] = {"cols", "rows", nullptr};
inline constexpr const char* kScaleLayouts[] = {"plain", "blocked", nullptr};
inline constexpr const char* kNoops[] = {"never", "flag", nullptr};
inline constexpr const char* kPrologues[] = {"none", "act", "gated", "dact", "dgated", nullptr};
inline constexpr const char* kBiasGradients[] = {"none", "sums", nullptr};
inline constexpr const char* kTails[] = {"refuse", "pad", nullptr};

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_CHOICES_H_
