#include "hostdriver/api/guarded.h"

#include <new>
#include <system_error>
#include <thread>

#include "base/text.h"
#include "hostdriver/api/current.h"
#include "hostdriver/api/faults.h"

namespace quern::host {
namespace {

// A sticky error: its message was reported when it happened, and is kept.
struct Sticky {
  CUresult code;
};

void check_context(const Context* context) {
  if (context == nullptr) refuse(CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
  if (context->destroyed) refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context was destroyed");
}

}  // namespace

CUresult meet_faults(const char* name) {
  if (in_forked_child()) return CUDA_ERROR_NOT_INITIALIZED;
  const Faults::WarpCollective collective = faults().enter(name);
  if (collective.delay.count() > 0) std::this_thread::sleep_for(collective.delay);
  if (collective.code != CUDA_SUCCESS) report(cat(name, ": an injected fault, ", error_name(collective.code)));
  return collective.code;
}

Call begin_call(Needs needs) {
  DriverState& all = state();
  Call call{all, Lock(all.mutex), nullptr};
  if (all.ending) refuse(CUDA_ERROR_DEINITIALIZED, "the process is exiting");
  if (needs == Needs::nothing) return call;
  if (!all.initialized) refuse(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called");
  call.context = current_context(all);
  if (needs != Needs::context && needs != Needs::healthy) return call;
  check_context(call.context.get());
  if (needs == Needs::healthy && call.context->error != CUDA_SUCCESS) throw Sticky{call.context->error};
  return call;
}

CUresult end_call(const Call& call, Needs needs) {
  if (call.state.ending) return CUDA_ERROR_DEINITIALIZED;
  const bool asks = needs == Needs::healthy || needs == Needs::release;
  return asks && call.context != nullptr ? call.context->error : CUDA_SUCCESS;
}

CUresult code_of_exception(const char* name) {
  try {
    throw;
  } catch (const Sticky& sticky) {
    return sticky.code;
  } catch (const Refusal& refusal) {
    report(cat(name, ": ", refusal.words, " (", error_name(refusal.code), ")"));
    return refusal.code;
  } catch (const std::bad_alloc&) {
    report(cat(name, ": out of host memory"));
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::system_error& error) {
    report(cat(name, ": ", error.what()));
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
}

}  // namespace quern::host
