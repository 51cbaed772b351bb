// The form that makes the scales of quantized outputs. Host code.
#ifndef QUERN_ROPE_SCALED_H_
#define QUERN_ROPE_SCALED_H_

#include "quern/choice.h"
#include "rope/params.h"
#include "rope/step.h"

namespace quern::rope {

// The values of the fields `mode` and `policy`.
inline constexpr const char* kScaleModes[] = {QUERN_SCALE_MODES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kScalePolicies[] = {QUERN_SCALE_POLICIES(QUERN_CHOICE_NAME) nullptr};

// Fits a config to the form: a thread has its heads once, and a thread block has whole heads.
Config scaled_config(const Rope& p, Config c);

// Constraint.
bool block_has_whole_heads(const Rope& p, const Target&, const Config& c);

void specialize_scaled(const Rope& p, Spec& spec);
// `params.all` is set.
template <int kBits>
void launch_scaled(const Rope& p, const RopeArgs& a, const DeviceModel& model, const Config& c,
                   ScaledParamsOf<kBits>& params, Launch& launch);

}  // namespace quern::rope

#endif  // QUERN_ROPE_SCALED_H_
