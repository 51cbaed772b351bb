// Text layout for people: lines of a width.
#ifndef QUERN_TOOLS_IO_LAYOUT_H_
#define QUERN_TOOLS_IO_LAYOUT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quern::tool {

// In characters, not bytes: sentences may hold "×".
std::size_t width_of(std::string_view text);

// Lines of at most `width`, broken at spaces; a longer word has its own line. At least one line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// The same, but longer words are broken. A text that fits is not changed.
std::vector<std::string> wrap_hard(std::string_view text, std::size_t width);

// `text` wrapped to `width` after `indent` spaces, each line with its newline.
std::string paragraph(std::string_view text, std::size_t indent, std::size_t width);

// A label, and a text next to it with a hanging indent at column `column`.
std::string labelled(std::string_view label, std::string_view text, std::size_t column, std::size_t width);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_LAYOUT_H_
