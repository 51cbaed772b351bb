#include "plan/variants.h"

#include "base/text.h"
#include "plan/config.h"
#include "plan/problem.h"

namespace quern {

std::vector<Variant> variants_of(const Family& family, const void* problem, const Target& target,
                                 const DeviceModel& model, std::string_view config) {
  Variant variants[kMaxVariants];
  const int count = family.variants(problem, target, model, variants);
  if (count < 1 || count > kMaxVariants)
    throw problem_error(
        family, problem,
        cat("the family ", family.name, " gives ", count, " variants; a problem has 1 to ", kMaxVariants));
  if (!config.empty()) {
    variants[0].config = parse_config(family, config, variants[0].config, problem, target);
    variants[0].alignment = family.alignment(problem, variants[0].config);
  }
  return {variants, variants + count};
}

}  // namespace quern
