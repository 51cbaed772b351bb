#include "tuner/evaluate/correctness_check.h"
#include "testbench/comparison.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "driver/device.h"
#include "plan/config.h"
#include "plan/plan_state.h"
#include "plan/problem.h"
#include "plan/variants.h"

namespace quern {
namespace {

constexpr std::array<unsigned char, 2> kPoisons = {0xA5, 0x5A};
constexpr std::int64_t kSmallBytes = 4 << 20;

// All operands on the device, with a guard band on either side of each.
std::int64_t operand_bytes(const AnyProblem& problem) {
  std::int64_t all = 0;
  for (const OperandEntry& each : operand_entries(problem.family(), problem.data()))
    all += problem.family().operands[each.operand].layout(problem.data(), each.entry).span_bytes() + 4096;
  return all;
}

template <class F>
void for_each_extent(AnyProblem& problem, const F& changed) {
  for (const LaunchExtent& extent : problem.family().launch_extents) {
    const Field& field = *find_field(problem.family(), extent.field);
    set_integer(field, problem.data(), changed(get_integer(field, problem.data())));
  }
}

FailureKind kind_of(const Error& error) {
  if (error.code == Code::compile) return FailureKind::compile;
  if (error.driver_code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) return FailureKind::resources;
  return context_lost(error.driver_code) ? FailureKind::crash : FailureKind::launch;
}

}  // namespace

bool context_lost(int driver_code) {
  switch (driver_code) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return true;
    default:
      return false;
  }
}

namespace {

// Where the family does not take an odd extent (as a multiple of 32), the next smaller one that it takes, else that of
// `whole`, which it takes.
void take_legal_extents(AnyProblem& odd, const AnyProblem& whole) {
  const Family& family = odd.family();
  for (const LaunchExtent& extent : family.launch_extents) {
    const Field& field = *find_field(family, extent.field);
    std::int64_t value = get_integer(field, odd.data());
    while (!family.check(odd.data()).empty() && value > 1) set_integer(field, odd.data(), --value);
    if (!family.check(odd.data()).empty()) set_integer(field, odd.data(), get_integer(field, whole.data()));
  }
}

// Launch extents are halved until a call moves some megabytes.
AnyProblem halved(const AnyProblem& problem) {
  AnyProblem small = problem;
  while (operand_bytes(small) > kSmallBytes) {
    const AnyProblem before = small;
    for_each_extent(small, [](std::int64_t value) { return value > 3 ? value / 2 : value; });
    if (operand_bytes(small) == operand_bytes(before)) break;
  }
  return small;
}

// Whether a problem has the step, and the config is a legal one of it.
bool has_config(const AnyProblem& problem, const Step& step, const Config& config, const Target& target) {
  const std::vector<const Step*> steps = steps_of(problem.family(), problem.data());
  return std::find(steps.begin(), steps.end(), &step) != steps.end() &&
         normalized(step, problem.data(), config) == config && violated(step, config, problem.data(), target).empty();
}

// Whether every config of the whole problem is legal for a small one: an extent that a vector divides there may be odd
// here.
bool has_all_configs(const AnyProblem& small, const AnyProblem& whole, const Target& target) {
  const std::vector<const Step*> steps = steps_of(whole.family(), whole.data());
  return std::all_of(steps.begin(), steps.end(), [&](const Step* step) {
    const std::vector<Config> configs = legal_configs(*step, whole.data(), target);
    return std::all_of(configs.begin(), configs.end(),
                       [&](const Config& config) { return has_config(small, *step, config, target); });
  });
}

AnyProblem small_problem(const AnyProblem& problem) {
  AnyProblem small = halved(problem);
  take_legal_extents(small, problem);
  return small;
}

}  // namespace

AnyProblem odd_problem(const AnyProblem& problem) {
  AnyProblem odd = halved(problem);
  for_each_extent(odd, [](std::int64_t value) { return value > 1 ? (value - 1) | 1 : value; });
  take_legal_extents(odd, problem);
  return odd;
}

// The data of one problem, and the output of the trusted config for each poison byte.
class CorrectnessCheck::TestProblem {
 public:
  TestProblem(Runtime& runtime, const Driver& driver, const AnyProblem& problem, bool wild)
      : runtime_(runtime),
        driver_(driver),
        problem_(problem),
        host_(generated(problem, wild)),
        work_(driver, host_),
        args_(work_.args(AnyArgs(problem.family()))),
        first_(driver, sizeof(std::int64_t)),
        compare_(runtime.prepare(Compare{})) {}

