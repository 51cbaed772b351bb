// Progress of a long job, on stderr.
#ifndef QUERN_TOOLS_IO_PROGRESS_H_
#define QUERN_TOOLS_IO_PROGRESS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace quern::tool {

// How progress is printed.
struct ProgressScreen {
  std::size_t columns = 0;  // width of a line that is overwritten; 0: plain lines, one each 10 s
  std::function<double()> seconds;
  std::function<void(std::string_view)> write;
};
// stderr. A terminal without escape codes (TERM=dumb) gets plain lines too. `prints_rows`: rows go to stdout meanwhile;
// on a terminal they show enough progress.
ProgressScreen stderr_screen(bool prints_rows = false);

// "[3/10] 1.5/s, 5 s left: gather width=…".
class Progress {
 public:
  // `already`: how many of `total` were done before the clock started.
  explicit Progress(std::size_t total, std::size_t already = 0, ProgressScreen screen = stderr_screen());
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // `most_left`: upper limit of the remaining seconds, whatever is done by then; below 0: none.
  void show(std::size_t done, std::string_view what, double most_left = -1);

 private:
  std::string line(std::size_t done, std::string_view what, double most_left) const;
  const std::size_t total_;
  const std::size_t already_;
  const ProgressScreen screen_;
  const double start_;
  double last_;  // time of the last plain line
};

// "5 s", "12 min", "1.5 h".
std::string duration_text(double seconds);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_PROGRESS_H_
