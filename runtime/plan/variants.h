// The variants that a family gives a problem: a pure function of the family, the problem, the target and the model.
#ifndef QUERN_PLAN_VARIANTS_H_
#define QUERN_PLAN_VARIANTS_H_

#include <string_view>
#include <vector>

#include "quern/family.h"

namespace quern {

// With `config`, changes to the default, applied to the most wanted one, which is the first. Throws Error (bad_input)
// for a config that is not legal.
std::vector<Variant> variants_of(const Family& family, const void* problem, const Target& target,
                                 const DeviceModel& model, std::string_view config);

}  // namespace quern

#endif  // QUERN_PLAN_VARIANTS_H_