  const AnyProblem& problem() const { return problem_; }

  AnyPlan prepare(const std::string& config) const {
    PrepareOptions options;
    options.config = config;
    return runtime_.prepare_any(problem_.family(), problem_.data(), options);
  }

  void learn(const std::string& trusted) {
    const AnyPlan plan = prepare(trusted);
    for (std::size_t i = 0; i < kPoisons.size(); ++i) {
      work_.upload(host_);
      run(plan, kPoisons[i]);
      if (i == 0) compare_with_reference();
      if (const std::string damage = i == 0 ? work_.damage(host_) : ""; !damage.empty())
        throw wrong(cat("it wrote to ", damage));
      expected_.push_back(std::make_unique<DeviceMemory>(driver_, size()));
      copy(expected_.back()->get(), work_.base());
    }
  }

  std::optional<CheckFailure> check(const std::string& config) {
    const AnyPlan plan = prepare(config);
    for (std::size_t i = 0; i < kPoisons.size(); ++i) {
      if (auto failure = run_and_compare(plan, i)) return failure;
    }
    return std::nullopt;
  }

 private:
  static HostOperands generated(const AnyProblem& problem, bool wild) {
    HostOperands host(problem.family(), problem.data());
    host.generate(wild ? 2 : 1, wild);
    return host;
  }

  Error wrong(const std::string& why) const {
    Error error(Code::unsupported, Stage::tool,
                cat("the reference config, which all others must agree with, is itself wrong: ", why));
    error.family = problem_.family().name;
    error.problem = problem_.text();
    return error;
  }

  std::size_t size() const { return static_cast<std::size_t>(work_.total()); }

  void copy(CUdeviceptr to, CUdeviceptr from) const {
    driver_.check(driver_->MemcpyDtoDAsync(to, from, size(), nullptr), Stage::tool, "cuMemcpyDtoDAsync");
  }
  void wait() const { driver_.check(driver_->CtxSynchronize(), Stage::launch, "cuCtxSynchronize"); }

  void run(const AnyPlan& plan, unsigned char poison) const {
    work_.fill_outputs(poison);
    plan.launch(nullptr, args_.data());
    wait();
  }

  void compare_with_reference() const {
    HostOperands got = host_;
    work_.download(got);
    const Comparison comparison = compare(got, host_.reference(AnyArgs(problem_.family())));
    if (!comparison.equal) throw wrong(comparison.difference);
  }

  // Resets every byte to its value before the trusted run. Outputs are poisoned again; inputs and guard bands did not
  // change; updates and workspaces are copied from the host.
  void reset(std::size_t poison) const {
    copy(work_.base(), expected_[poison]->get());
    for (int i = 0; i < host_.size(); ++i) {
      const Role role = host_.operand(i).role;
      if ((role != Role::update && role != Role::workspace) || host_.bytes(i) == 0) continue;
      driver_.check(driver_->MemcpyHtoD(reinterpret_cast<CUdeviceptr>(work_.pointer(i)), host_.data(i),
                                        static_cast<std::size_t>(host_.bytes(i))),
                    Stage::tool, "cuMemcpyHtoD");
    }
  }

  // The offset of the first byte that differs, -1 if none does.
  std::int64_t difference(CUdeviceptr a, CUdeviceptr b) const {
    std::int64_t first = -1;
    driver_.check(driver_->MemcpyHtoD(first_.get(), &first, sizeof(first)), Stage::tool, "cuMemcpyHtoD");
    CompareArgs args;
    args.a = reinterpret_cast<void*>(a);  // NOLINT(performance-no-int-to-ptr)
    args.b = reinterpret_cast<void*>(b);  // NOLINT(performance-no-int-to-ptr)
    args.first = first_.data();
    args.bytes = work_.total();
    compare_.launch(nullptr, args);
    wait();
    driver_.check(driver_->MemcpyDtoH(&first, first_.get(), sizeof(first)), Stage::tool, "cuMemcpyDtoH");
    return first;
  }

  std::optional<CheckFailure> run_and_compare(const AnyPlan& plan, std::size_t poison) {
    reset(poison);
    run(plan, kPoisons[poison]);
    const std::int64_t first = difference(work_.base(), expected_[poison]->get());
    if (first < 0) return std::nullopt;
    CheckFailure failure = failure_of(first, poison);
    if (failure.kind == FailureKind::wrong && !repeats(plan, poison)) {
      failure.kind = FailureKind::unstable;
      failure.why += "; another run on the same data gave a different result";
    }
    return failure;
  }

