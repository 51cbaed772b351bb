// Work that fork() waits for, because a child of fork() cannot go on in the middle of it.
#ifndef QUERN_BASE_FORK_BARRIER_H_
#define QUERN_BASE_FORK_BARRIER_H_

#include <chrono>
#include <mutex>

namespace quern {

// NVRTC and the dynamic loader hold locks of their own while they work. A child that is forked meanwhile has those
// locks and not the thread that would release them: its first compile would wait for ever.
//
// So whoever calls NVRTC or the loader keeps a ForkSection for as long. fork() in another thread then waits until no
// thread is inside, for at most 10 s (a compile takes 20 ms to some seconds); new sections wait until the fork is
// done. In a child of a fork that did not wait to the end, a section throws.
//
// A log sink that is called inside must not wait for the thread that forks.
class ForkSection {
 public:
  // Throws Error (compile) in such a child. May be nested.
  ForkSection();
  ~ForkSection();
  ForkSection(const ForkSection&) = delete;
  ForkSection& operator=(const ForkSection&) = delete;
};

// A mutex that is free in every child of fork(): whoever holds it is in a ForkSection. For all state that a child may
// go on using.
class ForkSafeMutex {
 public:
  void lock();
  void unlock();

 private:
  std::mutex mutex_;
};

// Whether this is such a child. What ends an object here needs no section then: it leaves alone what is shared.
bool forked_in_the_middle();

// How long fork() waits at most; returns what it was. For tests.
std::chrono::milliseconds exchange_longest_fork_wait(std::chrono::milliseconds wait);

}  // namespace quern

#endif  // QUERN_BASE_FORK_BARRIER_H_
