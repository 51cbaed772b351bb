// Writing to the disk after the caller has gone on.
#ifndef QUERN_CACHE_WRITE_BEHIND_H_
#define QUERN_CACHE_WRITE_BEHIND_H_

#include <atomic>
#include <functional>

namespace quern::cache {

// Runs jobs one after the other in a thread of its own, which ends when there are none. A caller whose job finds the
// queue full, or no thread to be had, runs it itself. Thread-safe. In a forked child the parent's jobs are the
// parent's.
class WriteBehind {
 public:
  // Throws nothing.
  using Job = std::function<void()>;

  WriteBehind();
  ~WriteBehind();  // waits as `flush` does
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  void add(Job job);
  // Waits until all jobs that were added before have run. REQUIRES: not called by a job.
  void flush();

 private:
  struct Queue;
  Queue& queue();
  std::atomic<Queue*> queue_;  // of this process
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_WRITE_BEHIND_H_
