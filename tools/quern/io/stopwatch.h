// Wall time since construction.
#ifndef QUERN_TOOLS_IO_STOPWATCH_H_
#define QUERN_TOOLS_IO_STOPWATCH_H_

#include <chrono>

namespace quern::tool {

class Stopwatch {
 public:
  double ms() const { return std::chrono::duration<double, std::milli>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_STOPWATCH_H_
