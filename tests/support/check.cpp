#include "support/check.h"

#include <cstring>
#include <memory>

#include "base/text.h"
#include "common/host_types.h"
#include "driver/device.h"
#include "plan/problem.h"
#include "support/taken.h"
#include "testbench/comparison.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

void set_indices(HostOperands& host, Indices pattern) {
  if (pattern == Indices::generated) return;
  const Layout& layout = host.layout(1);
  const std::int64_t count = layout.extents[0];
  for (std::int64_t i = 0; i < count; ++i)
    common::write_integer(layout.dtype, host.data(1), i, pattern == Indices::all_equal ? count / 2 : count - 1 - i);
}

// What a case has in place of generated data.
void set_sequences(HostOperands& host, const std::vector<int>& cu_seqlens) {
  for (int i = 0; i < host.size() && !cu_seqlens.empty(); ++i) {
    if (host.name(i) != "cu_seqlens") continue;
    for (std::size_t b = 0; b < cu_seqlens.size(); ++b)
      common::write_integer(host.layout(i).dtype, host.data(i), static_cast<std::int64_t>(b), cu_seqlens[b]);
  }
}

AnyArgs scalars_of(const Family& family, const Case& c) {
  AnyArgs scalars(family);
  for (const Scalar& scalar : family.scalars) {
    const std::string_view name = scalar.name;
    if (name == "multiplier" || name == "alpha") scalars.set_scalar(scalar.name, c.multiplier);
  }
  for (const std::string_view word : split(c.scalars, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) scalars.parse_scalar(word.substr(0, equals), word.substr(equals + 1));
  }
  return scalars;
}

int output_of(const Family& family) {
  for (int i = 0; i < family.operands.count; ++i) {
    if (family.operands[i].role == Role::output) return i;
  }
  return 0;
}

class Run {
 public:
  Run(const Driver& driver, const HostOperands& host, const Case& c, const AnyArgs& scalars, bool guards)
      : driver_(driver),
        host_(host),
        device_(driver, host, c.offset, guards ? Guards::bands : Guards::none),
        args_(device_.args(scalars)),
        case_(c) {
    if (c.in_place) args_.set_operand(output_of(host.family()), device_.pointer(0), host.bytes(0));
  }

  HostOperands launch(const AnyPlan& plan) {
    device_.upload(host_);
    plan.launch(nullptr, args_.data());
    driver_.check(driver_->CtxSynchronize(), Stage::launch, "cuCtxSynchronize");
    HostOperands got = host_;
    device_.download(got);
    if (case_.in_place && host_.bytes(0) > 0) {
      const int out = output_of(host_.family());
      driver_.check(driver_->MemcpyDtoH(got.data(out), reinterpret_cast<CUdeviceptr>(device_.pointer(0)),
                                        static_cast<std::size_t>(host_.bytes(0))),
                    Stage::tool, "cuMemcpyDtoH");
    }
    return got;
  }

  // In-place cases use the first input as the output, so it may change.
  std::string damage() const { return case_.in_place ? std::string() : device_.damage(host_); }

 private:
  const Driver& driver_;
  const HostOperands& host_;
  DeviceOperands device_;
  AnyArgs args_;
  const Case& case_;
};

bool same_outputs(const HostOperands& a, const HostOperands& b) {
  for (int i = 0; i < a.size(); ++i) {
    if (a.operand(i).role == Role::input || a.bytes(i) == 0) continue;
    if (std::memcmp(a.data(i), b.data(i), static_cast<std::size_t>(a.bytes(i))) != 0) return false;
  }
  return true;
}

// Runs threads and blocks in another order, if the driver supports it.
void shuffle(const Driver& driver, std::uint64_t seed) {
  if (driver.runs_host_images())
    driver.check(driver.host().Configure(cat("seed=", seed).c_str()), Stage::tool, "quernHostConfigure");
}

}  // namespace

AnyProblem opened(const AnyProblem& closed) {
  AnyProblem open = closed;
  for (const LaunchExtent& extent : closed.family().launch_extents) open.set(extent.field, "open");
  return open;
}

CheckResult check_case(Runtime& runtime, const Driver& driver, const Case& c, const CheckOptions& options) {
  return check_problem_case(runtime, driver, runtime.parse(c.problem), c, options);
}

CheckResult check_problem_case(Runtime& runtime, const Driver& driver, const AnyProblem& problem, const Case& c,
                               const CheckOptions& options) {
  const AnyProblem asked = options.open ? opened(problem) : problem;
  PrepareOptions changed;
  changed.config = c.config;
  const Family& family = options.taken_only
                             ? with_taken_variants(asked, problem, c.offset, describe_device(driver, 0), c.config)
                             : asked.family();
  const AnyPlan plan = runtime.prepare_any(family, asked.data(), changed);
  HostOperands host(problem.family(), problem.data());
  const AnyArgs scalars = scalars_of(problem.family(), c);
  host.generate(options.seed, true, scalars);
  set_indices(host, c.indices);
  set_sequences(host, c.cu_seqlens);
  Run run(driver, host, c, scalars, options.guards);
  shuffle(driver, 0);
  const HostOperands got = run.launch(plan);
  const Comparison comparison = compare(got, host.reference(scalars));
  CheckResult result{comparison.difference, comparison.max_error};
  if (!comparison.equal || !options.twice) return result;
  if (const std::string damage = run.damage(); !damage.empty())
    result.failure = cat("written where it must not: ", damage);
  shuffle(driver, options.seed);
  if (!same_outputs(got, run.launch(plan))) result.failure = "two runs differ";
  shuffle(driver, 0);
  return result;
}

}  // namespace quern::test
