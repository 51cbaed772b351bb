// Help for people, made of what commands declare.
#ifndef QUERN_TOOLS_IO_HELP_H_
#define QUERN_TOOLS_IO_HELP_H_

#include <string>
#include <vector>

#include "io/arguments.h"

namespace quern::tool {

// quern; then a command; then an action of it.
using HelpPath = std::vector<const Arguments*>;

// "quern tune check".
std::string path_text(const HelpPath& path);

// What is typed, a line each: "quern tune [OPTION...] FAMILY FIELD=VALUE...".
std::vector<std::string> usage_lines(const HelpPath& path);

// All of what the last of the path takes, for lines of `width`.
std::string help_text(const HelpPath& path, std::size_t width);

// The terminal's, at most what reads well; 80 where stdout is none.
std::size_t help_width();

struct ExitRow {
  Exit code;
  const char* meaning;
};
const std::vector<ExitRow>& exit_rows();

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_HELP_H_
