// Declarations of arguments by commands.
#include <algorithm>

#include "base/text.h"
#include "io/arguments.h"
#include "io/value_kinds.h"

namespace quern::tool {
namespace {

std::string range_text(Range range) {
  return range.most == kNoLimit ? cat("a number of at least ", range.least) : cat(range.least, " to ", range.most);
}

int parse_in_range(std::string_view name, const std::string& text, Range range) {
  const auto number = parse_integer(text);
  if (!number) throw wrong(cat(name, " ", text, " is not a number; it takes ", range_text(range)));
  if (*number >= range.least && *number <= range.most) return static_cast<int>(*number);
  throw wrong(cat(name, " ", text, " is out of range; it takes ", range_text(range)));
}

// If the placeholder has a fixed set of values: throws Error (bad_input) for any other value.
void check_kind(std::string_view name, std::string_view placeholder, const std::string& text) {
  const ValueKind* const kind = find_value_kind(placeholder);
  if (kind == nullptr || !kind->closed) return;
  const std::vector<std::string> accepted = kind->words();
  if (std::find(accepted.begin(), accepted.end(), text) != accepted.end()) return;
  throw wrong(cat(name, " ", text, " is invalid; it takes ", join(accepted, ", "), ".", did_you_mean(text, accepted)));
}

// The minimum number of words of a form: those outside brackets.
std::size_t least_words(std::string_view form) {
  std::size_t words = 0;
  int depth = 0;
  for (const std::string_view word : split(form, ' ')) {
    words += depth == 0 && word.front() != '[' ? 1 : 0;
    depth += static_cast<int>(std::count(word.begin(), word.end(), '['));
    depth -= static_cast<int>(std::count(word.begin(), word.end(), ']'));
  }
  return words;
}

bool takes_many(std::string_view form) { return form.find("...") != std::string_view::npos; }

}  // namespace

void Arguments::add(std::string_view form, const char* sentence, bool many,
                    std::function<void(const std::string&)> take) {
  const std::size_t space = std::min(form.find(' '), form.size());
  const std::string_view placeholder = form.substr(std::min(space + 1, form.size()));
  options_.push_back({std::string(form.substr(0, space)), std::string(placeholder), sentence, many, std::move(take)});
}

void Arguments::flag(const char* name, bool& value, const char* sentence) {
  add(name, sentence, false, [&value](const std::string&) { value = true; });
}

void Arguments::option(std::string_view form, std::string& value, const char* sentence) {
  add(form, sentence, false, [&value](const std::string& text) { value = text; });
}

void Arguments::option(std::string_view form, int& value, Range range, const char* sentence) {
  add(form, sentence, false, [name = std::string(form.substr(0, form.find(' '))), &value, range](const auto& text) {
    value = parse_in_range(name, text, range);
  });
  if (value >= range.least && value <= range.most) options_.back().sentence += cat("; default ", value);
}

void Arguments::option(std::string_view form, std::vector<std::string>& values, const char* sentence) {
  add(form, sentence, true, [&values](const std::string& text) { values.push_back(text); });
}

void Arguments::words(const char* form, std::vector<std::string>& values, const char* sentence) {
  words_form_ = form;
  words_sentence_ = sentence;
  words_ = &values;
}

Arguments& Arguments::action(const char* name, const char* sentence) { return actions_.emplace_back(name, sentence); }

const OptionRow* Arguments::find_option(std::string_view name) const {
  const auto found = std::find_if(options_.begin(), options_.end(), [&](const auto& row) { return row.name == name; });
  return found == options_.end() ? nullptr : &*found;
}

const Arguments* Arguments::find_action(std::string_view name) const {
  const auto found =
      std::find_if(actions_.begin(), actions_.end(), [&](const auto& each) { return each.name_ == name; });
  return found == actions_.end() ? nullptr : &*found;
}

void OptionRow::give(const std::string& text) const {
  check_kind(name, placeholder, text);
  take(text);
}

void Arguments::give_words(const std::string& path, const std::vector<std::string>& words) const {
  if (words_ == nullptr) return;
  if (words.size() < least_words(words_form_))
    throw wrong(cat(path, " takes ", words_form_,
                    examples_.empty() ? "" : cat(", as in `", examples_.front().line, "`"), "; see `", path,
                    " --help`"));
  if (const std::size_t most = split(words_form_, ' ').size(); words.size() > most && !takes_many(words_form_))
    throw wrong(cat(path, " does not take \"", words[most], "\"; it takes ", words_form_));
  *words_ = words;
}

}  // namespace quern::tool
