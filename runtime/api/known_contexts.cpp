#include "api/known_contexts.h"

#include <mutex>

namespace quern {
namespace {

// A driver call that fails for another reason, such as lack of memory, does not mean that the context was destroyed.
bool is_gone(const Driver& driver, std::uint64_t id, CUcontext handle) {
  unsigned long long now = 0;
  const CUresult result = driver->CtxGetId(handle, &now);
  if (result == CUDA_SUCCESS) return now != id;
  return result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

std::vector<std::uint64_t> KnownContexts::note(const Driver& driver, const Context& context) {
  const std::lock_guard lock(mutex_);
  if (!contexts_.emplace(context.id, context.handle).second) return {};
  return take_gone_locked(driver);
}

std::vector<std::uint64_t> KnownContexts::take_gone(const Driver& driver) {
  const std::lock_guard lock(mutex_);
  return take_gone_locked(driver);
}

std::vector<std::uint64_t> KnownContexts::take_gone_locked(const Driver& driver) {
  std::vector<std::uint64_t> gone;
  for (auto known = contexts_.begin(); known != contexts_.end();) {
    if (!is_gone(driver, known->first, known->second)) {
      ++known;
      continue;
    }
    gone.push_back(known->first);
    known = contexts_.erase(known);
  }
  return gone;
}

}  // namespace quern
