// The result of a sweep, for people.
#ifndef QUERN_TOOLS_COMMANDS_TUNE_VERDICT_H_
#define QUERN_TOOLS_COMMANDS_TUNE_VERDICT_H_

#include <string>
#include <vector>

#include "tuner/journal/journal.h"

namespace quern::tool {

// One sentence without its full stop: "kept the default: no config was faster by more than 0.5 %".
std::string verdict_text(const SweepResult& result);

// The command that writes a page of these sweeps, or of their folder if they are many.
std::string report_command(const std::vector<std::string>& files);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_TUNE_VERDICT_H_
