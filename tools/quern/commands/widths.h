// The accesses that an image's PTX makes, for people and for JSON.
#ifndef QUERN_TOOLS_COMMANDS_WIDTHS_H_
#define QUERN_TOOLS_COMMANDS_WIDTHS_H_

#include <string>

#include "io/output.h"

namespace quern::tool {

// Loads or stores of global memory: "4 × 16 B, 1 × 8 B"; "none".
std::string widths_text(const std::string& ptx, bool stores);
// {"16": 4, "8": 1}
Row widths_row(const std::string& ptx, bool stores);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_WIDTHS_H_
