// Checks that a family's descriptor is complete. Every family that an application adds is checked here.
#ifndef QUERN_PLAN_CHECK_FAMILY_H_
#define QUERN_PLAN_CHECK_FAMILY_H_

#include "quern/family.h"

namespace quern {

// Throws Error (bad_input) with the reason. make_family checks more, and earlier; this is for descriptors that were
// filled in another way, or by a make_family of other headers.
void check_family(const Family& family);

}  // namespace quern

#endif  // QUERN_PLAN_CHECK_FAMILY_H_
