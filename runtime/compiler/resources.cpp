#include <string_view>

#include "base/text.h"
#include "compiler/compiler.h"

namespace quern {
namespace {

// The number right before `words`: "Used 32 registers" -> 32.
int number_before(std::string_view log, std::string_view words) {
  const std::size_t at = log.find(words);
  if (at == std::string_view::npos) return 0;
  const std::size_t start = log.find_last_not_of("0123456789", at - 1);
  return static_cast<int>(parse_integer(log.substr(start + 1, at - start - 1)).value_or(0));
}

}  // namespace

Resources parse_resources(const std::string& log) {
  Resources resources;
  resources.registers = number_before(log, " registers");
  resources.shared_bytes = number_before(log, " bytes smem");
  resources.stack_bytes = number_before(log, " bytes stack frame");
  resources.spill_store_bytes = number_before(log, " bytes spill stores");
  resources.spill_load_bytes = number_before(log, " bytes spill loads");
  return resources;
}

}  // namespace quern
