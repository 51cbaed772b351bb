// Whether a failed compile would fail again: only errors in the source are worth remembering.
#ifndef QUERN_COMPILER_VERDICT_H_
#define QUERN_COMPILER_VERDICT_H_

#include <string_view>

#include "compiler/source.h"

namespace quern {

// The form of a compiler's error in a source: the file's name, `after_name`, and `says` somewhere in the line.
struct ErrorForm {
  std::string_view after_name;
  std::string_view says;
  std::string_view unless;  // excludes lines with this: the compiler itself could not continue
};
inline constexpr ErrorForm kNvrtcErrors = {"(", "): error", "): catastrophic error"};
inline constexpr ErrorForm kGccErrors = {":", " error: ", " fatal error: "};

// Whether a line of `output` names a file of the unit and an error in it. Lack of memory, a full disk and a killed
// compiler name none, or say that they could not continue.
bool blames_source(const Unit& unit, std::string_view output, const ErrorForm& form);

}  // namespace quern

#endif  // QUERN_COMPILER_VERDICT_H_
