// Host costs: quern's own with a driver that returns at once, and launches on a device compared with bare ones.
#include <algorithm>

#include "api/images.h"
#include "base/text.h"
#include "commands/bench.h"
#include "driver/stream.h"
#include "io/subject.h"
#include "plan/plan_state.h"
#include "plan/problem.h"
#include "plan/variants.h"
#include "quern/gather.h"
#include "records/lookup.h"
#include "testbench/device_case.h"
#include "testbench/null_driver.h"

namespace quern::tool {
namespace {

constexpr std::string_view kSchema = "quern.bench.host/1";
constexpr std::uintptr_t kApart = std::uintptr_t{1} << 38;  // more than an operand has bytes: none overlap
constexpr std::int64_t kExtent = 64;
constexpr int kRecords = 100;
constexpr std::int64_t kPlans = 100'000;
constexpr const char* kRecordedDevice = "NVIDIA H200";

// A small problem of the family: its default, with open extents closed.
AnyProblem small_problem(const Family& family) {
  AnyProblem problem(family);
  for (const Field* field : open_extents(problem)) set_integer(*field, problem.data(), kExtent);
  return problem;
}

Row ns_row(const char* what, const AnyProblem& problem, double ns) {
  return Row()
      .add("what", what)
      .add("problem", problem.text())
      .add("ns", Value(ns, 1))
      .add("low", Value())
      .add("high", Value());
}

void bench_null(Runtime& null, const Family& family, const Emit& emit) {
  const AnyProblem problem = small_problem(family);
  const AnyPlan plan = null.prepare_any(family, problem.data());
  const AnyArgs args = null_args(problem);
  emit(kSchema, ns_row("launch, own cost", problem, measure_host_ns([&] { plan.launch(nullptr, args.data()); })));
  const AnyProblem open(family);
  const AnyPlan any = null.prepare_any(family, open.data());
  emit(kSchema,
       ns_row("launch, own cost, open extents", open, measure_host_ns([&] { any.launch(nullptr, args.data()); })));
  emit(kSchema,
       ns_row("prepare, known problem", problem, measure_host_ns([&] { null.prepare_any(family, problem.data()); })));
  const Target target = target_of(null_driver().arch);
  const Variant variant =
      variants_of(family, family.steps[0], problem.data(), target, generic_model(target.arch), {}).front();
  const ImageRequest request{&family, &family.steps[0], problem.data(), target, variant};
  const cache::Key key = obtain_image(null.state(), request).key;
  emit(kSchema, ns_row("store, memory hit", problem, measure_host_ns([&] { null.state().store.find(key); })));
}

// Known problems that differ in one extent, as in a service with token counts in its problems. Uses the driver of the
// machine, as an application does.
void bench_many_plans(Runtime& runtime, const Emit& emit) {
  Gather problem;
  const auto prepare = [&](std::int64_t count) {
    problem.count = count;
    runtime.prepare(problem);
  };
  const auto measure = [&](const char* what, const auto& next) {
    const double ns = measure_host_ns([&] { prepare(next()); });
    emit(kSchema, ns_row(what, AnyProblem(Gather::family(), &problem), ns));
  };
  const auto same = [] { return kExtent; };
  std::uint64_t random = 1;
  const auto any = [&random] {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((random >> 33) % kPlans) + 1;
  };
  measure("prepare, the same of a few known problems", same);
  for (std::int64_t count = 1; count <= kPlans; ++count) prepare(count);
  measure("prepare, one of 100000 known problems at random", any);
  measure("prepare, the same of 100000", same);
}

bool measures_many_plans(const std::vector<const Family*>& families) {
  return std::find(families.begin(), families.end(), &Gather::family()) != families.end();
}

// A record with its own extents: those of `small` times 1 to 50, counted like the digits of a number.
Record made_up_record(const AnyProblem& small, const Target& target, int number) {
  AnyProblem problem = small;
  for (const Field& field : small.family().fields) {
    if (field.kind != FieldKind::extent) continue;
    set_integer(field, problem.data(), get_integer(field, small.data()) * (1 + number % 50));
    number /= 50;
  }
  Record record;
  record.problem = problem.text();
  record.device = kRecordedDevice;
  record.target = target.text();
  record.regime = "cold";
  return record;
}

// Look-up among many records of one device that differ only in their extents, so that all of them are scanned.
void bench_records(const Family& family, const Emit& emit) {
  const AnyProblem small = small_problem(family);
  const Target target = target_of(null_driver().arch);
  const Config base =
      variants_of(family, family.steps[0], small.data(), target, generic_model(target.arch), {}).front().config;
  std::vector<Record> records;
  std::vector<const Record*> pointers;
  for (int i = 0; i < kRecords; ++i) records.push_back(made_up_record(small, target, 37 * i % kRecords));
  for (const Record& record : records) pointers.push_back(&record);
  const FamilyRecords known(family, pointers, Log(LogLevel::off, {}));
  const auto measure = [&](const char* what, const AnyProblem& problem) {
    const RecordQuery query{problem.data(), target, kRecordedDevice, base};
    emit(kSchema, ns_row(what, problem, measure_host_ns([&] { known.find(query); })));
  };
  AnyProblem near = small;
  for (const Field* field : open_extents(AnyProblem(family)))
    set_integer(*field, near.data(), 7 * get_integer(*field, near.data()) + 1);
  measure("record look-up, exact among 100", small);
  measure("record look-up, nearest of 100", near);
  measure("record look-up, open extents", AnyProblem(family));
}

// The launch that a plan makes, computed ahead.
class BareLaunch {
 public:
  BareLaunch(const OpenDevice& device, const AnyPlan& plan, const AnyArgs& args, CUstream stream)
      : driver_(*device.driver) {
    prepare_launch(*plan.state(), args.data(), prepared_);
    for_driver(prepared_.launch, stream, launch_);
  }
  void operator()() {
    void* params[] = {prepared_.launch.params};
    driver_.check(driver_->LaunchKernelEx(&launch_.config, prepared_.variant->library->function(), params, nullptr),
                  Stage::launch, "cuLaunchKernelEx");
  }

