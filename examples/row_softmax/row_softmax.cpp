// The family's descriptor: tables, and functions from a problem to constants and to a launch. What each must promise is
// said in quern/family.h.
#include "row_softmax/row_softmax.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "common/geometry.h"
#include "common/host_types.h"
#include "quern_embedded/row_softmax.h"
#include "row_softmax/params.h"

namespace examples {
namespace {

namespace common = quern::common;
using quern::Config;
using quern::Target;

constexpr quern::DTypeSet kElementTypes = quern::only(quern::f32) | quern::only(quern::f16) | quern::only(quern::bf16);
constexpr std::int64_t kChunkBytes = 16;
constexpr std::int64_t kMaxHeld = 16;  // chunks, which are 64 registers
constexpr std::int32_t kMaxWarps = 8;

// The tuning space, in the order of kParameters.
enum Parameters { kVector, kHold, kUnroll, kWarps };
constexpr std::int32_t kVectors[] = {2, 4, 8, 16, quern::kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, quern::kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, quern::kNoMore};
constexpr std::int32_t kWarpCounts[] = {1, 2, 4, kMaxWarps, quern::kNoMore};

std::int64_t element_bytes(const RowSoftmax& p) { return quern::bytes(p.dtype); }
std::int64_t row_bytes(const RowSoftmax& p) { return p.width * element_bytes(p); }
std::int64_t chunks_a_lane(const RowSoftmax& p) { return (row_bytes(p) + 32 * kChunkBytes - 1) / (32 * kChunkBytes); }

bool vector_divides(const RowSoftmax& p, const Target&, const Config& c) { return row_bytes(p) % c[kVector] == 0; }
bool vector_holds_elements(const RowSoftmax& p, const Target&, const Config& c) {
  return c[kVector] >= element_bytes(p);
}
bool can_hold(const RowSoftmax& p, const Config&) { return chunks_a_lane(p) >= 1 && chunks_a_lane(p) <= kMaxHeld; }
bool reads_in_passes(const RowSoftmax&, const Config& c) { return c[kHold] == 0; }

quern::Layout matrix(const RowSoftmax& p) { return quern::Layout::matrix(p.dtype, p.rows, p.width, p.width); }

struct RowSoftmaxFamily {
  using Problem = RowSoftmax;
  using Args = RowSoftmaxArgs;
  static constexpr const char* kName = "row_softmax";
  static constexpr const char* kSentence =
      "softmax of rows: out[r, i] = exp(x[r, i] - max) / sum of exp(x[r, :] - max)";

  static constexpr quern::Field kFields[] = {
      quern::extent_field("rows", offsetof(RowSoftmax, rows), true, "rows of x and out"),
      quern::extent_field("width", offsetof(RowSoftmax, width), false, "elements in a row"),
      quern::dtype_field("dtype", offsetof(RowSoftmax, dtype), kElementTypes, "element type of x and out"),
  };
  static constexpr quern::Operand kOperands[] = {
      {"x", quern::Role::input, offsetof(RowSoftmaxArgs, x), true, &quern::layout_of<RowSoftmax, matrix>,
       "[rows, width]", "the rows"},
      {"out", quern::Role::output, offsetof(RowSoftmaxArgs, out), true, &quern::layout_of<RowSoftmax, matrix>,
       "[rows, width]", "their softmax"},
  };
  static constexpr quern::LaunchExtent kLaunchExtents[] = {{"rows", offsetof(RowSoftmaxArgs, rows), nullptr}};
  static constexpr quern::Parameter kParameters[] = {
      {"vector", kVectors, true, "bytes per access"},
      {"hold", kSwitch, true, "1: a row stays in registers and is read once", &quern::applies_to<RowSoftmax, can_hold>},
      {"unroll", kUnrolls, true, "16-byte chunks in flight per thread, where rows are read in each pass",
       &quern::applies_to<RowSoftmax, reads_in_passes>, 1},
      {"warps", kWarpCounts, false, "rows, and warps, in a block"},
  };
  static constexpr quern::Constraint kConstraints[] = {
      {"the vector must divide the row length", &quern::holds_for<RowSoftmax, vector_divides>},
      {"a vector must hold whole elements", &quern::holds_for<RowSoftmax, vector_holds_elements>},
  };
  static constexpr const char* kBenchCases[] = {
      "row_softmax rows=65536 width=1024 dtype=bf16",
      "row_softmax rows=4096 width=32768 dtype=f32",
  };

  static quern::Table<quern::Scalar> scalars() { return {}; }
  static quern::Table<quern::SourceFile> sources() { return quern::embedded::row_softmax_sources(); }
  static std::string check(const RowSoftmax&) { return {}; }

