#include "base/fork_barrier.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "quern/error.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kBetweenLooks{200};

// A condition variable does not work here: in a child it may still wait for threads that do not exist there.
pthread_mutex_t entrance =
    PTHREAD_MUTEX_INITIALIZER;  // held by a forking thread until the fork is done, by others briefly
std::atomic<int> threads_inside{0};
std::atomic<std::int64_t> longest_wait_ms{10'000};
std::atomic<bool> broken{false};
constinit thread_local int depth = 0;

int others_inside() { return threads_inside.load() - (depth > 0 ? 1 : 0); }

void before_fork() {
  pthread_mutex_lock(&entrance);
  const auto until = Clock::now() + std::chrono::milliseconds(longest_wait_ms);
  while (others_inside() > 0 && Clock::now() < until) std::this_thread::sleep_for(kBetweenLooks);
}

void in_parent() { pthread_mutex_unlock(&entrance); }

void in_child() {
  if (others_inside() > 0) broken = true;
  threads_inside = depth > 0 ? 1 : 0;
  pthread_mutex_unlock(&entrance);
}

void register_once() {
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) pthread_atfork(before_fork, in_parent, in_child);
}

Error no_section() {
  return Error(
      Code::compile, Stage::compile,
      "this process was forked while another thread was compiling, and that took longer than a fork waits for "
      "(10 s): the compiler cannot be used here. Fork before the first compile or after the last one, or start "
      "the child with exec");
}

void enter() {
  if (broken) throw no_section();
  if (depth++ > 0) return;
  register_once();
  pthread_mutex_lock(&entrance);
  ++threads_inside;
  pthread_mutex_unlock(&entrance);
}

void leave() {
  if (--depth == 0) --threads_inside;
}

}  // namespace

ForkSection::ForkSection() { enter(); }
ForkSection::~ForkSection() { leave(); }

InheritedForkSection::InheritedForkSection() : process_(::getpid()) { ++depth; }

// In a child that this thread forked, the thread with the section does not exist, and this one was counted instead.
InheritedForkSection::~InheritedForkSection() {
  if (process_ == ::getpid())
    --depth;
  else
    leave();
}

void ForkSafeMutex::lock() {
  enter();
  mutex_.lock();
}

void ForkSafeMutex::unlock() {
  mutex_.unlock();
  leave();
}

bool forked_in_the_middle() { return broken; }

std::chrono::milliseconds exchange_longest_fork_wait(std::chrono::milliseconds wait) {
  return std::chrono::milliseconds(longest_wait_ms.exchange(wait.count()));
}

}  // namespace quern
