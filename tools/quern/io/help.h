// Help text and man page, made from the declarations of commands.
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

// Usage, a line each: "quern tune [OPTION...] FAMILY FIELD=VALUE...".
std::vector<std::string> usage_lines(const HelpPath& path);

// The help of the last element of the path, for lines of `width`.
std::string help_text(const HelpPath& path, std::size_t width);

// The terminal's width, up to a readable limit; 80 if stdout is not a terminal.
std::size_t help_width();

struct ExitRow {
  Exit code;
  const char* meaning;
};
const std::vector<ExitRow>& exit_rows();

// quern(1), in man macros.
std::string man_page(const Arguments& root);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_HELP_H_
