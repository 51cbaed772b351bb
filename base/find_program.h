// Finds programs by name, as a shell does.
#ifndef QUERN_BASE_FIND_PROGRAM_H_
#define QUERN_BASE_FIND_PROGRAM_H_

#include <string>
#include <string_view>

namespace quern {

// Whether `path` is an executable file.
bool runnable(const std::string& path);

// Returns `name` itself if it has a slash, else the first executable of that name in `path`, a list of folders
// separated by colons as in PATH; empty if there is none.
std::string find_program(const std::string& name, std::string_view folders);

}  // namespace quern

#endif  // QUERN_BASE_FIND_PROGRAM_H_
