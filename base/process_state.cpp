#include "base/process_state.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>

extern "C" {
int __cxa_atexit(void (*function)(void*), void* argument, void* library);
int __cxa_thread_atexit_impl(void (*function)(void*), void* argument, void* library) __attribute__((weak));
}

namespace quern {
namespace {

std::atomic<unsigned> forks{0};
std::atomic<sem_t*> exit_has_begun{nullptr};  // posted by exit()

// exit() calls sem_post, a function of libc, on memory that is never freed. dlclose would also call a function of our
// own, or it would be unloaded when exit() calls it; and a thread_local object would prevent unloading a library.
// `libc` names no library, so that unloading none triggers the call; null would do, but ThreadSanitizer then drops the
// argument.
void post_at_exit(sem_t* semaphore, bool main_thread) {
  void* const libc = reinterpret_cast<void*>(&sem_post);
  const auto post = reinterpret_cast<void (*)(void*)>(libc);  // the return value is ignored
  if (!main_thread) {
    __cxa_atexit(post, semaphore, libc);
  } else if (__cxa_thread_atexit_impl != nullptr) {
    // Thread-local objects of the main thread are destroyed before any static object, also before function-local
    // statics constructed after our first registration.
    __cxa_thread_atexit_impl(post, semaphore, libc);
  }
}

sem_t* watched_semaphore() {
  if (sem_t* known = exit_has_begun.load(std::memory_order_acquire)) return known;
  auto* fresh = new sem_t;
  sem_init(fresh, 0, 0);
  sem_t* expected = nullptr;
  if (!exit_has_begun.compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) {
    delete fresh;
    return expected;
  }
  post_at_exit(fresh, false);
  pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return fresh;
}

}  // namespace

void watch_process() {
  static std::atomic<bool> main_thread_watched{false};
  sem_t* const semaphore = watched_semaphore();
  if (gettid() == getpid() && !main_thread_watched.exchange(true)) post_at_exit(semaphore, true);
}

bool process_is_ending() {
  sem_t* const semaphore = exit_has_begun.load(std::memory_order_acquire);
  int posts = 0;
  return semaphore != nullptr && sem_getvalue(semaphore, &posts) == 0 && posts > 0;
}

unsigned fork_count() { return forks.load(std::memory_order_relaxed); }

}  // namespace quern
