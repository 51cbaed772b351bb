// Runs independent work items on several threads.
#ifndef QUERN_TOOLS_IO_JOBS_H_
#define QUERN_TOOLS_IO_JOBS_H_

#include <cstddef>
#include <functional>

namespace quern::tool {

// Calls work(i) for each i below `count` on `jobs` threads; 0 or less: one per core. `work` must not throw. After each
// item `done`, unless empty, is called with the number of finished items and the last item's index, one call at a time.
void run_jobs(std::size_t count, int jobs, const std::function<void(std::size_t)>& work,
              const std::function<void(std::size_t finished, std::size_t last)>& done);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_JOBS_H_
