// The family's descriptor: tables, and functions from a problem to constants and to a launch. Everything generic
// (texts, checks, command line, tests, benchmarks) reads it. quern/family.h specifies each function.
#include "skeleton/skeleton.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

#include "common/geometry.h"
#include "common/host_types.h"
#include "quern_embedded/skeleton.h"
#include "skeleton/params.h"

namespace quern {
namespace {

constexpr DTypeSet kElementTypes = only(f32) | only(f16) | only(bf16);
constexpr std::int32_t kMaxWarps = 8;
constexpr std::int32_t kMaxThreads = 32 * kMaxWarps;

// The tuning space, in the order of kParameters: each parameter's legal values.
enum Parameters { kVector, kUnroll, kWarps, kPersistent, kBlocksPerSm };
constexpr std::int32_t kVectors[] = {2, 4, 8, 16, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kWarpCounts[] = {1, 2, 4, kMaxWarps, kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};
constexpr std::int32_t kBlockCounts[] = {0, 1, 2, 4, 8, kNoMore};

std::int64_t element_bytes(const Skeleton& p) { return bytes(p.dtype); }
std::int64_t row_bytes(const Skeleton& p) { return p.width * element_bytes(p); }

// The constraints between a problem and a config. Each has a sentence in kConstraints.
bool vector_divides(const Skeleton& p, const Target&, const Config& c) { return row_bytes(p) % c[kVector] == 0; }
bool vector_holds_elements(const Skeleton& p, const Target&, const Config& c) { return c[kVector] >= element_bytes(p); }

bool is_persistent(const Skeleton&, const Config& c) { return c[kPersistent] == 1; }

// The memory of each operand: dtype, rank, extents, elements between rows. DType::none: it is absent.
Layout x_layout(const Skeleton& p) { return Layout::matrix(p.dtype, p.rows, p.width, p.width); }
Layout out_layout(const Skeleton& p) { return Layout::list(f32, p.rows); }

template <Layout (*F)(const Skeleton&)>
constexpr auto layout = &layout_of<Skeleton, F>;
template <bool (*F)(const Skeleton&, const Target&, const Config&)>
constexpr auto holds = &holds_for<Skeleton, F>;
template <bool (*F)(const Skeleton&, const Config&)>
constexpr auto applies = &applies_to<Skeleton, F>;

// Generated data: multiples of 1/8 in [-4, 4), whose sums are exact below 2^19 elements, so that a lost or doubled
// element is detected at any tolerance. About every 16th row has an infinity or a NaN.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  template <class T>
  void fill_row(T* row, std::int64_t width) {
    for (std::int64_t i = 0; i < width; ++i) row[i] = number<T>(static_cast<double>(next() % 64) * 0.125 - 4.0);
    if (width > 0 && next() % 16 == 0)
      row[next() % static_cast<std::uint64_t>(width)] = number<T>(kWild[next() % std::size(kWild)]);
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kWild[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};

  template <class T>
  static T number(double value) {
    return common::from_compute<T>(static_cast<common::ComputeOf<T>>(value));
  }
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 33;
  }
  std::uint64_t state_;
};

struct SkeletonFamily {
  using Problem = Skeleton;
  using Args = SkeletonArgs;
  static constexpr const char* kName = "skeleton";  // the folder's name
  static constexpr const char* kSentence = "row sums: out[r] = x[r, 0] + x[r, 1] + …, in fp32";

  // One row per member of the problem. Parsing, printing, equality, hash and range checks come from this table.
  static constexpr Field kFields[] = {
      extent_field("rows", offsetof(Skeleton, rows), true, "rows of x, and elements of out"),
      extent_field("width", offsetof(Skeleton, width), false, "elements in a row"),
      dtype_field("dtype", offsetof(Skeleton, dtype), kElementTypes, "element type of x"),
  };
  // One row per In or Out. `bulk` (the 4th column): read or written in vectors, so its address selects the variant.
  static constexpr Operand kOperands[] = {
      {"x", Role::input, offsetof(SkeletonArgs, x), true, layout<x_layout>, "[rows, width]", "the rows to add up"},
      {"out", Role::output, offsetof(SkeletonArgs, out), false, layout<out_layout>, "[rows]", "their sums"},
  };
  // The fields that a launch may close. The last column: a function that says whether it must; null: always.
  static constexpr LaunchExtent kLaunchExtents[] = {{"rows", offsetof(SkeletonArgs, rows), nullptr}};
  // compiled (the 3rd column) false: the parameter reaches the geometry only, so its values share one image. The last
  // column: a function that says whether the parameter applies; none: always. If it does not, its value is 0, or the
  // value given after that function.
  static constexpr Parameter kParameters[] = {
      {"vector", kVectors, true, "bytes per access"},
      {"unroll", kUnrolls, true, "16-byte chunks in flight per thread"},
      {"warps", kWarpCounts, false, "rows at a time, and warps, in a block; fewer where a problem is small"},
      {"persistent", kSwitch, true, "1: a persistent, grid-stride kernel"},
      {"blocks_per_sm", kBlockCounts, false, "blocks per SM, at most, of a persistent kernel; 0: no limit",
       applies<is_persistent>},
  };
  static constexpr Constraint kConstraints[] = {
      {"the vector must divide the row length", holds<vector_divides>},
      {"a vector must hold whole elements", holds<vector_holds_elements>},
  };
  // The problems that `quern bench` and the sweeps run: texts with every extent closed.
  static constexpr const char* kBenchCases[] = {
      "skeleton rows=64 width=4096 dtype=bf16",
      "skeleton rows=65536 width=4096 dtype=bf16",
      "skeleton rows=65536 width=4096 dtype=f32",
      "skeleton rows=65536 width=4097 dtype=bf16",
  };
  // From which problems are drawn at random: `quern bench --draw`.
  static constexpr const char* kDraws[] = {
      "rows=1..65536",
      "width=64..16384/64 | width=8..8192",
      "dtype=bf16 | dtype=f32",
  };