  bool repeats(const AnyPlan& plan, std::size_t poison) const {
    const DeviceMemory before(driver_, size());
    copy(before.get(), work_.base());
    reset(poison);
    run(plan, kPoisons[poison]);
    return difference(work_.base(), before.get()) < 0;
  }

  std::string element_at(CUdeviceptr range, std::int64_t byte, DType type, std::int64_t offset) const {
    std::array<std::byte, 16> element{};
    const std::int64_t begin = byte - offset % bytes(type);
    driver_.check(driver_->MemcpyDtoH(element.data(), range + static_cast<CUdeviceptr>(begin),
                                      static_cast<std::size_t>(bytes(type))),
                  Stage::tool, "cuMemcpyDtoH");
    std::reverse(element.begin(), element.begin() + bytes(type));  // most significant byte first
    return cat("0x", to_hex(element.data(), static_cast<std::size_t>(bytes(type))));
  }

  CheckFailure failure_of(std::int64_t byte, std::size_t poison) const {
    const DeviceOperands::Place place = work_.place(byte);
    const std::string name = host_.name(place.operand);
    const Layout& layout = host_.layout(place.operand);
    const std::string where = cat(" [", problem_.text(), "]");
    if (place.band && place.offset < 0)
      return {FailureKind::guards, cat("it wrote ", -place.offset, " bytes before ", name, where)};
    if (place.band)
      return {FailureKind::guards,
              cat("it wrote ", place.offset - host_.bytes(place.operand) + 1, " bytes after ", name, where)};
    const std::string element = element_name(name, layout, place.offset);
    const std::string words =
        cat(element, " is ", element_at(work_.base(), byte, layout.dtype, place.offset), " and should be ",
            element_at(expected_[poison]->get(), byte, layout.dtype, place.offset), where);
    if (host_.operand(place.operand).role == Role::input)
      return {FailureKind::inputs, cat("it changed an input: ", words)};
    return {FailureKind::wrong, words};
  }

  Runtime& runtime_;
  const Driver& driver_;
  const AnyProblem problem_;
  const HostOperands host_;
  DeviceOperands work_;
  const AnyArgs args_;
  const DeviceMemory first_;
  const Plan<Compare> compare_;
  std::vector<std::unique_ptr<DeviceMemory>> expected_;  // one per poison byte
};

CorrectnessCheck::CorrectnessCheck(Runtime& runtime, const Driver& driver, const AnyProblem& problem,
                                   const std::string& trusted) {
  test_problems_.push_back(std::make_unique<TestProblem>(runtime, driver, odd_problem(problem), true));
  test_problems_.push_back(std::make_unique<TestProblem>(runtime, driver, problem, false));
  const AnyPlan plan = test_problems_.back()->prepare(trusted);
  target_ = describe_device(driver, plan.state()->device).target;
  if (!has_all_configs(test_problems_.front()->problem(), problem, target_))
    test_problems_.insert(test_problems_.end() - 1,
                          std::make_unique<TestProblem>(runtime, driver, small_problem(problem), true));
  for (const auto& test : test_problems_) test->learn(takes(*test, plan) ? trusted : "");
}

// Whether an problem_'s problem has the config of a plan of the whole one.
bool CorrectnessCheck::takes(const TestProblem& problem_, const AnyPlan& plan) const {
  const PlanState& state = *plan.state();
  return std::all_of(state.steps.begin(), state.steps.end(), [&](const PlanState::PlannedStep& step) {
    return has_config(problem_.problem(), *step.step, state.variants[step.begin].variant.config, target_);
  });
}

CorrectnessCheck::~CorrectnessCheck() = default;

std::optional<CheckFailure> CorrectnessCheck::check(const std::string& config) {
  try {
    const AnyPlan plan = test_problems_.back()->prepare(config);
    for (const auto& test : test_problems_) {
      if (!takes(*test, plan)) continue;
      if (auto failure = test->check(config)) return failure;
    }
  } catch (const Error& error) {
    const bool candidates = error.code == Code::compile || error.driver_code != 0;
    if (!candidates) throw;
    return CheckFailure{kind_of(error), error.sentence};
  }
  return std::nullopt;
}

std::int64_t CorrectnessCheck::memory_bytes(const AnyProblem& problem) {
  return 4 * (operand_bytes(problem) + operand_bytes(odd_problem(problem)) + operand_bytes(small_problem(problem)));
}

}  // namespace quern
