#include "hostdriver/current.h"

#include <array>

#include "hostdriver/capture.h"
#include "hostdriver/schedule.h"

namespace quern::host {
namespace {

// Of plain data, so that it is still there when other static objects of the thread are destroyed.
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

std::shared_ptr<Context> current_context(Machine& machine) {
  const CUcontext handle = current_handle();
  if (handle == nullptr) return nullptr;
  std::shared_ptr<Context> context = machine.contexts.find(handle);
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

std::shared_ptr<Context> make_context(Machine& machine, int device, CUcontext handle, bool primary) {
  auto context = std::make_shared<Context>();
  context->handle = handle;
  context->id = ++machine.last_context;
  context->device = device;
  context->primary = primary;
  context->legacy = std::make_shared<Stream>();
  context->legacy->context = context;
  context->legacy->legacy = true;
  machine.contexts.add(handle, context);
  ++machine.living_contexts;
  return context;
}

void end_context(Call& call, const std::shared_ptr<Context>& context) {
  Machine& machine = call.machine;
  context->destroyed = true;
  machine.contexts.remove(context->handle);
  drop_captures_of(machine, *context);
  wait_for_context(call, *context);
  for (const auto& stream : std::vector(context->streams)) destroy_stream(machine, stream);
  destroy_stream(machine, context->legacy);
  remove_objects_of(machine.streams, context.get());
  remove_objects_of(machine.events, context.get());
  remove_objects_of(machine.functions, context.get());
  remove_objects_of(machine.executables, context.get());
  machine.devices[static_cast<std::size_t>(context->device)]->memory->free_all(context->id);
  context->legacy.reset();
  --machine.living_contexts;
}

}  // namespace quern::host
