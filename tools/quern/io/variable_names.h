// Detects misspelt QUERN_ variables in the environment.
#ifndef QUERN_TOOLS_IO_VARIABLE_NAMES_H_
#define QUERN_TOOLS_IO_VARIABLE_NAMES_H_

#include <string>
#include <vector>

namespace quern::tool {

// A sentence for each QUERN_ name that nothing reads, if it is close to a known name or a former name. `names`: the
// names in the environment.
std::vector<std::string> mistyped_variables(const std::vector<std::string>& names);

// The names of this process's environment.
std::vector<std::string> environment_names();

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_VARIABLE_NAMES_H_
