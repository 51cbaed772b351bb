#include "quern/plan.h"

#include <algorithm>

#include "base/text.h"
#include "plan/plan_state.h"
#include "plan/problem.h"

namespace quern {
namespace {

template <class T>
const T& at(const PlanState& plan, const std::vector<T>& images, int i) {
  if (i >= 0 && static_cast<std::size_t>(i) < images.size()) return images[static_cast<std::size_t>(i)];
  throw problem_error(*plan.family, plan.problem.data(),
                      cat("the plan has ", images.size(), " images, from 0; ", i, " is not one of them"));
}

}  // namespace

const char* name(ImageOrigin origin) {
  static constexpr const char* kNames[] = {"memory", "disk", "compiled"};
  return kNames[static_cast<int>(origin)];
}

const Family& AnyPlan::family() const { return *state_->family; }
const std::string& AnyPlan::problem() const { return state_->text; }

void AnyPlan::require_family(const Family& wanted) const {
  if (&family() == &wanted) return;
  throw problem_error(
      family(), state_->problem.data(),
      cat("this plan is of the family ", family().name, ", not of ", wanted.name, "; its arguments are others"));
}
std::string AnyPlan::why() const { return state_->newest().why; }
const std::vector<ImageInfo>& AnyPlan::images() const { return state_->newest().images; }
const std::string& AnyPlan::source(int i) const { return at(state_->newest(), state_->newest().entries, i)->source; }
const std::string& AnyPlan::ptx(int i) const { return at(state_->newest(), state_->newest().entries, i)->ptx; }
const Resources& AnyPlan::resources(int i) const { return at(state_->newest(), state_->newest().images, i).resources; }

int AnyPlan::blocks_per_multiprocessor(int i, int threads, int shared_bytes) const {
  const auto& loaded = at(state_->newest(), state_->newest().variants, i);
  return loaded.library->blocks_per_multiprocessor(threads, static_cast<std::size_t>(shared_bytes));
}

}  // namespace quern
