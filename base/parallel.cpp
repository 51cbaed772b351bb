#include "base/parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace quern {

void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::int64_t parts = std::clamp<std::int64_t>(count / std::max<std::int64_t>(1, grain), 1, cores);
  std::vector<std::thread> threads;
  for (std::int64_t part = 1; part < parts; ++part)
    threads.emplace_back(body, count * part / parts, count * (part + 1) / parts);
  body(0, count / parts);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace quern
