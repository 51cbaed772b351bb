#include "base/large_stack.h"

#include <pthread.h>

#include <cstddef>
#include <exception>

namespace quern {
namespace {

constexpr std::size_t kStackBytes = std::size_t{16} << 20;

struct Task {
  const std::function<void()>& work;
  std::exception_ptr thrown;
};

void* run(void* argument) {
  auto& task = *static_cast<Task*>(argument);
  try {
    task.work();
  } catch (...) {
    task.thrown = std::current_exception();
  }
  return nullptr;
}

bool start(pthread_t* thread, Task* task) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  const bool started =
      pthread_attr_setstacksize(&attributes, kStackBytes) == 0 && pthread_create(thread, &attributes, run, task) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace

void run_on_large_stack(const std::function<void()>& work) {
  Task task{work, nullptr};
  pthread_t thread{};
  if (!start(&thread, &task)) return work();
  pthread_join(thread, nullptr);
  if (task.thrown) std::rethrow_exception(task.thrown);
}

}  // namespace quern
