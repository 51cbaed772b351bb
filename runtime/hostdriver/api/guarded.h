// The wrapper of every entry point: counts calls, injects faults, checks preconditions, and converts exceptions to
// codes.
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
  context,  // a live current context
  healthy,  // a live current context without a sticky error
  release,  // cuInit; the object is released even if the current context has a sticky error, which is returned
};

// The argument of an entry point's body. The lock is held, and released while waiting.
struct Call {
  DriverState& state;
  Lock lock;
  std::shared_ptr<Context> context;  // the current one; may be null unless needed

  // Waits until `holds`, called under the lock, returns true.
  template <class Predicate>
  void wait(Predicate&& holds) {
    state.changed.wait(lock, [&] { return state.ending || holds(); });
  }
  Device& device() const { return *state.devices[static_cast<std::size_t>(context->device)]; }
};

// Looks up a handle; refuses an unknown or destroyed one. `what`: "event, or it was destroyed".
template <class T, class Handle>
std::shared_ptr<T> known(const Handles<T, Handle>& handles, Handle handle, const char* what) {
  std::shared_ptr<T> object = handles.find(handle);
  if (object == nullptr) refuse(CUDA_ERROR_INVALID_HANDLE, std::string("there is no such ") + what);
  return object;
}
// The same, and removes the handle.
template <class T, class Handle>
std::shared_ptr<T> taken(Handles<T, Handle>& handles, Handle handle, const char* what) {
  std::shared_ptr<T> object = known(handles, handle, what);
  handles.remove(handle);
  return object;
}
inline constexpr const char* kStream = "stream, or it was destroyed";
inline constexpr const char* kFunction = "function (cuKernelGetFunction gives one), or its library was unloaded";

// Counts the call and applies faults. Success: continue.
CUresult meet_faults(const char* name);
// Takes the lock and checks `needs`; throws Refusal.
Call begin_call(Needs needs);
// The sticky error to return if the body succeeded.
CUresult end_call(const Call& call, Needs needs);
// Inside a catch block: reports the exception and returns its code.
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
