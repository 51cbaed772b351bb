// The way into every entry point: counting, faults, what must hold before the call, and exceptions into codes.
#ifndef QUERN_HOSTDRIVER_API_GUARDED_H_
#define QUERN_HOSTDRIVER_API_GUARDED_H_

#include <type_traits>

#include "hostdriver/api/driver_state.h"
#include "hostdriver/exec/report.h"

#define QUERN_HOST_ENTRY extern "C" __attribute__((visibility("default")))

namespace quern::host {

enum class Needs {
  nothing,  // not even cuInit
  init,
  context,  // a living current context
  healthy,  // one without a sticky error
  release,  // cuInit; a sticky error of the current context is returned, but the thing is released nevertheless
};

// What an entry point's body is given. The lock is held; waiting gives it up.
struct Call {
  DriverState& state;
  Lock lock;
  std::shared_ptr<Context> context;  // the current one; null unless needed or there

  // Until `holds`, which is asked under the lock.
  template <class Predicate>
  void wait(Predicate&& holds) {
    state.changed.wait(lock, [&] { return state.ending || holds(); });
  }
  Device& device() const { return *state.devices[static_cast<std::size_t>(context->device)]; }
};

// What a handle stands for; refuses one that is not, or no longer, known. `what`: "event, or it was destroyed".
template <class T, class Handle>
std::shared_ptr<T> known(const Handles<T, Handle>& handles, Handle handle, const char* what) {
  std::shared_ptr<T> object = handles.find(handle);
  if (object == nullptr) refuse(CUDA_ERROR_INVALID_HANDLE, std::string("there is no such ") + what);
  return object;
}
// The same, and the handle is known no longer.
template <class T, class Handle>
std::shared_ptr<T> taken(Handles<T, Handle>& handles, Handle handle, const char* what) {
  std::shared_ptr<T> object = known(handles, handle, what);
  handles.remove(handle);
  return object;
}
inline constexpr const char* kStream = "stream, or it was destroyed";
inline constexpr const char* kFunction = "function (cuKernelGetFunction gives one), or its library was unloaded";

// Counts the call and lets faults strike. Success: go on.
CUresult meet_faults(const char* name);
// Takes the lock and checks what `needs` says; throws Refusal.
Call begin_call(Needs needs);
// The sticky error that the call ends with where its body found nothing wrong.
CUresult end_call(const Call& call, Needs needs);
// Inside a catch block: the code of what was thrown, which is reported.
CUresult code_of_exception(const char* name);

// `body(Call&)` returns nothing, or a code.
template <class Body>
CUresult guarded(const char* name, Needs needs, Body&& body) {
  if (const CUresult code = meet_faults(name); code != CUDA_SUCCESS) return code;
  try {
    Call call = begin_call(needs);
    CUresult result = CUDA_SUCCESS;
    if constexpr (std::is_void_v<std::invoke_result_t<Body, Call&>>)
      body(call);
    else
      result = body(call);
    return result == CUDA_SUCCESS ? end_call(call, needs) : result;
  } catch (...) {
    return code_of_exception(name);
  }
}

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_GUARDED_H_
