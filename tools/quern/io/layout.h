// Text laid out for people: lines of a width.
#ifndef QUERN_TOOLS_IO_LAYOUT_H_
#define QUERN_TOOLS_IO_LAYOUT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quern::tool {

// In characters, not bytes: sentences may hold "×".
std::size_t width_of(std::string_view text);

// Lines of at most `width`, broken at spaces; a word that is longer has a line of its own. At least one line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// The same, and words that are longer are broken. A text that fits stays as it is.
std::vector<std::string> wrap_hard(std::string_view text, std::size_t width);

// `text` wrapped to `width` behind `indent` spaces, each line ended.
std::string paragraph(std::string_view text, std::size_t indent, std::size_t width);

// A label, and a text beside it that hangs from column `column`.
std::string labelled(std::string_view label, std::string_view text, std::size_t column, std::size_t width);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_LAYOUT_H_
