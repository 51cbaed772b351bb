// A stack for one CUDA thread (fiber). Context switches use Boost.Context; Debian's build of it does not inform the
// sanitizers of switches, so that is done here.
#ifndef QUERN_HOSTDRIVER_EXEC_FIBER_H_
#define QUERN_HOSTDRIVER_EXEC_FIBER_H_

#include <boost/context/detail/fcontext.hpp>

#include "common/twin_abi.cuh"

namespace quern::host {

// kStackBytes of memory aligned to kStackBytes, with an inaccessible guard page below; used through Fiber.
class Stack {
 public:
  Stack();  // throws std::bad_alloc
  ~Stack();
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  unsigned char* bottom() const { return bottom_; }
  twin::Thread& thread() const { return twin::thread_at(reinterpret_cast<unsigned long>(bottom_)); }
  // The top of the stack, which grows downwards.
  unsigned char* top() const { return reinterpret_cast<unsigned char*>(&thread()); }

 private:
  unsigned char* bottom_;
};

// A context to switch from and to: its continuation and its stack.
struct Continuation {
  boost::context::detail::fcontext_t context = nullptr;
  const void* bottom = nullptr;
  unsigned long bytes = 0;
  void* fake_stack = nullptr;      // AddressSanitizer's
  void* thread_of_tsan = nullptr;  // ThreadSanitizer's

  // Switches to `to`, and returns when another context switches back here. Both belong to the calling system thread.
  void switch_to(Continuation& to);
};

// A continuation with its own stack. Not thread-safe: only one system thread at a time runs it.
class Fiber : public Continuation {
 public:
  using Body = void (*)(void* argument);

  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The first switch to it runs `body`, which must never return; an earlier body is abandoned, wherever it was.
  void start(Body body, void* argument);
  twin::Thread& thread() const { return stack_.thread(); }

 private:
  static void enter(boost::context::detail::transfer_t from);

  Stack stack_;
  Body body_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_FIBER_H_
