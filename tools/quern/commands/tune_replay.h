// quern tune --replay: strategies on saved tuning spaces.
#ifndef QUERN_TOOLS_COMMANDS_TUNE_REPLAY_H_
#define QUERN_TOOLS_COMMANDS_TUNE_REPLAY_H_

#include <string>
#include <vector>

namespace quern::tool {

struct ReplayRequest {
  std::vector<std::string> files;       // Kernel Tuner's caches or quern's sweeps, plain or gzipped
  std::vector<std::string> strategies;  // empty: the default one
  int seeds = 200;
  bool json = false;
};

// Prints a row a file, and the means of a strategy where there are several files. Returns the exit code; throws Error.
int run_replay(const ReplayRequest& request);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_TUNE_REPLAY_H_
