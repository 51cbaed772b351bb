#include <algorithm>

#include "base/text.h"
#include "c/error.h"
#include "c/runtime.h"
#include "plan/plan_state.h"
#include "plan/problem.h"

using quern::AnyPlan;
using quern::Arguments;
using quern::Code;
using quern::Error;
using quern::FilledArguments;
using quern::Given;
using quern::Refusal;
using quern::Stage;
using quern::c::guarded;
using quern::c::require;

namespace {

quern_image described(const quern::ImageInfo& image) {
  return {image.step.c_str(),
          image.variant.c_str(),
          image.config.c_str(),
          image.key.c_str(),
          quern::name(image.origin),
          image.compile_ms,
          image.resources.registers,
          image.resources.shared_bytes,
          image.resources.spill_store_bytes + image.resources.spill_load_bytes,
          image.alignment};
}

// The plan's own error for tensors that do not fit it.
[[noreturn]] void refuse(const quern_plan& plan, const Refusal& refusal, const Given& given) {
  Error error(Code::bad_input, Stage::launch, plan.arguments.text(refusal, given));
  error.family = plan.plan.family().name;
  error.problem = plan.plan.problem();
  throw error;
}

void require_arrays(const Given& given) {
  if (given.tensor_count > 0) require(given.tensors, "tensors");
  if (given.number_count > 0) require(given.numbers, "numbers");
  for (std::size_t n = 0; n < given.number_count; ++n) require(given.numbers[n].name, "the name of a number");
}

void fill(const quern_plan& plan, const Given& given, FilledArguments& filled) {
  require_arrays(given);
  if (const Refusal refusal = plan.arguments.fill(given, filled)) refuse(plan, refusal, given);
}

void launch_on_host(const quern_plan& plan, quern_stream stream, const Given& given, FilledArguments& filled) {
  plan.host->enter();
  quern::c::HostCopies copies(*plan.host);
  copies.make(plan.arguments, given, filled);
  plan.plan.launch(stream, filled.bytes);
  copies.finish(stream);
}

}  // namespace

quern_plan::quern_plan(AnyPlan made, std::shared_ptr<quern::c::HostDevice> device)
    : host(std::move(device)),
      plan(std::move(made)),
      arguments(plan.family(), plan.state()->problem.data(), host == nullptr ? plan.state()->device : Arguments::kHost),
      why_(plan.why()) {
  places_ = quern::c::describe(arguments.all_places());
  for (const quern::ImageInfo& image : plan.images()) images_.push_back(described(image));
  info = {plan.problem().c_str(), plan.family().name, why_.c_str(),   places_.data(),
          places_.size(),         images_.data(),     images_.size(), host != nullptr ? 1 : 0};
}

extern "C" {

quern_code quern_prepare(quern_runtime* runtime, quern_problem problem, const char* config, quern_plan** plan,
                         quern_error** error) {
  return guarded(Stage::problem, error, [&] {
    require(runtime, "runtime");
    require(plan, "plan");
    const quern::AnyProblem read = quern::c::read_problem(runtime->runtime, problem);
    std::shared_ptr<quern::c::HostDevice> host = runtime->enter_host();
    quern::PrepareOptions options;
    if (config != nullptr) options.config = config;
    AnyPlan made = runtime->runtime.prepare_any(read.family(), read.data(), options);
    *plan = std::make_unique<quern_plan>(std::move(made), std::move(host)).release();
  });
}

void quern_plan_destroy(quern_plan* plan) { const std::unique_ptr<quern_plan> owned(plan); }

const quern_plan_info* quern_plan_describe(const quern_plan* plan) { return plan == nullptr ? nullptr : &plan->info; }

quern_code quern_launch(const quern_plan* plan, quern_stream stream, const quern_tensor* const* tensors,
                        size_t tensor_count, const quern_number* numbers, size_t number_count, quern_error** error) {
  return guarded(Stage::launch, error, [&] {
    require(plan, "plan");
    const Given given{tensors, tensor_count, numbers, number_count};
    FilledArguments filled;
    fill(*plan, given, filled);
    if (plan->host == nullptr) {
      plan->plan.launch(stream, filled.bytes);
    } else {
      launch_on_host(*plan, stream, given, filled);
    }
  });
}

quern_code quern_plan_shapes(const quern_plan* plan, const quern_tensor* const* tensors, size_t count,
                             const quern_number* numbers, size_t number_count, quern_place* places,
                             quern_error** error) {
  bool fits = true;
  const quern_code code = guarded(Stage::launch, error, [&] {
    require(plan, "plan");
    require(places, "places");
    const Given given{tensors, count, numbers, number_count};
    FilledArguments filled;
    // A caller that looks for the plan of some tensors wants no error, which would cost more than all else.
    require_arrays(given);
    if (error == nullptr && plan->arguments.fill(given, filled)) {
      fits = false;
      return;
    }
    fill(*plan, given, filled);
    for (std::size_t i = 0; i < count; ++i) {
      const quern::Layout layout = plan->arguments.layout(i, filled);
      places[i] = plan->info.places[i];
      std::copy_n(layout.extents, layout.rank, places[i].shape);
      std::copy_n(layout.strides, layout.rank, places[i].strides);
    }
  });
  return fits ? code : QUERN_BAD_INPUT;
}

quern_code quern_launch_args(const quern_plan* plan, quern_stream stream, const void* args, size_t bytes,
                             quern_error** error) {
  return guarded(Stage::launch, error, [&] {
    require(plan, "plan");
    require(args, "args");
    const quern::Family& family = plan->plan.family();
    if (bytes != family.args_bytes)
      throw quern::problem_error(
          family, plan->plan.state()->problem.data(),
          quern::cat("arguments of ", bytes, " bytes were given for ", family.name, ", which has ", family.args_bytes,
                     ": this program was compiled with another version's quern/c_families.h"));
    if (plan->host != nullptr) plan->host->enter();
    plan->plan.launch(stream, args);
  });
}

}  // extern "C"
