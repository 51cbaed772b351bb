// Independent pieces of work on several threads.
#ifndef QUERN_TOOLS_IO_JOBS_H_
#define QUERN_TOOLS_IO_JOBS_H_

#include <cstddef>
#include <functional>

namespace quern::tool {

// Calls work(i) for each i below `count` on `jobs` threads, 0 or less: one a core. `work` must not throw. `done` is
// told how many are finished, one call at a time, with the number of the last one; it may be empty.
void run_jobs(std::size_t count, int jobs, const std::function<void(std::size_t)>& work,
              const std::function<void(std::size_t finished, std::size_t last)>& done);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_JOBS_H_
