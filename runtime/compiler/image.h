// The result of a compile.
#ifndef QUERN_COMPILER_IMAGE_H_
#define QUERN_COMPILER_IMAGE_H_

#include <cstdint>
#include <string>

#include "quern/plan.h"

namespace quern {

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

#endif  // QUERN_COMPILER_IMAGE_H_
