// Problems from texts, and plans without a compiler, for prepare_launch.
#ifndef QUERN_TESTS_UNIT_PLAN_SUPPORT_H_
#define QUERN_TESTS_UNIT_PLAN_SUPPORT_H_

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin_families.h"
#include "driver/device.h"
#include "plan/plan_state.h"
#include "plan/problem.h"
#include "plan/variants.h"
#include "quern/quern.h"

namespace quern::test {

// "gather width=8" of a family that ships with the library.
inline AnyProblem problem(std::string_view text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  for (const Family* family : builtin_families()) {
    if (text.substr(0, space) != family->name) continue;
    AnyProblem parsed(*family);
    parse_fields(*family, text.substr(space), parsed.data());
    return parsed;
  }
  throw Error(Code::bad_input, Stage::tool, "no such family");
}

template <class P>
const P& as(const AnyProblem& any) {
  return *static_cast<const P*>(any.data());
}

// For the step without a name, the only one of most families, or the first.
inline const Step& step_of(const AnyProblem& p) {
  for (const Step& step : p.family().steps)
    if (*step.name == '\0') return step;
  return p.family().steps[0];
}
inline std::vector<Variant> variants_of(const AnyProblem& p, const Target& target = {90, "a"}) {
  return variants_of(p.family(), step_of(p), p.data(), target, generic_model(target.arch), {});
}
inline std::uint32_t alignment_of(const AnyProblem& p, const Config& config) {
  return largest_alignment(p.family(), step_of(p), p.data(), config);
}

// A plan without kernels: usable for everything except enqueueing.
struct BarePlan : PlanState {
  explicit BarePlan(const AnyProblem& p, const Target& target = {90, "a"}) {
    family = &p.family();
    const auto* bytes = static_cast<const unsigned char*>(p.data());
    problem.assign(bytes, bytes + family->problem_bytes);
    text = p.text();
    model = generic_model(target.arch);
    look_up_arguments(*this);
    std::vector<Loaded> loaded;
    for (const Variant& variant : variants_of(p, target)) loaded.push_back({variant, nullptr});
    add_step(*this, step_of(p), std::move(loaded));
  }
};

// A device address that is never read.
inline void* address(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr)
}

// The kernel's parameter.
template <class Params>
Params params_of(const Launch& launch) {
  Params params;
  std::memcpy(&params, launch.params, sizeof(params));
  return params;
}

}  // namespace quern::test

#endif  // QUERN_TESTS_UNIT_PLAN_SUPPORT_H_
