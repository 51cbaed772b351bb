#include "hostdriver/exec/engine.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <system_error>
#include <thread>

#include "hostdriver/exec/co_resident_set.h"

namespace quern::host {
namespace {

// Pool of worker threads for blocks. Never destroyed: the process may exit while they wait.
class Helpers {
 public:
  static Helpers& get() {
    static Helpers& helpers = *new Helpers();
    return helpers;
  }

  // Runs `work` on `count` pool threads and on the calling thread; returns when all have returned.
  void run(unsigned count, const std::function<void()>& work) {
    Task task{&work, count, count};
    {
      const std::lock_guard lock(mutex_);
      start(count);
      if (count != 0) tasks_.push_back(&task);
    }
    if (count != 0) wake_.notify_all();
    work();
    std::unique_lock lock(mutex_);
    // Unclaimed shares of the task can be dropped: `work` returns when nothing is left to do.
    if (const auto left = std::find(tasks_.begin(), tasks_.end(), &task); left != tasks_.end()) {
      tasks_.erase(left);
      task.running -= task.unclaimed;
    }
    done_.wait(lock, [&] { return task.running == 0; });
  }

 private:
  struct Task {
    const std::function<void()>* work;
    unsigned unclaimed;
    unsigned running;  // including unclaimed ones
  };

  // Starts fewer if the system has no more threads: the caller does the rest.
  void start(unsigned count) {
    try {
      for (; threads_ < count; ++threads_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
    }
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return !tasks_.empty(); });
      Task& task = *tasks_.front();
      if (--task.unclaimed == 0) tasks_.pop_front();
      lock.unlock();
      (*task.work)();
      lock.lock();
      --task.running;
      done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Task*> tasks_;
  unsigned threads_ = 0;
};

CudaThreadPool& threads_of_this_thread() {
  thread_local CudaThreadPool pool;
  return pool;
}

// The distribution of a launch's blocks over workers.
struct Deal {
  unsigned set_blocks;
  std::uint64_t sets;
  std::vector<std::uint32_t> order;  // of sets; empty: by number
};

Deal deal(const Grid& grid, const Settings& settings) {
  const std::uint64_t blocks = volume(grid.grid);
  Deal deal{static_cast<unsigned>(grid.cooperative ? blocks : volume(grid.cluster)), 0, {}};
  deal.sets = blocks / deal.set_blocks;
  constexpr std::uint64_t kMostShuffled = 1 << 24;  // above that, the permutation alone would take 64 MB
  if (settings.seed != 0 && deal.sets <= kMostShuffled)
    deal.order = Shuffle(settings.seed).order(static_cast<std::uint32_t>(deal.sets));
  return deal;
}

// Sets that a worker claims at once, to reduce contention on the counter.
constexpr std::uint64_t kTaken = 8;

}  // namespace

Outcome run_grid(const Grid& grid, const Settings& settings, Memory& memory, const Listeners& listeners) {
  const Deal dealt = deal(grid, settings);
  GridRun run{grid, settings, memory, listeners, dealt.sets > 1};
  std::atomic<std::uint64_t> next{0};
  const auto run_sets = [&] {
    CoResidentSet set(run, threads_of_this_thread());
    for (;;) {
      const std::uint64_t first = next.fetch_add(kTaken);
      if (first >= dealt.sets || run.failed) return;
      for (std::uint64_t i = first; i < std::min(first + kTaken, dealt.sets); ++i)
        set.run((dealt.order.empty() ? i : dealt.order[i]) * dealt.set_blocks, dealt.set_blocks);
    }
  };
  // This may run on a pool thread, which no exception may leave.
  const std::function<void()> work = [&] {
    try {
      run_sets();
    } catch (const std::bad_alloc&) {
      run.fail(CUDA_ERROR_OUT_OF_MEMORY, kNoMemory);
    }
    if (run.failed) threads_of_this_thread().clear();  // perhaps there were too many
  };
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const std::uint64_t workers = settings.workers != 0 ? static_cast<std::uint64_t>(settings.workers) : cores;
  Helpers::get().run(static_cast<unsigned>(std::min(workers, (dealt.sets + kTaken - 1) / kTaken) - 1), work);
  return run.outcome;
}

}  // namespace quern::host
