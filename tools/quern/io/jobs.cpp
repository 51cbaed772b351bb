#include "io/jobs.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace quern::tool {

void run_jobs(std::size_t count, int jobs, const std::function<void(std::size_t)>& work,
              const std::function<void(std::size_t finished, std::size_t last)>& done) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t threads = std::min(count, jobs > 0 ? static_cast<std::size_t>(jobs) : cores);
  std::atomic<std::size_t> next{0};
  std::mutex telling;
  std::size_t finished = 0;
  const auto loop = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      work(i);
      const std::lock_guard lock(telling);
      ++finished;
      if (done) done(finished, i);
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(loop);
  loop();
  for (std::thread& other : others) other.join();
}

}  // namespace quern::tool
