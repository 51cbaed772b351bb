// The contexts that a Runtime has plans in, and which of them are gone.
#ifndef QUERN_API_KNOWN_CONTEXTS_H_
#define QUERN_API_KNOWN_CONTEXTS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "base/fork_barrier.h"
#include "driver/device.h"

namespace quern {

// Thread-safe. A destroyed context has no way to tell us, so the others are asked for when a new one is met: the driver
// answers CUDA_ERROR_CONTEXT_IS_DESTROYED for the handle of one that is gone, and another id for one that was made in
// its place (seen for 40 of 40 on an H200, and for a primary context that was reset).
class KnownContexts {
 public:
  // Notes `context`; returns the ids of those that are gone, if it is new. They are not known any more.
  std::vector<std::uint64_t> note(const Driver& driver, const Context& context);
  // The same of all, at any time.
  std::vector<std::uint64_t> take_gone(const Driver& driver);

 private:
  std::vector<std::uint64_t> take_gone_locked(const Driver& driver);

  ForkSafeMutex mutex_;
  std::map<std::uint64_t, CUcontext> contexts_;  // by id
};

}  // namespace quern

#endif  // QUERN_API_KNOWN_CONTEXTS_H_
