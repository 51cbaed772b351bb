// HTML and SVG fragments as text. A parameter `text` is escaped; a parameter `body` is not.
#ifndef QUERN_TOOLS_REPORT_HTML_H_
#define QUERN_TOOLS_REPORT_HTML_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::tool::report {

// For element contents and for values between double quotes. Bytes that are invalid in HTML become U+FFFD.
std::string escape(std::string_view text);
// For a string literal inside a script element, with its quotes.
std::string script_string(std::string_view text);

// <name attributes>body</name>; `attributes` and `body` are already HTML.
std::string element(std::string_view name, std::string_view attributes, std::string_view body);
std::string text_element(std::string_view name, std::string_view attributes, std::string_view text);
std::string heading(std::string_view text);  // of a part of a section

// Numbers for people: with a real minus sign, and a no-break space before the unit.
std::string number_text(double value, int digits);
std::string count_text(std::int64_t value);  // "20 000"
// "1 config", "20 configs": plural s unless it is 1.
std::string count_of(std::int64_t value, std::string_view noun);
std::string us_text(double us);              // four significant digits: "35.12", "0.812"
int us_digits(double us);                    // its digits after the decimal point
std::string signed_percent(double percent);  // "+0.5 %", "−0.5 %"
std::string percent_text(double percent, int digits);
std::string seconds_text(double seconds);     // "14.2 s", "3 min 20 s"
std::string date_text(std::int64_t unix_ns);  // "2026-02-01 12:30 UTC"

inline constexpr std::string_view kDash = "\u2013";

// Cells and tables; texts are escaped.
std::string cell(std::string_view style, std::string_view text);
std::string number_cell(std::string_view text);
std::string head_cell(std::string_view style, std::string_view name, std::string_view unit = "");
// In a box of its own, so that a wide table scrolls there, not the page. `head` and `rows` are HTML.
std::string table(const std::string& head, const std::string& rows);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_HTML_H_