  static int variants(const RowSoftmax& p, const Target&, const quern::DeviceModel&,
                      quern::Variant (&out)[quern::kMaxVariants]) {
    Config config;
    config[kVector] = static_cast<std::int32_t>(common::common_alignment({row_bytes(p)}, kChunkBytes));
    config[kHold] = can_hold(p, config) ? 1 : 0;
    config[kUnroll] = reads_in_passes(p, config) ? 4 : 1;
    config[kWarps] = 4;
    Config any = config;
    any[kVector] = static_cast<std::int32_t>(element_bytes(p));
    if (config == any) return out[0] = {"element", any}, 1;
    out[0] = {"vector", config};
    out[1] = {"element", any};
    return 2;
  }

  static std::uint32_t alignment(const RowSoftmax&, int, const Config& config) {
    return static_cast<std::uint32_t>(config[kVector]);
  }

  static void specialize(const RowSoftmax& p, const Target&, const Config& config, quern::Spec& spec) {
    spec.integer("params_bytes", sizeof(row_softmax::Params));
    spec.integer("max_threads", 32 * kMaxWarps);
    spec.integer("vector", config[kVector]);
    spec.integer("held", config[kHold] == 1 ? chunks_a_lane(p) : 0);
    spec.integer("unroll", config[kUnroll]);
    spec.type("Element", common::spec_type(p.dtype));
  }

  static void launch(const RowSoftmax& p, const Args& a, const quern::DeviceModel&, const Config& config,
                     quern::Launch& launch) {
    const auto warps = static_cast<std::uint64_t>(config[kWarps]);
    const std::uint64_t blocks = (static_cast<std::uint64_t>(p.rows) + warps - 1) / warps;
    launch.empty = p.rows == 0 || p.width == 0;
    launch.block[0] = static_cast<std::uint32_t>(32 * warps);
    launch.grid[0] =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, std::numeric_limits<std::uint32_t>::max()));
    launch.set_params(row_softmax::Params{a.x.data, a.out.data, p.rows, p.width});
  }

  // In double, but for x - max: that it is rounded to fp32 is part of the semantics, so it is not an error.
  static void reference(const RowSoftmax& p, const Args& a) {
    common::with_float(p.dtype, [&](auto example) {
      using Element = decltype(example);
      const auto* x = static_cast<const Element*>(a.x.data);
      auto* out = static_cast<Element*>(a.out.data);
      for (std::int64_t r = 0; r < p.rows; ++r, x += p.width, out += p.width) {
        bool has_nan = false;
        double maximum = -std::numeric_limits<double>::infinity();
        for (std::int64_t i = 0; i < p.width; ++i) {
          const auto value = static_cast<double>(common::to_compute(x[i]));
          has_nan = has_nan || std::isnan(value);
          maximum = std::max(maximum, value);
        }
        if (has_nan) maximum = std::numeric_limits<double>::quiet_NaN();
        const auto exponential = [&](std::int64_t i) {
          const double difference = static_cast<double>(common::to_compute(x[i])) - maximum;
          return std::exp(static_cast<double>(static_cast<float>(difference)));
        };
        double sum = 0;
        for (std::int64_t i = 0; i < p.width; ++i) sum += exponential(i);
        for (std::int64_t i = 0; i < p.width; ++i) {
          const double quotient = exponential(i) / sum;
          out[i] = common::from_compute<Element>(static_cast<common::ComputeOf<Element>>(quotient));
        }
      }
    });
  }

  // In units of fp32. A relative error of half a unit may be a whole unit of the result. So each addition on the way to
  // the sum counts 1, each of the two exponentials 4 (CUDA's expf is within 2 units), the quotient 1. Units of 16-bit
  // types are larger by 2^13 or 2^16, and rounding twice costs one of them.
  static quern::Tolerance tolerance(const RowSoftmax& p, int) {
    const auto additions = static_cast<double>(chunks_a_lane(p) * (kChunkBytes / element_bytes(p)) + 5);
    const double units = additions + 9;
    if (p.dtype == quern::f32) return {units};
    return {1 + units * (p.dtype == quern::f16 ? 0x1p-13 : 0x1p-16)};
  }

  static std::int64_t bytes(const RowSoftmax& p) { return 2 * p.rows * row_bytes(p); }

  static bool generate(const RowSoftmax&, int, std::uint64_t, void*) { return false; }
};

}  // namespace

const quern::Family& RowSoftmax::family() {
  static const quern::Family family = quern::make_family<RowSoftmaxFamily>();
  return family;
}

}  // namespace examples
