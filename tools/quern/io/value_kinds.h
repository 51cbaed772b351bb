// What the placeholders of options stand for: what they accept, and what completion offers.
#ifndef QUERN_TOOLS_IO_VALUE_KINDS_H_
#define QUERN_TOOLS_IO_VALUE_KINDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace quern::tool {

struct ValueKind {
  const char* placeholder;
  bool closed;  // it takes nothing but the words
  std::vector<std::string> (*words)();
};

// Null for a placeholder that stands for anything: N, TIME, CONFIG.
const ValueKind* find_value_kind(std::string_view placeholder);

// Placeholders that stand for what the file system has.
inline constexpr std::string_view kFile = "FILE";
inline constexpr std::string_view kDirectory = "DIR";

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_VALUE_KINDS_H_
