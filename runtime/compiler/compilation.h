// The input and the output of a compile: a translation unit and an image.
#ifndef QUERN_COMPILER_COMPILATION_H_
#define QUERN_COMPILER_COMPILATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "quern/plan.h"

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

struct Image {
  std::string kernel;  // entry point
  std::string cubin;   // a shared object for the host; empty if the compiler does not know the architecture, and the
                       // driver compiles the PTX
  std::string ptx;
  std::string log;
  Resources resources;
  std::string identity;              // of the compiler that made it; see Compiler::identity
  std::string compiler;              // readable: "nvrtc 13.0"
  std::uint64_t compiler_order = 0;  // newer releases have larger numbers; 0: unknown
  double compile_ms = 0;
};

}  // namespace quern

#endif  // QUERN_COMPILER_COMPILATION_H_
