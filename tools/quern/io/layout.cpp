#include "io/layout.h"

#include <algorithm>

#include "base/text.h"

namespace quern::tool {

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const bool fits = lines.back().empty() || width_of(lines.back()) + 1 + width_of(word) <= width;
    if (!fits) lines.emplace_back();
    lines.back() += cat(lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

namespace {

// The bytes of the first `width` characters.
std::size_t bytes_of(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    seen += (static_cast<unsigned char>(text[bytes]) & 0xC0) != 0x80 ? 1 : 0;
    if (seen > width) break;
  }
  return bytes;
}

}  // namespace

std::vector<std::string> wrap_hard(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return {std::string(text)};
  std::vector<std::string> lines;
  for (std::string_view rest : wrap(text, width)) {
    for (; width_of(rest) > width; rest.remove_prefix(bytes_of(rest, width)))
      lines.emplace_back(rest.substr(0, bytes_of(rest, width)));
    lines.emplace_back(rest);
  }
  return lines;
}

std::string paragraph(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  for (const std::string& line : wrap(text, width - indent)) out += cat(std::string(indent, ' '), line, "\n");
  return out;
}

std::string labelled(std::string_view label, std::string_view text, std::size_t column, std::size_t width) {
  std::string out = cat("  ", label);
  const bool fits = width_of(out) + 1 < column;
  out += fits ? std::string(column - width_of(out), ' ') : "\n" + std::string(column, ' ');
  return out + paragraph(text, column, width).substr(column);
}

}  // namespace quern::tool
