#include "hostdriver/api/current.h"

#include <array>

#include "hostdriver/api/capture.h"
#include "hostdriver/api/schedule.h"

namespace quern::host {
namespace {

// Trivially destructible, so that destructors of other static objects of the thread can still use it.
constexpr unsigned kMaxDepth = 64;
struct Stack {
  std::array<CUcontext, kMaxDepth> contexts;
  unsigned depth;
};
thread_local Stack stack{};

std::shared_ptr<Context> destroyed_context() {
  static auto* const context = new std::shared_ptr<Context>(std::make_shared<Context>());
  (*context)->destroyed = true;
  return *context;
}

template <class T, class Handle>
void remove_objects_of(Handles<T, Handle>& handles, const Context* context) {
  handles.remove_if([&](const T& object) { return object.context.get() == context; });
}

}  // namespace

CUcontext current_handle() { return stack.depth == 0 ? nullptr : stack.contexts[stack.depth - 1]; }

std::shared_ptr<Context> current_context(DriverState& state) {
  const CUcontext handle = current_handle();
  if (handle == nullptr) return nullptr;
  std::shared_ptr<Context> context = state.contexts.find(handle);
  return context != nullptr ? context : destroyed_context();
}

void push_current(CUcontext context) {
  require(stack.depth < kMaxDepth, CUDA_ERROR_NOT_SUPPORTED, "more than 64 contexts on a thread's stack");
  stack.contexts[stack.depth++] = context;
}

CUcontext pop_current() { return stack.depth == 0 ? nullptr : stack.contexts[--stack.depth]; }

void set_current(CUcontext context) {
  pop_current();
  if (context != nullptr) push_current(context);
}

std::shared_ptr<Context> make_context(DriverState& state, int device, CUcontext handle, bool primary) {
  auto context = std::make_shared<Context>();
  context->handle = handle;
  context->id = ++state.last_context;
  context->device = device;
  context->primary = primary;
  context->legacy = std::make_shared<Stream>();
  context->legacy->context = context;
  context->legacy->legacy = true;
  state.contexts.add(handle, context);
  ++state.living_contexts;
  return context;
}

void end_context(Call& call, const std::shared_ptr<Context>& context) {
  DriverState& state = call.state;
  context->destroyed = true;
  state.contexts.remove(context->handle);
  drop_captures_of(state, *context);
  wait_for_context(call, *context);
  for (const auto& stream : std::vector(context->streams)) destroy_stream(state, stream);
  destroy_stream(state, context->legacy);
  remove_objects_of(state.streams, context.get());
  remove_objects_of(state.events, context.get());
  remove_objects_of(state.functions, context.get());
  remove_objects_of(state.executables, context.get());
  state.devices[static_cast<std::size_t>(context->device)]->memory->free_all(context->id);
  context->legacy.reset();
  --state.living_contexts;
}

}  // namespace quern::host