  static Table<Scalar> scalars() { return {}; }  // run-time numbers; pointwise has some
  static Table<SourceFile> sources() { return embedded::skeleton_sources(); }

  // The rules between fields that the field table cannot express; "" if they hold. Open extents are kOpen.
  static std::string check(const Skeleton&) { return {}; }

  // The default configs, in order of preference. The last variant takes any element-aligned address.
  static int variants(const Skeleton& p, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    Config config;
    config[kVector] = static_cast<std::int32_t>(common::common_alignment({row_bytes(p)}, 16));
    config[kUnroll] = 4;
    config[kWarps] = kMaxWarps;
    Config any = config;
    any[kVector] = static_cast<std::int32_t>(element_bytes(p));
    if (config == any) return out[0] = {"element", any}, 1;
    out[0] = {"vector", config};
    out[1] = {"element", any};
    return 2;
  }

  // The alignment that a config requires of a bulk operand; the second parameter is the operand's index in kOperands.
  static std::uint32_t alignment(const Skeleton&, int, const Config& config) {
    return static_cast<std::uint32_t>(config[kVector]);
  }

  // The constants of the image. Only they reach the source, so leave out what should not split images: row counts,
  // warps.
  static void specialize(const Skeleton& p, const Target&, const Config& config, Spec& spec) {
    spec.integer("params_bytes", sizeof(skeleton::Params));
    spec.integer("max_threads", kMaxThreads);
    spec.integer("vector", config[kVector]);
    spec.integer("unroll", config[kUnroll]);
    spec.flag("persistent", config[kPersistent] == 1);
    spec.type("Element", common::spec_type(p.dtype));
  }

  // On the launch path: extents are closed, nothing may be allocated. The caller refuses a grid that is too large.
  static void launch(const Skeleton& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
    const auto rows = static_cast<std::uint64_t>(p.rows);
    const auto blocks = [&](int warps) {
      return (rows + static_cast<unsigned>(warps) - 1) / static_cast<unsigned>(warps);
    };
    int warps = config[kWarps];
    while (warps > 1 && blocks(warps) < 2 * static_cast<std::uint64_t>(model.multiprocessors)) warps /= 2;
    launch.empty = rows == 0;  // not for width=0: the sum of nothing is 0, and has to be written
    launch.block[0] = static_cast<std::uint32_t>(32 * warps);
    launch.grid[0] =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks(warps), std::numeric_limits<std::uint32_t>::max()));
    common::limit_grid(config[kBlocksPerSm], model, launch);
    launch.set_params(skeleton::Params{a.x.data, a.out.data, p.rows, p.width});
  }

  // As simple as possible, in double; reads and writes host memory.
  static void reference(const Skeleton& p, const Args& a) {
    common::with_float(p.dtype, [&](auto x) {
      const auto* row = static_cast<const decltype(x)*>(a.x.data);
      auto* out = static_cast<float*>(a.out.data);
      for (std::int64_t r = 0; r < p.rows; ++r, row += p.width) {
        double sum = 0;
        for (std::int64_t i = 0; i < p.width; ++i) sum += static_cast<double>(common::to_compute(row[i]));
        out[r] = static_cast<float>(sum);
      }
    });
  }

  // Each addition on the way to the result may be half a unit off, and the reference is rounded once. Rows that cancel
  // lose more, in ulps of the result: for them the bound is that of partial sums up to sqrt(width), the expected
  // magnitude of partial sums of numbers of about 1 and of either sign.
  static Tolerance tolerance(const Skeleton& p, int) {
    const std::int64_t chunk = 16 / element_bytes(p);
    const std::int64_t chunks_a_lane = (p.width + 32 * chunk - 1) / (32 * chunk);
    const auto additions = static_cast<double>(chunks_a_lane * chunk + 5);
    return {additions + 1, additions * std::sqrt(static_cast<double>(p.width)) * 0x1p-24};
  }

  // The fewest bytes that must move: GB/s and the percentage of a copy are computed from them.
  static std::int64_t bytes(const Skeleton& p) { return p.rows * row_bytes(p) + p.rows * quern::bytes(f32); }

  // Data for an operand (by its index in kOperands) if random numbers are not suitable; false if they are.
  static bool generate(const Skeleton& p, int, std::uint64_t seed, void* data) {
    Generator generator(seed);
    common::with_float(p.dtype, [&](auto x) {
      auto* row = static_cast<decltype(x)*>(data);
      for (std::int64_t r = 0; r < p.rows; ++r, row += p.width) generator.fill_row(row, p.width);
    });
    return true;
  }
};

}  // namespace

const Family& Skeleton::family() {
  static const Family family = make_family<SkeletonFamily>();
  return family;
}

}  // namespace quern
