#include "quern/plan.h"

#include <algorithm>

#include "base/text.h"
#include "plan/plan_state.h"
#include "plan/problem.h"

namespace quern {
namespace {

Error empty_plan() {
  return Error(Code::bad_input, Stage::launch, "this plan is empty: it was made by default; prepare gives one");
}

template <class T>
const T& at(const PlanState& plan, const std::vector<T>& images, int i) {
  if (i >= 0 && static_cast<std::size_t>(i) < images.size()) return images[static_cast<std::size_t>(i)];
  throw problem_error(*plan.family, plan.problem.data(),
                      cat("the plan has ", images.size(), " images, from 0; ", i, " is not one of them"));
}

// A layout that depends on an open extent differs between 1 and this: no multiple and no power of anything.
constexpr std::int64_t kAnotherExtent = 1048583;

std::vector<unsigned char> closed_with(std::vector<unsigned char> problem, const std::vector<const Field*>& open,
                                       std::int64_t extent) {
  for (const Field* field : open) set_integer(*field, problem.data(), extent);
  return problem;
}

bool is_same(const Layout& a, const Layout& b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.extents, a.extents + a.rank, b.extents) &&
         std::equal(a.strides, a.strides + a.rank, b.strides);
}

}  // namespace

void look_up_arguments(PlanState& plan) {
  const Family& family = *plan.family;
  for (const LaunchExtent& extent : family.launch_extents)
    plan.extents.push_back({find_field(family, extent.field), extent.offset,
                            extent.needed == nullptr || extent.needed(plan.problem.data())});
  const std::vector<const Field*> open = open_extents(family, plan.problem.data());
  plan.closed = open.empty();
  const std::vector<unsigned char> small = closed_with(plan.problem, open, 1),
                                   large = closed_with(plan.problem, open, kAnotherExtent);
  for (const Operand& operand : family.operands) {
    const Layout layout = operand.layout(small.data());
    if (layout.dtype == DType::none) continue;
    plan.operands.push_back({&operand, is_same(layout, operand.layout(large.data())), layout.span_bytes(),
                             static_cast<std::uintptr_t>(bytes(layout.dtype) - 1)});
  }
}

const char* name(ImageOrigin origin) {
  static constexpr const char* kNames[] = {"memory", "disk", "compiled"};
  return kNames[static_cast<int>(origin)];
}

// A thread that goes on launching while the process ends must not end it with an exception that no one catches.
void AnyPlan::launch(Stream stream, const void* args) const {
  if (state_ == nullptr) throw empty_plan();
  try {
    enqueue(state_->newest(), stream, args);
  } catch (const Error& error) {
    if (error.driver_code != CUDA_ERROR_DEINITIALIZED) throw;
  }
}

Result<bool> AnyPlan::try_launch(Stream stream, const void* args) const {
  if (state_ == nullptr) return empty_plan();
  try {
    return enqueue(state_->newest(), stream, args);
  } catch (const Error& error) {
    return error;
  }
}

std::int64_t AnyPlan::workspace_bytes(const void* args) const { return quern::workspace_bytes(*state_, args); }

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
