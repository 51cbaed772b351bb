// quern tune FAMILY FIELD=VALUE...: sweeps on devices.
#ifndef QUERN_TOOLS_COMMANDS_TUNE_SWEEP_H_
#define QUERN_TOOLS_COMMANDS_TUNE_SWEEP_H_

#include <string>
#include <vector>

#include "commands/tune_worker.h"
#include "io/command.h"

namespace quern::tool {

struct SweepRequest {
  std::vector<std::string> words;    // a problem
  std::string manifest;              // a file of problems instead
  bool bench_table = false;          // the families' bench cases instead
  std::vector<std::string> devices;  // "cuda:0"; several share each sweep
  std::string strategy;
  std::string budget;  // "90s", "10m", or a number of evaluations
  std::string regime;
  std::string save_space;  // measure every legal config and keep the file here
  int seed = 1;
  int jobs = 0;  // compiles at a time; 0: one a core
  WorkerRequest worker;
  bool no_record = false;
  bool json = false;
};

// Prints a row a problem. Returns the exit code; throws Error.
int run_sweeps(const SweepRequest& request, const Global& global);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_TUNE_SWEEP_H_
