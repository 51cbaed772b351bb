// Programs by name, as a shell finds them.
#ifndef QUERN_BASE_FIND_PROGRAM_H_
#define QUERN_BASE_FIND_PROGRAM_H_

#include <string>
#include <string_view>

namespace quern {

// Whether `path` is a file that may be run.
bool runnable(const std::string& path);

// `name` itself where it has a slash, else the first of the folders (with colons between them, as in PATH) that has it;
// empty where there is none that may be run.
std::string find_program(const std::string& name, std::string_view folders);

}  // namespace quern

#endif  // QUERN_BASE_FIND_PROGRAM_H_
