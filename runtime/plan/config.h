// Points of a step's tuning space as text, and the check that they are legal.
#ifndef QUERN_PLAN_CONFIG_H_
#define QUERN_PLAN_CONFIG_H_

#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "quern/family.h"

namespace quern {

// "threads=256 vector=16": the parameters that apply. If the step has a name, each is prefixed with it:
// "scatter.threads=256".
std::string config_text(const Step& step, const void* problem, const Config& config);

// The changes of "threads=128,unroll=2", or of a config as config_text prints it.
std::vector<std::string_view> changes_in(std::string_view config);

// `base` with these changes, normalized. For a step with a name only the changes with its prefix apply; the others
// belong to other steps. Throws Error (bad_input) for an unknown parameter, a value that is not in its list, a
// parameter that does not apply, or a constraint that does not hold, with the constraint's sentence.
Config parse_config(const Step& step, std::string_view changes, const Config& base, const void* problem,
                    const Target& target);

// The sentence of the first constraint that does not hold, or "".
std::string violated(const Step& step, const Config& config, const void* problem, const Target& target);

// Every legal config, normalized, in canonical order (the last parameter varies fastest).
std::vector<Config> legal_configs(const Step& step, const void* problem, const Target& target);

}  // namespace quern

#endif  // QUERN_PLAN_CONFIG_H_
