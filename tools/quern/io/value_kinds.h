// Placeholders of options: the values that they accept, and the values that completion offers.
#ifndef QUERN_TOOLS_IO_VALUE_KINDS_H_
#define QUERN_TOOLS_IO_VALUE_KINDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace quern::tool {

struct ValueKind {
  const char* placeholder;
  bool closed;  // only these words are valid
  std::vector<std::string> (*words)();
};

// Null for a placeholder that accepts any value: N, TIME, CONFIG.
const ValueKind* find_value_kind(std::string_view placeholder);

// Placeholders of files and directories.
inline constexpr std::string_view kFile = "FILE";
inline constexpr std::string_view kDirectory = "DIR";

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_VALUE_KINDS_H_
