#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cache/key.h"
#include "fuzz/targets.h"

namespace quern::fuzz {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string text_of(const Fields& fields) {
  cache::KeyText text;
  for (const auto& [label, value] : fields) text.field(label, value);
  return text.text();
}

bool starts_with(const Fields& fields, const Fields& start) {
  return fields.size() >= start.size() && std::equal(start.begin(), start.end(), fields.begin());
}

// The text of the parsed fields is the start of the input, except for leading zeros of a length.
void check_reading(std::string_view bytes) {
  const Fields fields = cache::parse_key_text(bytes);
  const std::string text = text_of(fields);
  require(text.size() <= bytes.size(), "the fields that are found take no more room than the text");
  require(cache::parse_key_text(text) == fields, "what is read is written so that it reads the same");
  const bool no_zeros = text == bytes.substr(0, text.size());
  require(no_zeros || bytes.find('0') != std::string_view::npos, "a length without leading zeros has one encoding");
}

// Labels and values of arbitrary bytes; the first byte is their length.
Fields fields_of(std::string_view bytes) {
  Fields fields;
  const std::size_t step = bytes.empty() ? 1 : 1 + static_cast<unsigned char>(bytes.front()) % 32;
  for (std::size_t at = 1; at < bytes.size(); at += 2 * step) {
    const std::size_t middle = std::min(at + step, bytes.size());
    fields.emplace_back(bytes.substr(at, step), bytes.substr(middle, step));
  }
  return fields;
}

// No value can imitate a field, wherever the text is truncated and whatever follows.
void check_writing(std::string_view bytes) {
  const Fields fields = fields_of(bytes);
  const std::string text = text_of(fields);
  require(cache::parse_key_text(text) == fields, "every field that is written is read");
  require(starts_with(cache::parse_key_text(cat(text, bytes)), fields), "what follows changes no field");
  const std::string cut = text.substr(0, bytes.size() % (text.size() + 1));
  require(starts_with(fields, cache::parse_key_text(cut)), "a truncated text keeps its first fields");
}

}  // namespace

void key_text(std::string_view bytes) {
  check_reading(bytes);
  check_writing(bytes);
}

}  // namespace quern::fuzz
