// Runs work on a larger stack than the calling thread may have.
#ifndef QUERN_BASE_LARGE_STACK_H_
#define QUERN_BASE_LARGE_STACK_H_

#include <functional>

namespace quern {

// Runs `work` in a thread with a stack of 16 MiB and waits for it; rethrows its exceptions. If no thread can be
// started, `work` runs on the caller's stack. COST: some 30 us.
void run_on_large_stack(const std::function<void()>& work);

}  // namespace quern

#endif  // QUERN_BASE_LARGE_STACK_H_
