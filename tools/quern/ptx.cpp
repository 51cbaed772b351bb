#include "ptx.h"

#include <vector>

#include "base/text.h"

namespace quern::tool {
namespace {

// The type's bits: b8, u16, s32, f64, b128. 0 if the word is no type.
int type_bits(std::string_view word) {
  if (word.size() < 2 || std::string_view("busf").find(word.front()) == std::string_view::npos) return 0;
  const auto bits = parse_integer(word.substr(1));
  return bits && (*bits == 8 || *bits == 16 || *bits == 32 || *bits == 64 || *bits == 128) ? static_cast<int>(*bits)
                                                                                           : 0;
}

int vector_elements(std::string_view word) {
  if (word == "v2") return 2;
  if (word == "v4") return 4;
  return word == "v8" ? 8 : 1;
}

// The instruction of a line: without a predicate in front, up to the first space.
std::string_view instruction_of(std::string_view line) {
  line = trim(line);
  if (!line.empty() && line.front() == '@') line = trim(line.substr(std::min(line.find(' '), line.size())));
  return line.substr(0, line.find_first_of(" \t"));
}

}  // namespace

Accesses count_accesses(std::string_view ptx) {
  Accesses accesses;
  for (const std::string_view line : split(ptx, '\n')) {
    const std::vector<std::string_view> words = split(instruction_of(line), '.');
    if (words.size() < 3 || (words[0] != "ld" && words[0] != "st")) continue;
    bool global = false;
    int elements = 1;
    for (const std::string_view word : words) {
      global = global || word == "global";
      elements *= vector_elements(word);
    }
    const int bytes = elements * type_bits(words.back()) / 8;
    if (global && bytes > 0) ++(words[0] == "ld" ? accesses.loads : accesses.stores)[bytes];
  }
  return accesses;
}

std::string widths_text(const Widths& widths) {
  std::vector<std::string> parts;
  for (auto at = widths.rbegin(); at != widths.rend(); ++at) parts.push_back(cat(at->second, " × ", at->first, " B"));
  return parts.empty() ? "none" : join(parts, ", ");
}

}  // namespace quern::tool
