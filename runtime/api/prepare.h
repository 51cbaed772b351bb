// Makes a plan for a problem on the current context's device: all of Runtime::prepare except the look-up.
#ifndef QUERN_API_PREPARE_H_
#define QUERN_API_PREPARE_H_

#include <memory>
#include <string_view>

#include "api/runtime_state.h"
#include "driver/device.h"
#include "plan/plan_state.h"

namespace quern {

// `from`: the origin of options.config, for `why`, if it is not the caller's own. Throws Error.
std::shared_ptr<const PlanState> make_plan(RuntimeState& state, const Family& family, const void* problem,
                                           const Context& context, const PrepareOptions& options,
                                           std::string_view from = {});

}  // namespace quern

#endif  // QUERN_API_PREPARE_H_
