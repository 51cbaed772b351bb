#include "hostdriver/api/faults.h"

#include <algorithm>

#include "base/text.h"
#include "hostdriver/api/entry_points.h"
#include "hostdriver/exec/report.h"

namespace quern::host {
namespace {

[[noreturn]] void wrong(const std::string& words) {
  refuse(CUDA_ERROR_INVALID_VALUE, cat("fault: ", words,
                                       "; expected \"fail CALL nth=N code=C\", \"delay CALL nth=N us=U\", \"kill "
                                       "kernel nth=N\", \"lose device=D\" or \"clear\""));
}

std::vector<std::string_view> words_of(const std::string& text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' '))
    if (!word.empty()) words.push_back(word);
  return words;
}

// Removes "key=N" from `words` and returns N; `otherwise` if it is missing.
std::int64_t take(std::vector<std::string_view>& words, const std::string& key, std::int64_t otherwise) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](std::string_view word) { return word.substr(0, key.size() + 1) == key + "="; });
  if (found == words.end()) return otherwise;
  const auto number = parse_integer(found->substr(key.size() + 1));
  if (!number || *number < 0 || *number > 1'000'000'000) wrong(cat(*found, " is not a number"));
  words.erase(found);
  return *number;
}

Fault::Kind kind_of(std::string_view word) {
  if (word == "fail") return Fault::Kind::fail;
  if (word == "delay") return Fault::Kind::delay;
  if (word == "kill") return Fault::Kind::kill;
  if (word == "lose") return Fault::Kind::lose;
  if (word == "clear") return Fault::Kind::clear;
  wrong(cat("unknown fault \"", word, "\""));
}

// Removes the call's name, which is right after the kind.
std::string take_call(std::vector<std::string_view>& words) {
  if (words.empty()) wrong("the name of a call is missing");
  std::string name(words.front());
  if (find_entry_point(name) == nullptr) wrong(cat("this driver lacks ", name));
  words.erase(words.begin());
  return name;
}

void take_details(Fault& fault, std::vector<std::string_view>& words) {
  if (fault.kind == Fault::Kind::fail || fault.kind == Fault::Kind::delay) fault.call = take_call(words);
  if (fault.kind == Fault::Kind::fail) {
    fault.code = static_cast<CUresult>(take(words, "code", CUDA_ERROR_UNKNOWN));
    if (fault.code == CUDA_SUCCESS) wrong("code=0 is not a failure");
  }
  if (fault.kind == Fault::Kind::delay) fault.delay = std::chrono::microseconds(take(words, "us", 1000));
  if (fault.kind == Fault::Kind::lose) fault.device = static_cast<int>(take(words, "device", 0));
  if (fault.kind == Fault::Kind::kill) {
    if (words.empty() || words.front() != "kernel") wrong("only a kernel can be killed");
    words.erase(words.begin());
  }
}

}  // namespace

Fault parse_fault(const std::string& text) {
  std::vector<std::string_view> words = words_of(text);
  if (words.empty()) wrong("an empty text");
  Fault fault;
  fault.kind = kind_of(words.front());
  words.erase(words.begin());
  take_details(fault, words);
  if (fault.kind != Fault::Kind::lose && fault.kind != Fault::Kind::clear) fault.nth = take(words, "nth", 1);
  if (fault.nth < 1) wrong("nth counts from 1");
  if (!words.empty()) wrong(cat("\"", words.front(), "\" is not expected here"));
  return fault;
}

void Faults::add(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

void Faults::clear() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

Faults::WarpCollective Faults::enter(const char* call) {
  const std::lock_guard lock(mutex_);
  const auto counter = calls_.find(std::string_view(call));
  if (counter == calls_.end())
    calls_.emplace(call, 1);
  else
    ++counter->second;
  WarpCollective collective;
  std::erase_if(faults_, [&](Fault& fault) {
    if (fault.kind == Fault::Kind::kill || fault.call != call || --fault.nth > 0) return false;
    if (fault.kind == Fault::Kind::fail) collective.code = fault.code;
    collective.delay += fault.delay;
    return true;
  });
  return collective;
}

bool Faults::enter_kernel() {
  const std::lock_guard lock(mutex_);
  ++calls_["kernel"];
  return std::erase_if(faults_, [](Fault& f) { return f.kind == Fault::Kind::kill && --f.nth <= 0; }) > 0;
}

std::uint64_t Faults::calls(const std::string& call) const {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

Faults& faults() {
  static auto* const all = new Faults;
  return *all;
}

}  // namespace quern::host
