// Write-behind: writes to the disk after the caller has returned.
#ifndef QUERN_CACHE_WRITE_BEHIND_H_
#define QUERN_CACHE_WRITE_BEHIND_H_

#include <atomic>
#include <functional>

namespace quern::cache {

// Runs jobs in order on its own thread, which ends when the queue is empty. If the queue is full, or no thread can be
// started, the caller runs its job itself. Thread-safe. A forked child does not run the parent's jobs.
class WriteBehind {
 public:
  // Does not throw.
  using Job = std::function<void()>;

  WriteBehind();
  ~WriteBehind();  // waits as `flush` does
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  void add(Job job);
  // Waits until all jobs added so far have run. REQUIRES: not called by a job.
  void flush();

 private:
  struct Queue;
  Queue& queue();
  std::atomic<Queue*> queue_;  // of this process
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_WRITE_BEHIND_H_
