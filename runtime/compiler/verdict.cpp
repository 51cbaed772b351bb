#include "compiler/verdict.h"

#include <algorithm>

#include "base/text.h"

namespace quern {
namespace {

bool blames(const SourceText& file, std::string_view line, const ErrorForm& form) {
  return line.starts_with(cat(file.name, form.after_name)) && line.find(form.says) != std::string_view::npos &&
         line.find(form.unless) == std::string_view::npos;
}

}  // namespace

bool blames_source(const Unit& unit, std::string_view output, const ErrorForm& form) {
  const auto lines = split(output, '\n');
  return std::any_of(lines.begin(), lines.end(), [&](std::string_view line) {
    return blames(unit.main, line, form) ||
           std::any_of(unit.headers.begin(), unit.headers.end(),
                       [&](const SourceText& header) { return blames(header, line, form); });
  });
}

}  // namespace quern
