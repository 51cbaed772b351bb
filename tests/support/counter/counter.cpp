#include "counter/counter.h"

#include <cstddef>

#include "counter/params.h"
#include "quern_embedded/counter.h"

namespace quern::test {
namespace {

enum Parameters { kLaps, kThreads };
constexpr std::int32_t kLapCounts[] = {1, 300, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, kNoMore};

Layout counts_layout(const Counter& p) { return Layout::list(f32, p.count); }

struct CounterFamily {
  using Problem = Counter;
  using Args = CounterArgs;
  static constexpr const char* kName = "counter";
  static constexpr const char* kSentence = "counts[i] += 1, in place";

  static constexpr Field kFields[] = {extent_field("count", offsetof(Counter, count), true, "elements of counts")};
  static constexpr Operand kOperands[] = {{"counts", Role::update, offsetof(CounterArgs, counts), true,
                                           &layout_of<Counter, counts_layout>, "[count]", "the counts"}};
  static constexpr LaunchExtent kLaunchExtents[] = {{"count", offsetof(CounterArgs, count), nullptr}};
  static constexpr Parameter kParameters[] = {
      {"laps", kLapCounts, true, "times that each element is written"},
      {"threads", kThreadCounts, false, "threads in a block"},
  };
  static constexpr Table<Constraint> kConstraints{};
  static constexpr const char* kBenchCases[] = {"counter count=5000"};

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::counter_sources(); }
  static std::string check(const Counter&) { return {}; }
  static int variants(const Counter&, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    out[0] = {"any", {}};
    out[0].config[kLaps] = 300;
    out[0].config[kThreads] = 64;
    return 1;
  }
  static std::uint32_t alignment(const Counter&, int, const Config&) { return 4; }
  static void specialize(const Counter&, const Target&, const Config& config, Spec& spec) {
    spec.integer("params_bytes", sizeof(counter::Params));
    spec.integer("laps", config[kLaps]);
  }
  static void launch(const Counter& p, const Args& a, const DeviceModel&, const Config& config, Launch& launch) {
    const std::int64_t threads = config[kThreads];
    launch.empty = p.count == 0;
    launch.block[0] = static_cast<std::uint32_t>(threads);
    launch.grid[0] = static_cast<std::uint32_t>((p.count + threads - 1) / threads);
    launch.set_params(counter::Params{static_cast<float*>(a.counts.data), p.count});
  }
  static void reference(const Counter& p, const Args& a) {
    auto* counts = static_cast<float*>(a.counts.data);
    for (std::int64_t i = 0; i < p.count; ++i) counts[i] += 1.0f;
  }
  static Tolerance tolerance(const Counter&, int) { return {}; }
  static std::int64_t bytes(const Counter& p) { return 8 * p.count; }
  static bool generate(const Counter&, int, std::uint64_t, void*) { return false; }
};

}  // namespace

const Family& Counter::family() {
  static const Family family = make_family<CounterFamily>();
  return family;
}

}  // namespace quern::test
