// Each thread's stack of current contexts, and the creation and destruction of contexts.
#ifndef QUERN_HOSTDRIVER_API_CURRENT_H_
#define QUERN_HOSTDRIVER_API_CURRENT_H_

#include "hostdriver/api/guarded.h"

namespace quern::host {

// Of the calling thread. A context that was destroyed while it was current is returned with `destroyed` set.
std::shared_ptr<Context> current_context(DriverState& state);
CUcontext current_handle();
void push_current(CUcontext context);
CUcontext pop_current();              // null if the stack is empty
void set_current(CUcontext context);  // null: pops

std::shared_ptr<Context> make_context(DriverState& state, int device, CUcontext handle, bool primary);
// Waits for the context's work, then destroys everything that belongs to it.
void end_context(Call& call, const std::shared_ptr<Context>& context);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_CURRENT_H_
