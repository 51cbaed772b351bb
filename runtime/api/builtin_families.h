// The families that ship with the library, in the order of templates/CMakeLists.txt, which generates the list.
#ifndef QUERN_API_BUILTIN_FAMILIES_H_
#define QUERN_API_BUILTIN_FAMILIES_H_

#include <vector>

#include "quern/family.h"

namespace quern {

std::vector<const Family*> builtin_families();

}  // namespace quern

#endif  // QUERN_API_BUILTIN_FAMILIES_H_
