// What a compiler reads.
#ifndef QUERN_COMPILER_SOURCE_H_
#define QUERN_COMPILER_SOURCE_H_

#include <string>
#include <vector>

namespace quern {

// A file of the unit, by the name that diagnostics will show.
struct SourceText {
  std::string name;
  std::string text;
};

// Everything that the compiler reads.
struct Unit {
  SourceText main;
  std::vector<SourceText> headers;
  std::vector<std::string> prelude = {};  // the headers that come before `main`, which does not include them
};

}  // namespace quern

#endif  // QUERN_COMPILER_SOURCE_H_