 private:
  const Driver& driver_;
  PreparedLaunch prepared_;
  DriverLaunch launch_;
};

}  // namespace

std::unique_ptr<Runtime> null_runtime(const Options& options, const OpenDevice* like) {
  null_driver().arch = like != nullptr ? like->device.arch : 90;
  Options own = options;
  own.driver = like != nullptr && like->host() ? std::make_shared<Driver>(null_driver_table(), "", like->driver->host())
                                               : std::make_shared<Driver>(null_driver_table());
  return std::make_unique<Runtime>(std::move(own));
}

AnyArgs null_args(const AnyProblem& closed) {
  AnyArgs args(closed.family());
  args.set_extents(closed.data());
  std::uintptr_t address = 0;
  for (const OperandEntry& each : operand_entries(closed.family(), closed.data())) {
    address += kApart;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): never read
    args.set_operand(each.operand, reinterpret_cast<const void*>(address), kOpen, each.entry);
  }
  return args;
}

std::size_t host_rows(const std::vector<const Family*>& families, bool on_device) {
  constexpr std::size_t kOwn = 7;
  constexpr std::size_t kOnDevice = 3;
  return families.size() * (on_device ? kOwn + kOnDevice : kOwn) + (measures_many_plans(families) ? 3 : 0);
}

void bench_launches(Runtime& runtime, const OpenDevice& device, const Family& family, const Emit& emit) {
  const AnyProblem problem = small_problem(family);
  HostOperands host(family, problem.data());
  host.generate(1, false);
  const DeviceCase data(*device.driver, device.device, host, AnyArgs(family), 0);
  const AnyPlan plan = runtime.prepare_any(family, problem.data());
  const StreamOwner stream(*device.driver);
  BareLaunch bare(device, plan, data.args(), stream.get());
  const PairedNs paired = measure_paired_ns([&] { bare(); }, [&] { plan.launch(stream.get(), data.args().data()); },
                                            [&] { stream.synchronize(); });
  emit(kSchema, ns_row("bare launch", problem, paired.a));
  emit(kSchema, ns_row("plan launch", problem, paired.b));
  emit(kSchema, Row()
                    .add("what", "plan less bare, with its 95 % interval")
                    .add("problem", problem.text())
                    .add("ns", Value(paired.difference, 1))
                    .add("low", Value(paired.low, 1))
                    .add("high", Value(paired.high, 1)));
}

void bench_host(Runtime& runtime, const std::vector<const Family*>& families, const std::optional<OpenDevice>& device,
                const Options& options, const Emit& emit) {
  const std::unique_ptr<Runtime> null = null_runtime(options, device ? &*device : nullptr);
  for (const Family* family : families) {
    bench_null(*null, *family, emit);
    bench_records(*family, emit);
  }
  if (device)
    for (const Family* family : families) bench_launches(runtime, *device, *family, emit);
  if (measures_many_plans(families)) bench_many_plans(device ? runtime : *null, emit);
}

}  // namespace quern::tool
