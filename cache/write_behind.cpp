#include "cache/write_behind.h"

#include <sys/types.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/fork_barrier.h"

namespace quern::cache {
namespace {

constexpr std::size_t kMostJobs = 64;  // an image has some 100 KB

}  // namespace

struct WriteBehind::Queue {
  const ::pid_t process = ::getpid();
  ForkSafeMutex mutex;
  std::condition_variable_any idle;
  std::deque<Job> jobs;
  std::thread thread;
  bool running = false;  // there are queued or running jobs

  // REQUIRES: the mutex is held, and no thread runs. False if no thread can be started.
  bool start() {
    if (thread.joinable()) thread.join();  // it has finished, or is about to
    try {
      thread = std::thread([this] { drain(); });
    } catch (const std::system_error&) {
      return false;
    }
    return running = true;
  }

  void drain() {
    std::unique_lock lock(mutex);
    while (!jobs.empty()) {
      Job job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      job();
      job = nullptr;  // and its captures, including leases
      lock.lock();
    }
    running = false;
    idle.notify_all();
  }
};

WriteBehind::WriteBehind() : queue_(new Queue) {}

WriteBehind::~WriteBehind() {
  if (forked_in_the_middle()) return;
  flush();
  Queue& own = queue();
  if (own.thread.joinable()) own.thread.join();
  delete &own;
}

// A forked child gets a new queue: the parent's thread does not exist there. The old queue is leaked, because its jobs
// hold leases that the parent still holds.
WriteBehind::Queue& WriteBehind::queue() {
  Queue* known = queue_.load(std::memory_order_acquire);
  if (known->process == ::getpid()) return *known;
  auto fresh = std::make_unique<Queue>();
  if (queue_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *known;
}

void WriteBehind::add(Job job) {
  Queue& queue = this->queue();
  {
    const std::lock_guard lock(queue.mutex);
    if (queue.jobs.size() < kMostJobs && (queue.running || queue.start())) {
      queue.jobs.push_back(std::move(job));
      return;
    }
  }
  job();
}

void WriteBehind::flush() {
  Queue& queue = this->queue();
  std::unique_lock lock(queue.mutex);
  queue.idle.wait(lock, [&] { return !queue.running; });
}

}  // namespace quern::cache
