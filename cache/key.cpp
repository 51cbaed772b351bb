#include "cache/key.h"

#include <charconv>
#include <optional>

#include "base/text.h"

namespace quern::cache {
namespace {

void append_string(std::string& out, std::string_view value) {
  append_to(out, value.size());
  out += ':';
  out += value;
}

// Removes "LENGTH:BYTES" and its terminator from the front.
std::optional<std::string_view> take_string(std::string_view& text, char end) {
  std::size_t size = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (status != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  if (text.empty() || text[0] != ':' || text.size() - 1 <= size || text[size + 1] != end) return std::nullopt;
  const std::string_view value = text.substr(1, size);
  text.remove_prefix(size + 2);
  return value;
}

}  // namespace

KeyText& KeyText::field(std::string_view label, std::string_view value) {
  append_string(text_, label);
  text_ += '=';
  append_string(text_, value);
  text_ += '\n';
  return *this;
}

std::string Key::path() const { return cat(what_hash.hex(), "/", who_hash.hex()); }

Key make_key(std::string_view what, std::string who, HashFunction hash) {
  Key key;
  key.what = cat(KeyText().field("schema", std::to_string(kKeySchema)).text(), what);
  key.who = std::move(who);
  key.what_hash = hash(key.what);
  key.who_hash = hash(key.who);
  return key;
}

std::vector<std::pair<std::string, std::string>> parse_key_text(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!text.empty()) {
    const auto label = take_string(text, '=');
    if (!label) break;
    const auto value = take_string(text, '\n');
    if (!value) break;
    fields.emplace_back(*label, *value);
  }
  return fields;
}

}  // namespace quern::cache
