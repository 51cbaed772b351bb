#include "scale_rows/scale_rows.h"

#include <cstddef>

#include "quern_embedded/scale_rows.h"
#include "scale_rows/params.h"

namespace app {
namespace {

constexpr std::int32_t kThreadCounts[] = {64, 128, 256, quern::kNoMore};

quern::Layout matrix(const ScaleRows& p) { return quern::Layout::matrix(quern::f32, p.rows, p.width, p.width); }
quern::Layout vector(const ScaleRows& p) { return quern::Layout::list(quern::f32, p.rows); }

template <quern::Layout (*F)(const ScaleRows&)>
constexpr auto layout = &quern::layout_of<ScaleRows, F>;

struct ScaleRowsFamily {
  using Problem = ScaleRows;
  using Args = ScaleRowsArgs;
  static constexpr const char* kName = "scale_rows";
  static constexpr const char* kSentence = "rows times a factor each: out[i, :] = scale[i] * x[i, :]";

  static constexpr quern::Field kFields[] = {
      quern::extent_field("rows", offsetof(ScaleRows, rows), true, "rows of x and out"),
      quern::extent_field("width", offsetof(ScaleRows, width), false, "elements in a row"),
  };
  static constexpr quern::Operand kOperands[] = {
      {"x", quern::Role::input, offsetof(Args, x), true, layout<matrix>, "[rows, width]", "what is scaled"},
      {"scale", quern::Role::input, offsetof(Args, scale), false, layout<vector>, "[rows]", "a factor a row"},
      {"out", quern::Role::output, offsetof(Args, out), true, layout<matrix>, "[rows, width]", "the product"},
  };
  static constexpr quern::LaunchExtent kLaunchExtents[] = {{"rows", offsetof(Args, rows), nullptr}};
  static constexpr quern::Parameter kParameters[] = {{"threads", kThreadCounts, true, "threads in a block"}};
  static constexpr quern::Table<quern::Constraint> kConstraints{};
  static constexpr const char* kBenchCases[] = {"scale_rows rows=4096 width=4096"};

  static quern::Table<quern::Scalar> scalars() { return {}; }
  static quern::Table<quern::SourceFile> sources() { return quern::embedded::scale_rows_sources(); }

  static std::string check(const ScaleRows& p) {
    if (p.rows > 0x7fffffff) return "rows is too large: a grid has 2147483647 blocks";
    return {};
  }
  static int variants(const ScaleRows& p, const quern::Target&, const quern::DeviceModel&,
                      quern::Variant (&out)[quern::kMaxVariants]) {
    out[0].name = "any";
    out[0].config[0] = p.width < 1024 ? 64 : 256;
    return 1;
  }
  static std::uint32_t alignment(const ScaleRows&, int, const quern::Config&) { return 4; }
  static void specialize(const ScaleRows&, const quern::Target&, const quern::Config& config, quern::Spec& spec) {
    spec.integer("params_bytes", sizeof(scale_rows::Params));
    spec.integer("threads", config[0]);
  }
  static void launch(const ScaleRows& p, const Args& a, const quern::DeviceModel&, const quern::Config& config,
                     quern::Launch& launch) {
    launch.grid[0] = static_cast<std::uint32_t>(p.rows);
    launch.block[0] = static_cast<std::uint32_t>(config[0]);
    launch.empty = p.rows == 0 || p.width == 0;
    launch.set_params(scale_rows::Params{static_cast<const float*>(a.x.data), static_cast<const float*>(a.scale.data),
                                         static_cast<float*>(a.out.data), p.width});
  }
  static void reference(const ScaleRows& p, const Args& a) {
    const auto* x = static_cast<const float*>(a.x.data);
    const auto* scale = static_cast<const float*>(a.scale.data);
    auto* out = static_cast<float*>(a.out.data);
    for (std::int64_t i = 0; i < p.rows * p.width; ++i) out[i] = x[i] * scale[i / p.width];
  }
  static quern::Tolerance tolerance(const ScaleRows&, int) { return {}; }
  static std::int64_t bytes(const ScaleRows& p) { return 8 * p.rows * p.width + 4 * p.rows; }
  static bool generate(const ScaleRows&, int, std::uint64_t, void*) { return false; }
};

}  // namespace

const quern::Family& ScaleRows::family() {
  static const quern::Family family = quern::make_family<ScaleRowsFamily>();
  return family;
}

}  // namespace app
