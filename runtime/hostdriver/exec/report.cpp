#include "hostdriver/exec/report.h"

#include <mutex>

namespace quern::host {
namespace {

// Never destroyed: streams' threads report while the process exits.
struct Words {
  std::mutex mutex;
  std::string last;
};

Words& words_of_all() {
  static auto* const words = new Words;
  return *words;
}

}  // namespace

void report(std::string words) {
  const std::lock_guard lock(words_of_all().mutex);
  words_of_all().last = std::move(words);
}

std::string last_report() {
  const std::lock_guard lock(words_of_all().mutex);
  return words_of_all().last;
}

void refuse(CUresult code, std::string words) { throw Refusal{code, std::move(words)}; }

}  // namespace quern::host
