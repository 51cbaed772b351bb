// Pieces of HTML and SVG as text. What takes a text escapes it; what takes a body does not.
#ifndef QUERN_TOOLS_REPORT_HTML_H_
#define QUERN_TOOLS_REPORT_HTML_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::tool::report {

// For element contents and for values between double quotes. Bytes that no HTML may hold become U+FFFD.
std::string escape(std::string_view text);
// For a string literal inside a script element, with its quotes.
std::string script_string(std::string_view text);

// <name attributes>body</name>; `attributes` and `body` are HTML already.
std::string element(std::string_view name, std::string_view attributes, std::string_view body);
std::string text_element(std::string_view name, std::string_view attributes, std::string_view text);

// Numbers as people read them: a minus sign that is one, and a space that does not break before the unit.
std::string number_text(double value, int digits);
std::string count_text(std::int64_t value);  // "20 000"
// "1 config", "20 configs": with an s for more than one.
std::string count_of(std::int64_t value, std::string_view noun);
std::string us_text(double us);              // four significant digits: "35.12", "0.812"
int us_digits(double us);                    // how many are behind the point of those
std::string signed_percent(double percent);  // "+0.5 %", "−0.5 %"
std::string percent_text(double percent, int digits);
std::string seconds_text(double seconds);     // "14.2 s", "3 min 20 s"
std::string date_text(std::int64_t unix_ns);  // "2026-02-01 12:30 UTC"

inline constexpr std::string_view kDash = "\u2013";

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_HTML_H_
