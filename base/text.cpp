#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

namespace quern {
namespace {

template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Damerau-Levenshtein distance: two swapped neighbours are one edit.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) edits[i][0] = i;
  std::iota(edits[0].begin(), edits[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  }
  return edits[a.size()][b.size()];
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) { return parse_whole<std::int64_t>(text); }
std::optional<double> parse_number(std::string_view text) { return parse_whole<double>(text); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string to_hex(const void* data, std::size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    const unsigned byte = static_cast<const unsigned char*>(data)[i];
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string shortest(double value) {
  constexpr double kExact = 0x1p53;
  if (std::abs(value) < kExact && std::trunc(value) == value) return std::to_string(static_cast<std::int64_t>(value));
  std::array<char, 64> buffer{};
  const auto [end, status] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return status == std::errc() ? std::string(buffer.data(), end) : std::string("?");
}

std::string fixed(double value, int digits) {
  std::array<char, 64> buffer{};
  const auto [end, status] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits);
  return status == std::errc() ? std::string(buffer.data(), end) : std::string("?");
}

std::string human_bytes(double bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return cat(fixed(bytes, unit == 0 ? 0 : 2), " ", kUnits[unit]);
}

std::string closest(std::string_view word, const std::vector<std::string>& names) {
  std::string best;
  std::size_t least = 1 + (word.size() <= 2 ? 1 : std::max<std::size_t>(2, word.size() / 3));
  for (const std::string& name : names) {
    const std::size_t edits = distance(word, name);
    if (edits < least) least = edits, best = name;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::string close = closest(word, names);
  return close.empty() ? "" : cat(" Did you mean ", close, "?");
}

namespace {

// Includes C1 in UTF-8: U+0080 to U+009F.
std::string without_controls(std::string_view text, std::string_view but) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if ((byte >= 0x20 && byte != 0x7f && !c1) || but.find(text[i]) != std::string_view::npos) {
      out += text[i];
    } else {
      out += cat("\\x", to_hex(&text[i], 1));
    }
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return without_controls(text, ""); }
std::string printable_lines(std::string_view text) { return without_controls(text, "\n\t"); }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string meant_by(std::string_view text, std::span<const Alias> aliases) {
  std::string small = lower(text);
  for (const Alias& alias : aliases) {
    if (small == alias.typed) return std::string(alias.meant);
  }
  return small;
}

}  // namespace quern
