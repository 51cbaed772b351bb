// The contexts that a Runtime has plans in, and which of them were destroyed.
#ifndef QUERN_API_KNOWN_CONTEXTS_H_
#define QUERN_API_KNOWN_CONTEXTS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "base/fork_barrier.h"
#include "driver/device.h"

namespace quern {

// Thread-safe. There is no notification that a context was destroyed, so the known ones are checked whenever a new one
// appears: for the handle of a destroyed context the driver returns CUDA_ERROR_CONTEXT_IS_DESTROYED, or another id if a
// new context got the same handle (seen for 40 of 40 on an H200, and for a primary context that was reset).
class KnownContexts {
 public:
  // Registers `context`. If it is new, removes the destroyed contexts and returns their ids.
  std::vector<std::uint64_t> note(const Driver& driver, const Context& context);
  // Removes all destroyed contexts and returns their ids; may be called at any time.
  std::vector<std::uint64_t> take_gone(const Driver& driver);

 private:
  std::vector<std::uint64_t> take_gone_locked(const Driver& driver);

  ForkSafeMutex mutex_;
  std::map<std::uint64_t, CUcontext> contexts_;  // by id
};

}  // namespace quern

#endif  // QUERN_API_KNOWN_CONTEXTS_H_
