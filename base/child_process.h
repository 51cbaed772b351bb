// A child process that this process exchanges lines of text with.
#ifndef QUERN_BASE_CHILD_PROCESS_H_
#define QUERN_BASE_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern {

// The child is the leader of its own process group, so that its descendants are killed with it. One socket is its
// standard input and output; it inherits our standard error and no other file. Its input ends when this process ends,
// for any reason. Not thread-safe.
class ChildProcess {
 public:
  // Names and values.
  using Variables = std::vector<std::pair<std::string, std::string>>;

  // `program` is a path. The child gets our environment, with `variables` added or replaced. Throws Error (io) if it
  // cannot be started.
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments, const Variables& variables = {});
  // Kills the child and its process group if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Returns false if the child is gone. Adds the newline; never raises SIGPIPE.
  bool write_line(std::string_view line) const;

  enum class Reading { line, timeout, end };
  // Waits for a complete line and returns it without its newline.
  Reading read_line(std::string* line, std::chrono::milliseconds limit);

  // Kills the child, waits for it and says how it ended: "signal 11 (Segmentation fault)", "exit status 1". A child
  // that is about to exit by itself has `patience` to do so, so that its own exit status is reported.
  std::string end(std::chrono::milliseconds patience = std::chrono::milliseconds{0});

 private:
  pid_t child_ = -1;
  int socket_ = -1;
  std::string read_;  // received after the last complete line
};

}  // namespace quern

#endif  // QUERN_BASE_CHILD_PROCESS_H_
