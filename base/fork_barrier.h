// Sections of code that fork() waits for, because a forked child cannot continue in the middle of them.
#ifndef QUERN_BASE_FORK_BARRIER_H_
#define QUERN_BASE_FORK_BARRIER_H_

#include <sys/types.h>

#include <chrono>
#include <mutex>

namespace quern {

// NVRTC and the dynamic loader hold internal locks while they work. A child that is forked meanwhile inherits the
// locked locks but not the threads that would release them: its first compile would deadlock.
//
// So every call of NVRTC or the loader is inside a ForkSection. fork() in another thread then waits until no thread is
// inside, for at most 10 s (a compile takes 20 ms to some seconds); new sections wait until the fork is done. In a
// child of a fork that timed out, a section throws.
//
// A log sink that is called inside a section must not wait for the thread that forks.
class ForkSection {
 public:
  // Throws Error (compile) in the child of a fork that timed out. May be nested.
  ForkSection();
  ~ForkSection();
  ForkSection(const ForkSection&) = delete;
  ForkSection& operator=(const ForkSection&) = delete;
};

// The ForkSection of another thread, continued in this one: that thread waits for this one's end. So fork() waits until
// this thread has exited, which a section of its own could not give: destructors of thread-local objects run later.
class InheritedForkSection {
 public:
  InheritedForkSection();
  ~InheritedForkSection();
  InheritedForkSection(const InheritedForkSection&) = delete;
  InheritedForkSection& operator=(const InheritedForkSection&) = delete;

 private:
  ::pid_t process_;
};

// A mutex that is unlocked in every child of fork(), because it is only held inside a ForkSection. For all state that a
// child may continue to use.
class ForkSafeMutex {
 public:
  void lock();
  void unlock();

 private:
  std::mutex mutex_;
};

// Whether this process is the child of a fork that timed out. Destructors there take no section and leave shared state
// alone.
bool forked_in_the_middle();

// Sets how long fork() waits at most; returns the previous value. For tests.
std::chrono::milliseconds exchange_longest_fork_wait(std::chrono::milliseconds wait);

}  // namespace quern

#endif  // QUERN_BASE_FORK_BARRIER_H_
