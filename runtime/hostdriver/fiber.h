// A stack of its own for a CUDA thread. The context switch is Boost.Context's; Debian's build of it does not tell
// AddressSanitizer of switches, so that is done here.
#ifndef QUERN_HOSTDRIVER_FIBER_H_
#define QUERN_HOSTDRIVER_FIBER_H_

#include <boost/context/detail/fcontext.hpp>

#include "common/twin_abi.cuh"

namespace quern::host {

// kStackBytes of memory at a multiple of kStackBytes, with an inaccessible page below; used through Fiber.
class Stack {
 public:
  Stack();  // throws std::bad_alloc
  ~Stack();
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  unsigned char* bottom() const { return bottom_; }
  unsigned char* top() const { return bottom_ + twin::kStackBytes - sizeof(twin::Thread); }
  twin::Thread& thread() const { return *reinterpret_cast<twin::Thread*>(top()); }

 private:
  unsigned char* bottom_;
};

// Not thread-safe: a fiber is resumed by one thread at a time, and suspends to it.
class Fiber {
 public:
  using Body = void (*)(void* argument, Fiber& self);

  // Runs `body` at the first resume after this; what ran before is forgotten, wherever it was.
  void start(Body body, void* argument);
  // Returns when the body suspends. The body never returns.
  void resume();
  void suspend();
  twin::Thread& thread() const { return stack_.thread(); }

 private:
  static void enter(boost::context::detail::transfer_t from);

  Stack stack_;
  Body body_ = nullptr;
  void* argument_ = nullptr;
  boost::context::detail::fcontext_t own_ = nullptr;     // where the body goes on
  boost::context::detail::fcontext_t caller_ = nullptr;  // where resume() goes on
  // AddressSanitizer's.
  void* own_fake_stack_ = nullptr;
  void* caller_fake_stack_ = nullptr;
  const void* caller_bottom_ = nullptr;
  unsigned long caller_bytes_ = 0;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_FIBER_H_
