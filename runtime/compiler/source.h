// The input of a compiler.
#ifndef QUERN_COMPILER_SOURCE_H_
#define QUERN_COMPILER_SOURCE_H_

#include <string>
#include <vector>

namespace quern {

// A file of the unit, by its name in diagnostics.
struct SourceText {
  std::string name;
  std::string text;
};

// A translation unit.
struct Unit {
  SourceText main;
  std::vector<SourceText> headers;
  std::vector<std::string> prelude = {};  // headers that precede `main`, which does not include them
};

}  // namespace quern

#endif  // QUERN_COMPILER_SOURCE_H_
