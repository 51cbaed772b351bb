#include "records/written_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <type_traits>

#include "base/text.h"
#include "records/record_members.h"

namespace quern {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '\\'; }

// Consumes a text from its start. Once a piece was not found, every answer is false.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool at_end() const { return good_ && rest_.empty(); }

  bool take(std::string_view piece) {
    good_ = good_ && rest_.starts_with(piece);
    if (good_) rest_.remove_prefix(piece.size());
    return good_;
  }

  void value(std::string& text) {
    if (!take("\"")) return;
    const std::string_view inner = rest_.substr(0, rest_.find('"'));
    good_ = inner.size() < rest_.size() && std::all_of(inner.begin(), inner.end(), is_plain);
    if (!good_) return;
    text = inner;
    rest_.remove_prefix(inner.size() + 1);
  }

  // Takes those JSON forms of a non-negative number that from_chars reads as the same value.
  template <class Number>
  void number(Number& number) {
    const auto end = std::find_if(rest_.begin(), rest_.end(), [](char c) { return c == ',' || c == '}'; });
    const std::string_view text = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    good_ = good_ && is_number(text);
    if (!good_) return;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    good_ = error == std::errc() && stop == text.data() + text.size();
    rest_.remove_prefix(text.size());
  }

  void value(ClockRates& clocks) {
    take("{");
    members_of(clocks);
    take("}");
  }

  void value(std::vector<Rival>& rivals) {
    take("[");
    while (good_ && !rest_.starts_with(']')) {
      take(rivals.empty() ? "{" : ",{");
      members_of(rivals.emplace_back());
      take("}");
    }
    take("]");
  }

  // All members of an object. `before` precedes the first, a comma every other.
  template <class Object>
  void members_of(Object& object, std::string_view before = "") {
    each_member(object, [&](auto member, auto& value) {
      if (take(before) && take("\"") && take(member.name) && take("\":")) read(value);
      before = ",";
    });
  }

 private:
  template <class T>
  void read(T& member) {
    if constexpr (std::is_arithmetic_v<T>) {
      number(member);
    } else {
      value(member);
    }
  }

  static bool is_number(std::string_view text) {
    if (text.empty() || !is_digit(text.front()) || !is_digit(text.back())) return false;
    const bool zero_first = text.size() > 1 && text[0] == '0' && is_digit(text[1]);
    const std::size_t point = text.find('.');
    return !zero_first && (point == std::string_view::npos || is_digit(text[point + 1]));
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

bool read_written_line(std::string_view text, Record& record) {
  Reader reader(text);
  reader.take(cat("{\"quern_record\":", kRecordSchema));
  reader.members_of(record, ",");
  return reader.at_end();
}

}  // namespace quern
