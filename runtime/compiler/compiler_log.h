// Parses a compiler's output: the resources that ptxas reports, and whether an error is in the source.
#ifndef QUERN_COMPILER_COMPILER_LOG_H_
#define QUERN_COMPILER_COMPILER_LOG_H_

#include <string>
#include <string_view>

#include "compiler/compilation.h"

namespace quern {

// Parses registers, memory and spills from ptxas' report in a log.
Resources parse_resources(const std::string& log);

// The form of a compiler's error in a source: the file's name, `after_name`, and `says` somewhere in the line.
struct ErrorForm {
  std::string_view after_name;
  std::string_view says;
  std::string_view unless;  // excludes lines with this: the compiler itself could not continue
};
inline constexpr ErrorForm kNvrtcErrors = {"(", "): error", "): catastrophic error"};
inline constexpr ErrorForm kGccErrors = {":", " error: ", " fatal error: "};

// Whether a line of `output` names a file of the unit and an error in it: the compile would then fail again, and the
// failure is worth remembering. Lack of memory, a full disk and a killed compiler name none, or say that they could not
// continue.
bool blames_source(const Unit& unit, std::string_view output, const ErrorForm& form);

}  // namespace quern

#endif  // QUERN_COMPILER_COMPILER_LOG_H_
