// How far a long job is, on stderr.
#ifndef QUERN_TOOLS_IO_PROGRESS_H_
#define QUERN_TOOLS_IO_PROGRESS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace quern::tool {

// Where progress goes.
struct ProgressScreen {
  std::size_t columns = 0;  // a line that is written over, so wide; 0: plain lines, one each 10 s
  std::function<double()> seconds;
  std::function<void(std::string_view)> write;
};
// stderr. A terminal that knows no escape codes (TERM=dumb) gets plain lines too. `prints_rows`: rows go to stdout
// meanwhile; where that is a terminal they are progress enough.
ProgressScreen stderr_screen(bool prints_rows = false);

// "[3/10] 1.5/s, 5 s left: gather width=…".
class Progress {
 public:
  // `already`: how many of `total` were done before the clock was started.
  explicit Progress(std::size_t total, std::size_t already = 0, ProgressScreen screen = stderr_screen());
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // `most_left`: the job ends after so many seconds whatever is done by then; below 0: it does not.
  void show(std::size_t done, std::string_view what, double most_left = -1);

 private:
  std::string line(std::size_t done, std::string_view what, double most_left) const;
  const std::size_t total_;
  const std::size_t already_;
  const ProgressScreen screen_;
  const double start_;
  double last_;  // when a plain line was written
};

// "5 s", "12 min", "1.5 h".
std::string duration_text(double seconds);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_PROGRESS_H_
