// Running another program and reading what it says.
#ifndef QUERN_BASE_RUN_PROGRAM_H_
#define QUERN_BASE_RUN_PROGRAM_H_

#include <string>
#include <vector>

namespace quern {

struct Finished {
  // The exit status; 128 and the signal's number if it was killed; -1: it could not be started. 0 too where the
  // application leaves no way to know, so look at what the program made.
  int status = -1;
  std::string output;  // stdout and stderr
  int error = 0;       // why it could not be started, an errno value
};

// Runs `program` (a path) with `arguments` in `folder` ("": here) and waits. `environment`: all that it gets,
// "NAME=value" each. No shell. Safe in any thread.
Finished run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& folder,
                     const std::vector<std::string>& environment);

}  // namespace quern

#endif  // QUERN_BASE_RUN_PROGRAM_H_
