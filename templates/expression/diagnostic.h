// What is wrong with a text, and where.
#ifndef QUERN_EXPRESSION_DIAGNOSTIC_H_
#define QUERN_EXPRESSION_DIAGNOSTIC_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace quern::expression {

struct Diagnostic {
  std::string message;
  int line = 0;      // from 1; 0: the message is about no place
  int column = 0;    // from 1, in bytes
  std::string part;  // of that line; what is not printable ASCII is '?'
  int caret = 0;     // the place in `part`

  // "2:11: message", the part and the caret under the place.
  std::string text() const;
};

// About the byte `at` of the text, or its end.
Diagnostic diagnostic_at(std::string_view text, std::size_t at, std::string message);

// What the parser throws to itself.
struct Refused {
  std::size_t at;
  std::string message;
};

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_DIAGNOSTIC_H_
