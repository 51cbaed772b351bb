// Small text helpers: joining, splitting, numbers and hexadecimal. None depends on the locale.
#ifndef QUERN_BASE_TEXT_H_
#define QUERN_BASE_TEXT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quern {

// cat("width=", 3, " bytes") == "width=3 bytes".
inline void append_to(std::string& out, std::string_view part) { out += part; }
inline void append_to(std::string& out, const char* part) { out += part; }
inline void append_to(std::string& out, char part) { out += part; }
template <class T>
requires std::is_arithmetic_v<T>
void append_to(std::string& out, T part) { out += std::to_string(part); }
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append_to(out, parts), ...);
  return out;
}

// Parse the whole string: nothing may follow the number.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

// Splits at each separator. An empty text has no parts, and a trailing separator adds none.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trim(std::string_view text);

// Lower-case hexadecimal, two digits a byte.
std::string to_hex(const void* data, std::size_t bytes);

// "1.50 MiB", "512 B".
std::string human_bytes(double bytes);
// A fixed number of digits after the decimal point.
// With the fewest digits that give this number again; whole numbers as integers are written.
std::string shortest(double value);
std::string fixed(double value, int digits);

// The name closest to `word`, for "did you mean"; empty if none is close.
std::string closest(std::string_view word, const std::vector<std::string>& names);
// " Did you mean sweep?", or nothing where no name is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

// Escapes control characters, as "\\x1b" for the byte: untrusted text must not control a terminal.
std::string printable(std::string_view text);
// The same for text of several lines: newlines and tabs stay.
std::string printable_lines(std::string_view text);

// ASCII letters in lower case.
std::string lower(std::string_view text);

// An alternative name, in lower case.
struct Alias {
  std::string_view typed;
  std::string_view meant;
};
// The meaning of `text`, ignoring case; the text in lower case if the table does not have it.
std::string meant_by(std::string_view text, std::span<const Alias> aliases);

}  // namespace quern

#endif  // QUERN_BASE_TEXT_H_
