#include "flawed/flawed.h"

#include <cstddef>

#include "flawed/params.h"
#include "quern_embedded/flawed.h"

namespace quern::test {
namespace {

enum Parameters { kFlaw, kThreads };
#define QUERN_NUMBER(name) static_cast<std::int32_t>(Flaw::name),
constexpr std::int32_t kFlaws[] = {QUERN_FLAWS(QUERN_NUMBER) kNoMore};
#undef QUERN_NUMBER
constexpr std::int32_t kThreadCounts[] = {64, 128, kNoMore};

std::int64_t out_stride(const Flawed& p) { return p.out_stride == 0 ? p.width : p.out_stride; }
Layout x_layout(const Flawed& p) { return Layout::matrix(f32, p.rows, p.width, p.width); }
Layout out_layout(const Flawed& p) { return Layout::matrix(f32, p.rows, p.width, out_stride(p)); }

template <Layout (*F)(const Flawed&)>
constexpr auto layout = &layout_of<Flawed, F>;

struct FlawedFamily {
  using Problem = Flawed;
  using Args = FlawedArgs;
  static constexpr const char* kName = "flawed";
  static constexpr const char* kSentence = "x + 1, and what can go wrong with it";

  static constexpr Field kFields[] = {
      extent_field("rows", offsetof(Flawed, rows), true, "rows of x and out"),
      extent_field("width", offsetof(Flawed, width), false, "elements in a row"),
      integer_field("out_stride", offsetof(Flawed, out_stride), 0, kMaxExtent, "elements between rows of out"),
  };
  static constexpr Operand kOperands[] = {
      {"x", Role::input, offsetof(FlawedArgs, x), true, layout<x_layout>, "[rows, width]", "the numbers"},
      {"out", Role::output, offsetof(FlawedArgs, out), true, layout<out_layout>, "[rows, width]", "and 1"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"rows", offsetof(FlawedArgs, rows), nullptr}};
  static constexpr Parameter kParameters[] = {
      {"flaw", kFlaws, true, "what is wrong"},
      {"threads", kThreadCounts, false, "threads in a block"},
  };
  static constexpr Table<Constraint> kConstraints{};
  static constexpr const char* kBenchCases[] = {"flawed rows=33 width=100"};

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::flawed_sources(); }
  static std::string check(const Flawed& p) {
    return p.out_stride != 0 && p.out_stride < p.width ? "out_stride is below width" : std::string();
  }
  static int variants(const Flawed&, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    out[0] = {"any", {}};
    out[0].config[kThreads] = 64;
    return 1;
  }
  static std::uint32_t alignment(const Flawed&, int, const Config&) { return 4; }
  static void specialize(const Flawed&, const Target&, const Config& config, Spec& spec) {
    spec.integer("params_bytes", sizeof(flawed::Params));
    spec.integer("flaw", config[kFlaw]);
  }
  static void launch(const Flawed& p, const Args& a, const DeviceModel&, const Config& config, Launch& launch) {
    const bool too_many = config[kFlaw] == static_cast<std::int32_t>(Flaw::launch);
    const std::int64_t threads = too_many ? 2048 : config[kThreads];
    launch.empty = p.rows * p.width == 0;
    launch.block[0] = static_cast<std::uint32_t>(threads);
    launch.grid[0] = static_cast<std::uint32_t>((p.rows * p.width + threads - 1) / threads);
    launch.set_params(flawed::Params{static_cast<float*>(const_cast<void*>(a.x.data)), static_cast<float*>(a.out.data),
                                     p.rows, p.width, out_stride(p)});
  }
  static void reference(const Flawed& p, const Args& a) {
    const auto* x = static_cast<const float*>(a.x.data);
    auto* out = static_cast<float*>(a.out.data);
    for (std::int64_t r = 0; r < p.rows; ++r) {
      for (std::int64_t c = 0; c < p.width; ++c) out[r * out_stride(p) + c] = x[r * p.width + c] + 1.0f;
    }
  }
  static Tolerance tolerance(const Flawed&, int) { return {}; }
  static std::int64_t bytes(const Flawed& p) { return 8 * p.rows * p.width; }
  static bool generate(const Flawed&, int, std::uint64_t, void*) { return false; }
};

}  // namespace

const Family& Flawed::family() {
  static const Family family = make_family<FlawedFamily>();
  return family;
}

}  // namespace quern::test
