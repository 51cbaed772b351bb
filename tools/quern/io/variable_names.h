// Names in the environment that look like ours and are none.
#ifndef QUERN_TOOLS_IO_VARIABLE_NAMES_H_
#define QUERN_TOOLS_IO_VARIABLE_NAMES_H_

#include <string>
#include <vector>

namespace quern::tool {

// A sentence for each QUERN_ name that nothing reads and that is close to one that something reads, or was one once.
// `names`: the names of the environment.
std::vector<std::string> mistyped_variables(const std::vector<std::string>& names);

// The names of this process's environment.
std::vector<std::string> environment_names();

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_VARIABLE_NAMES_H_
