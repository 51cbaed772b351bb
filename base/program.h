// Other programs: finds them by name, as a shell does, and runs them.
#ifndef QUERN_BASE_PROGRAM_H_
#define QUERN_BASE_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

namespace quern {

// Whether `path` is an executable file.
bool runnable(const std::string& path);

// Returns `name` itself if it has a slash, else the path of the first executable of that name in `folders`, a list
// separated by colons as in PATH; empty if there is none.
std::string find_program(const std::string& name, std::string_view folders);

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

#endif  // QUERN_BASE_PROGRAM_H_
