// What a compile gives.
#ifndef QUERN_COMPILER_IMAGE_H_
#define QUERN_COMPILER_IMAGE_H_

#include <string>

#include "quern/plan.h"

namespace quern {

struct Image {
  std::string kernel;  // entry point
  std::string cubin;   // empty where the compiler does not know the architecture: the driver finishes the PTX
  std::string ptx;
  std::string log;
  Resources resources;
  double compile_ms = 0;
};

}  // namespace quern

#endif  // QUERN_COMPILER_IMAGE_H_
