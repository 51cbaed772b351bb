#include "wide/wide.h"

#include <cstddef>
#include <cstring>

#include "quern_embedded/wide.h"
#include "wide/params.h"

namespace quern::test {
namespace {

constexpr const char* kLaunches[] = {QUERN_WIDE_LAUNCHES(QUERN_CHOICE_NAME) nullptr};

int value(int number) { return 7 * number + 1; }

Layout out_layout(const Wide& p) { return Layout::list(i32, p.blocks); }
Layout arrived_layout(const Wide&) { return Layout::list(i32, 1); }

struct WideFamily {
  using Problem = Wide;
  using Args = WideArgs;
  static constexpr const char* kName = "wide";
  static constexpr const char* kSentence = "out[b] = 7 * (b % 1000) + 1";

  static constexpr Field kFields[] = {
      extent_field("blocks", offsetof(Wide, blocks), false, "elements of out"),
      integer_field("shared_bytes", offsetof(Wide, shared_bytes), 4000, 1 << 20, "of a block"),
      choice_field("launch", offsetof(Wide, launch), kLaunches, "how it is launched"),
  };
  static constexpr Operand kOperands[] = {
      {"out", Role::output, offsetof(WideArgs, out), true, &layout_of<Wide, out_layout>, "[blocks]", "the values"},
      {"arrived", Role::update, offsetof(WideArgs, arrived), false, &layout_of<Wide, arrived_layout>, "[1]",
       "blocks of a cooperative launch that have arrived; 0 before"},
  };
  static constexpr Table<LaunchExtent> kLaunchExtents{};
  static constexpr std::int32_t kOne[] = {1, kNoMore};
  static constexpr Parameter kParameters[] = {{"unroll", kOne, true, "none"}};
  static constexpr Table<Constraint> kConstraints{};
  static constexpr const char* kBenchCases[] = {"wide"};

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::wide_sources(); }
  static std::string check(const Wide&) { return {}; }
  static int variants(const Wide&, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    out[0] = {"any", {}};
    out[0].config[0] = 1;
    return 1;
  }
  static std::uint32_t alignment(const Wide&, int, const Config&) { return 4; }
  static void specialize(const Wide& p, const Target&, const Config&, Spec& spec) {
    spec.integer("params_bytes", sizeof(wide::Params));
    spec.integer("shared_bytes", p.shared_bytes);
    spec.flag("cooperative", p.launch == WideLaunch::cooperative);
  }
  static void launch(const Wide& p, const Args& a, const DeviceModel&, const Config&, Launch& launch) {
    wide::Params params{static_cast<int*>(a.out.data), static_cast<unsigned*>(a.arrived.data), p.blocks, {}};
    for (int i = 0; i < wide::kValues; ++i) params.values[i] = value(i);
    launch.block[0] = 64;
    launch.grid[0] = static_cast<std::uint32_t>(p.blocks);
    launch.shared_bytes = static_cast<std::uint32_t>(p.shared_bytes);
    launch.cooperative = p.launch == WideLaunch::cooperative;
    launch.programmatic = p.launch == WideLaunch::programmatic;
    launch.set_params(params);
  }
  static void reference(const Wide& p, const Args& a) {
    for (int b = 0; b < p.blocks; ++b) static_cast<int*>(a.out.data)[b] = value(b % wide::kValues);
  }
  static Tolerance tolerance(const Wide&, int) { return {0, 0, true}; }
  static std::int64_t bytes(const Wide& p) { return 4 * p.blocks; }
  static bool generate(const Wide&, int, std::uint64_t, void* data) {
    std::memset(data, 0, 4);
    return true;
  }
};

}  // namespace

const Family& Wide::family() {
  static const Family family = make_family<WideFamily>();
  return family;
}

}  // namespace quern::test
