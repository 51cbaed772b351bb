// Runs another program and captures its output.
#ifndef QUERN_BASE_RUN_PROGRAM_H_
#define QUERN_BASE_RUN_PROGRAM_H_

#include <string>
#include <vector>

namespace quern {

struct Finished {
  // The exit status; 128 plus the signal's number if it was killed; -1 if it could not be started. Also 0 if the
  // application makes the status unavailable, so check the program's output files.
  int status = -1;
  std::string output;  // stdout and stderr
  int error = 0;       // an errno value if it could not be started
};

// Runs `program` (a path) with `arguments` in `folder` ("": the current one) and waits. `environment`: its complete
// environment, as "NAME=value" strings. No shell. Thread-safe.
Finished run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& folder,
                     const std::vector<std::string>& environment);

}  // namespace quern

#endif  // QUERN_BASE_RUN_PROGRAM_H_
