// From a problem to a plan on the current context's device: everything behind Runtime::prepare but the look-up.
#ifndef QUERN_API_PREPARE_H_
#define QUERN_API_PREPARE_H_

#include <memory>

#include "api/runtime_state.h"
#include "driver/device.h"
#include "plan/plan_state.h"

namespace quern {

// Throws Error.
std::shared_ptr<const PlanState> make_plan(RuntimeState& state, const Family& family, const void* problem,
                                           const Context& context, const PrepareOptions& options);

}  // namespace quern

#endif  // QUERN_API_PREPARE_H_
