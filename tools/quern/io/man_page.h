// The man page, made of what commands declare.
#ifndef QUERN_TOOLS_IO_MAN_PAGE_H_
#define QUERN_TOOLS_IO_MAN_PAGE_H_

#include <string>

#include "io/arguments.h"

namespace quern::tool {

// quern(1), in man macros.
std::string man_page(const Arguments& root);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_MAN_PAGE_H_
