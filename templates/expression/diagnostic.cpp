#include "expression/diagnostic.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace quern::expression {
namespace {

constexpr std::size_t kBefore = 60, kAfter = 40;  // bytes of a long line around the place

std::string visible(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c < ' ' || c > '~') c = c == '\t' ? ' ' : '?';
  }
  return out;
}

}  // namespace

std::string Diagnostic::text() const {
  if (line == 0) return message;
  return cat(line, ":", column, ": ", message, "\n  ", part, "\n  ", std::string(static_cast<std::size_t>(caret), ' '),
             "^");
}

Diagnostic diagnostic_at(std::string_view text, std::size_t at, std::string message) {
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const std::size_t newline = before.rfind('\n');
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const std::size_t end = std::min(text.find('\n', at), text.size());
  const std::size_t first = at - begin > kBefore ? at - kBefore : begin;
  const std::size_t last = end - at > kAfter ? at + kAfter : end;

  Diagnostic out;
  out.message = std::move(message);
  out.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  out.column = 1 + static_cast<int>(at - begin);
  out.part = visible(text.substr(first, last - first));
  out.caret = static_cast<int>(at - first);
  return out;
}

}  // namespace quern::expression
