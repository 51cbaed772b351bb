// Whether a compile that failed would fail again: only what the compiler says of the source is worth remembering.
#ifndef QUERN_COMPILER_VERDICT_H_
#define QUERN_COMPILER_VERDICT_H_

#include <string_view>

#include "compiler/source.h"

namespace quern {

// How a compiler reports an error in a source: the file's name, `after_name`, and `says` somewhere in the line.
struct ErrorForm {
  std::string_view after_name;
  std::string_view says;
  std::string_view unless;  // not if the line holds this: the compiler itself could not go on
};
inline constexpr ErrorForm kNvrtcErrors = {"(", "): error", "): catastrophic error"};
inline constexpr ErrorForm kGccErrors = {":", " error: ", " fatal error: "};

// Whether a line of `output` names a file of the unit and an error in it. Lack of memory, a full disk and a compiler
// that was killed name none, or say that they could not go on.
bool blames_source(const Unit& unit, std::string_view output, const ErrorForm& form);

}  // namespace quern

#endif  // QUERN_COMPILER_VERDICT_H_
