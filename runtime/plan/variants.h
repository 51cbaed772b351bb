// The steps of a problem's plan, their variants and the parameters of the variants: pure functions of the family, the
// problem, the target and the model.
#ifndef QUERN_PLAN_VARIANTS_H_
#define QUERN_PLAN_VARIANTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "quern/family.h"

namespace quern {

// The steps that a problem needs, in execution order. Throws Error (bad_input) if it needs none.
std::vector<const Step*> steps_of(const Family& family, const void* problem);
// The step of the first parameter in a config's text, "scatter.threads=256"; null if no step has that name.
const Step* step_of_config(const Family& family, std::string_view config);
// "quern_gather", "quern_embedding_scatter": the kernel's name in profilers.
std::string kernel_name(const Family& family, const Step& step);

// Whether a change, or a part of config_text, belongs to this step.
bool is_of_step(const Step& step, std::string_view change);
// "scatter.threads" -> "threads". REQUIRES: the name belongs to this step.
std::string_view without_step(const Step& step, std::string_view name);

// Whether a parameter applies to the problem, given the parameters before it.
bool applies(const Parameter& parameter, const void* problem, const Config& config);
// The config with `otherwise` for each parameter that does not apply. Afterwards configs with the same text are equal.
Config normalized(const Step& step, const void* problem, Config config);

// The variants of one step, their configs normalized. `config`: changes to the default, applied to the first
// (preferred) variant. Throws Error (bad_input) for a config that is not legal, or that names no step of the family.
std::vector<Variant> variants_of(const Family& family, const Step& step, const void* problem, const Target& target,
                                 const DeviceModel& model, std::string_view config);

// The variants up to the first that takes every launch of `problem` whose operands are aligned to `alignment`: no such
// launch takes a later one. REQUIRES: variants of that problem, in order of preference.
std::vector<Variant> up_to_always_taken(const Family& family, const Step& step, const void* problem,
                                        std::vector<Variant> variants, std::uint32_t alignment);

// The largest alignment that a config requires of an operand.
std::uint32_t largest_alignment(const Family& family, const Step& step, const void* problem, const Config& config);
// Whether two configs require the same alignment of every operand.
bool align_alike(const Family& family, const Step& step, const void* problem, const Config& a, const Config& b);
// The model's default on a device, by the driver's name, and for a target, "sm_90a". Throws Error for an unknown
// target.
Config default_on(const Family& family, const Step& step, const void* problem, std::string_view target,
                  const std::string& device);

}  // namespace quern

#endif  // QUERN_PLAN_VARIANTS_H_
