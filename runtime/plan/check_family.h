// Whether a family's descriptor is whole: what is an application's comes through here.
#ifndef QUERN_PLAN_CHECK_FAMILY_H_
#define QUERN_PLAN_CHECK_FAMILY_H_

#include "quern/family.h"

namespace quern {

// Throws Error (bad_input) that says what is wrong. make_family checks more of it, and earlier; this is for descriptors
// that were filled otherwise, or by a make_family of other headers.
void check_family(const Family& family);

}  // namespace quern

#endif  // QUERN_PLAN_CHECK_FAMILY_H_
