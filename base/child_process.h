// Another program that this process talks with in lines.
#ifndef QUERN_BASE_CHILD_PROCESS_H_
#define QUERN_BASE_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern {

// The child has a process group of its own, so that what it started ends with it, and one socket as its standard input
// and output; its standard error is ours, and no other file is. It sees the end of its input when this process ends,
// however that happens. One thread at a time.
class ChildProcess {
 public:
  // Names and values.
  using Variables = std::vector<std::pair<std::string, std::string>>;

  // `program` is a path. It has our environment, but for what `variables` say. Throws Error (io) where it cannot be
  // started.
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments, const Variables& variables = {});
  // Kills it, and what it started, if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // False where the child is gone. Adds the newline; never raises SIGPIPE.
  bool write_line(std::string_view line) const;

  enum class Reading { line, timeout, end };
  // Waits for a whole line, without its newline.
  Reading read_line(std::string* line, std::chrono::milliseconds limit);

  // Kills it and waits. How it ended, for a sentence: "signal 11 (Segmentation fault)", "exit status 1". Where it is
  // about to end by itself, gives it a moment to say how.
  std::string end(std::chrono::milliseconds patience = std::chrono::milliseconds{0});

 private:
  pid_t child_ = -1;
  int socket_ = -1;
  std::string read_;  // beyond the last line
};

}  // namespace quern

#endif  // QUERN_BASE_CHILD_PROCESS_H_
