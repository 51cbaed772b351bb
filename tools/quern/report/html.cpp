#include "report/html.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/text.h"

namespace quern::tool::report {
namespace {

constexpr const char* kSpace = "\u00a0";
constexpr const char* kMinus = "\u2212";

const char* entity(char byte) {
  switch (byte) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return nullptr;
  }
}

bool is_control(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return (value < 32 && byte != '\n' && byte != '\t') || value == 127;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (const char byte : text) {
    if (const char* name = entity(byte)) {
      out += name;
    } else if (is_control(byte)) {
      out += "\ufffd";
    } else {
      out += byte;
    }
  }
  return out;
}

std::string script_string(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < 32 || value == 127 || std::string_view("<>&\"\\'").find(byte) != std::string_view::npos) {
      out += cat("\\u00", kDigits[value >> 4], kDigits[value & 15]);
    } else {
      out += byte;
    }
  }
  return out + '"';
}

std::string element(std::string_view name, std::string_view attributes, std::string_view body) {
  return cat("<", name, attributes.empty() ? "" : " ", attributes, ">", body, "</", name, ">");
}

std::string text_element(std::string_view name, std::string_view attributes, std::string_view text) {
  return element(name, attributes, escape(text));
}

std::string heading(std::string_view text) { return text_element("h3", "", text); }

std::string number_text(double value, int digits) {
  const std::string text = fixed(std::abs(value), digits);
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return value < 0 && !zero ? cat(kMinus, text) : text;
}

std::string count_text(std::int64_t value) {
  std::string text = std::to_string(value);
  if (value < 0) text.erase(0, 1);
  for (std::size_t at = text.size(); at > 3 && text.size() > 4;) text.insert(at -= 3, "\u202f");
  return value < 0 ? cat(kMinus, text) : text;
}

std::string count_of(std::int64_t value, std::string_view noun) {
  return cat(count_text(value), kSpace, noun, value == 1 ? "" : "s");
}

int us_digits(double us) {
  if (!(us > 0)) return 0;
  return std::clamp(3 - static_cast<int>(std::floor(std::log10(us))), 0, 4);
}

std::string us_text(double us) { return us > 0 ? fixed(us, us_digits(us)) : std::string(kDash); }

std::string signed_percent(double percent) {
  const std::string text = percent_text(percent, 1);
  const bool zero = fixed(std::abs(percent), 1) == "0.0";
  return zero || percent < 0 ? text : cat("+", text);
}

std::string percent_text(double percent, int digits) { return cat(number_text(percent, digits), kSpace, "%"); }

std::string seconds_text(double seconds) {
  if (seconds < 120) return cat(fixed(seconds, seconds < 10 ? 2 : 1), kSpace, "s");
  const std::int64_t whole = std::llround(std::min(seconds, 1e15));
  if (whole < 7200) return cat(whole / 60, kSpace, "min", kSpace, whole % 60, kSpace, "s");
  return cat(whole / 3600, kSpace, "h", kSpace, whole / 60 % 60, kSpace, "min");
}

std::string date_text(std::int64_t unix_ns) {
  if (unix_ns == 0) return std::string(kDash);
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  if (gmtime_r(&seconds, &utc) == nullptr) return std::string(kDash);
  char text[48];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &utc)};
}

std::string cell(std::string_view style, std::string_view text) {
  return text_element("td", style.empty() ? "" : cat("class=\"", style, "\""), text);
}

std::string number_cell(std::string_view text) { return cell("n", text); }

std::string head_cell(std::string_view style, std::string_view name, std::string_view unit) {
  const std::string below = unit.empty() ? "" : cat(" ", text_element("span", "class=\"unit\"", unit));
  return element("th", cat("scope=\"col\"", style.empty() ? "" : cat(" class=\"", style, "\"")),
                 cat(escape(name), below));
}

std::string table(const std::string& head, const std::string& rows) {
  const std::string body = cat(element("thead", "", element("tr", "", head)), element("tbody", "", rows));
  return element("div", "class=\"scroll\"", element("table", "", body));
}

}  // namespace quern::tool::report
