// Points of a tuning space as text, and whether they are legal.
#ifndef QUERN_PLAN_CONFIG_H_
#define QUERN_PLAN_CONFIG_H_

#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "quern/family.h"

namespace quern {

// "threads=256 vector=16".
std::string config_text(const Family& family, const Config& config);

// `base` with the changes of "threads=128,unroll=2". Throws Error (bad_input) for an unknown parameter, a value that is
// not in its list, or a constraint that does not hold, with the constraint's sentence.
Config parse_config(const Family& family, std::string_view changes, const Config& base, const void* problem,
                    const Target& target);

// The sentence of the first constraint that does not hold, or "".
std::string violated(const Family& family, const Config& config, const void* problem, const Target& target);

// Every legal config, in canonical order (the last parameter varies fastest).
std::vector<Config> legal_configs(const Family& family, const void* problem, const Target& target);

}  // namespace quern

#endif  // QUERN_PLAN_CONFIG_H_
