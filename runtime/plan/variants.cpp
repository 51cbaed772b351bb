#include "plan/variants.h"

#include <algorithm>

#include "base/text.h"
#include "driver/device.h"
#include "plan/config.h"
#include "plan/problem.h"

namespace quern {
namespace {

// parse_config takes the changes of one step; this refuses changes that belong to no step.
void require_known_steps(const Family& family, std::string_view config) {
  for (const std::string_view change : changes_in(config)) {
    if (step_of_config(family, change) != nullptr) continue;
    std::vector<std::string> known;
    for (const Step& step : family.steps) known.emplace_back(step.name);
    throw Error(Code::bad_input, Stage::problem,
                cat("\"", change, "\" is of no step of ", family.name, "; write STEP.PARAMETER=VALUE with one of ",
                    join(known, ", ")));
  }
}

}  // namespace

std::vector<const Step*> steps_of(const Family& family, const void* problem) {
  std::vector<const Step*> steps;
  for (const Step& step : family.steps) {
    if (step.needed == nullptr || step.needed(problem)) steps.push_back(&step);
  }
  if (steps.empty()) throw problem_error(family, problem, cat("the family ", family.name, " has no step for it"));
  return steps;
}

const Step* step_of_config(const Family& family, std::string_view config) {
  const auto takes = [&](const Step& step) { return is_of_step(step, trim(config)); };
  const Step* const found = std::find_if(family.steps.begin(), family.steps.end(), takes);
  return found == family.steps.end() ? nullptr : found;
}

std::string kernel_name(const Family& family, const Step& step) {
  return cat("quern_", family.name, *step.name == '\0' ? "" : "_", step.name);
}

bool is_of_step(const Step& step, std::string_view change) {
  const std::string_view name(step.name);
  if (name.empty()) return change.substr(0, change.find('=')).find('.') == std::string_view::npos;
  return change.starts_with(name) && change.substr(name.size()).starts_with('.');
}

std::string_view without_step(const Step& step, std::string_view name) {
  const std::size_t prefix = *step.name == '\0' ? 0 : std::string_view(step.name).size() + 1;
  return name.substr(std::min(prefix, name.size()));
}

bool applies(const Parameter& parameter, const void* problem, const Config& config) {
  return parameter.applies == nullptr || parameter.applies(problem, config);
}

Config normalized(const Step& step, const void* problem, Config config) {
  for (int i = 0; i < step.parameters.count; ++i) {
    if (!applies(step.parameters[i], problem, config)) config[i] = step.parameters[i].otherwise;
  }
  return config;
}

std::vector<Variant> variants_of(const Family& family, const Step& step, const void* problem, const Target& target,
                                 const DeviceModel& model, std::string_view config) {
  Variant variants[kMaxVariants];
  const int count = step.variants(problem, target, model, variants);
  if (count < 1 || count > kMaxVariants)
    throw problem_error(
        family, problem,
        cat("the family ", family.name, " gives ", count, " variants; a problem has 1 to ", kMaxVariants));
  if (variants[count - 1].fits != nullptr)
    throw problem_error(family, problem, cat("the last variant of ", family.name, " must fit every problem"));
  for (int i = 0; i < count; ++i) variants[i].config = normalized(step, problem, variants[i].config);
  if (!config.empty()) {
    require_known_steps(family, config);
    variants[0].config = parse_config(step, config, variants[0].config, problem, target);
  }
  return {variants, variants + count};
}

std::vector<Variant> up_to_always_taken(const Family& family, const Step& step, const void* problem,
                                        std::vector<Variant> variants, std::uint32_t alignment) {
  const bool closed = open_extents(family, problem).empty();
  const auto takes_all = [&](const Variant& variant) {
    const bool fits = variant.fits == nullptr || (closed && variant.fits(problem));
    return fits && largest_alignment(family, step, problem, variant.config) <= alignment;
  };
  const auto last = std::find_if(variants.begin(), variants.end(), takes_all);
  if (last != variants.end()) variants.erase(last + 1, variants.end());
  return variants;
}

std::uint32_t largest_alignment(const Family& family, const Step& step, const void* problem, const Config& config) {
  std::uint32_t largest = 1;
  for (int i = 0; i < family.operands.count; ++i) {
    if (family.operands[i].bulk) largest = std::max(largest, step.alignment(problem, i, config));
  }
  return largest;
}

bool align_alike(const Family& family, const Step& step, const void* problem, const Config& a, const Config& b) {
  for (int i = 0; i < family.operands.count; ++i) {
    if (family.operands[i].bulk && step.alignment(problem, i, a) != step.alignment(problem, i, b)) return false;
  }
  return true;
}

Config default_on(const Family& family, const Step& step, const void* problem, std::string_view target,
                  const std::string& device) {
  const Target parsed = parse_target(target);
  Device named;
  named.name = device;
  named.arch = parsed.arch;
  return variants_of(family, step, problem, parsed, model_of(named), "").front().config;
}

}  // namespace quern
