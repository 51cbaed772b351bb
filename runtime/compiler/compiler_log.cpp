#include "compiler/compiler_log.h"

#include <algorithm>

#include "base/text.h"

namespace quern {
namespace {

// The number right before `words`: "Used 32 registers" -> 32.
int number_before(std::string_view log, std::string_view words) {
  const std::size_t at = log.find(words);
  if (at == std::string_view::npos) return 0;
  const std::size_t start = log.find_last_not_of("0123456789", at - 1);
  return static_cast<int>(parse_integer(log.substr(start + 1, at - start - 1)).value_or(0));
}

bool blames(const SourceText& file, std::string_view line, const ErrorForm& form) {
  return line.starts_with(cat(file.name, form.after_name)) && line.find(form.says) != std::string_view::npos &&
         line.find(form.unless) == std::string_view::npos;
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

bool blames_source(const Unit& unit, std::string_view output, const ErrorForm& form) {
  const auto lines = split(output, '\n');
  return std::any_of(lines.begin(), lines.end(), [&](std::string_view line) {
    return blames(unit.main, line, form) ||
           std::any_of(unit.headers.begin(), unit.headers.end(),
                       [&](const SourceText& header) { return blames(header, line, form); });
  });
}

}  // namespace quern
