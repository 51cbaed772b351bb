#include "interaction/interaction.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "common/geometry.h"
#include "common/host_types.h"
#include "interaction/params.h"
#include "interaction/problem.h"
#include "interaction/shape.h"
#include "quern_embedded/interaction.h"

namespace quern {
namespace {

using namespace interaction;

constexpr const char* kForms[] = {QUERN_INTERACTION_FORMS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kPasses[] = {QUERN_INTERACTION_PASSES(QUERN_CHOICE_NAME) nullptr};

// In the order of kOperands.
enum OperandNumber { kSource, kOut, kGradient, kSourceGradient };
// In the order of kParameters.
enum Parameters { kWhole, kUnroll, kBand, kNumbers, kThreads };
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kBands[] = {16, 32, kNoMore};
constexpr std::int32_t kNumberCounts[] = {32, 64, 128, kNoMore};
constexpr std::int32_t kThreadCounts[] = {32, 64, 128, 256, kNoMore};

constexpr std::int64_t kSharedBytes = std::int64_t{48} * 1024;  // without asking the driver
constexpr std::int32_t kOuterThreads = 256;                     // backward: the order of additions is that of 8 warps
constexpr std::int32_t kMostLowerThreads = 128;

// The kernel, by what it reads: lower forward of fp32 goes through shared memory, outer forward reads number by number.
bool stages_numbers(const Interaction& p) { return is_lower(p) && !is_backward(p) && !by_tensor_cores(p); }
bool reads_columns(const Interaction& p) { return is_lower(p) || is_backward(p); }
const char* part_of(const Interaction& p) {
  if (!is_lower(p)) return is_backward(p) ? "interaction/outer_backward.cuh" : "interaction/outer.cuh";
  if (by_tensor_cores(p)) return is_backward(p) ? "interaction/lower_mma_backward.cuh" : "interaction/lower_mma.cuh";
  return is_backward(p) ? "interaction/lower_fma_backward.cuh" : "interaction/lower_fma.cuh";
}

bool whole_applies(const Interaction& p, const Config&) { return reads_columns(p); }
bool unroll_applies(const Interaction& p, const Config&) { return !stages_numbers(p); }
bool band_applies(const Interaction& p, const Config&) { return is_lower(p) && !stages_numbers(p); }
bool numbers_apply(const Interaction& p, const Config&) { return stages_numbers(p); }
bool threads_apply(const Interaction& p, const Config&) { return is_lower(p) || !is_backward(p); }

std::int64_t bytes_of_warp(const Interaction& p, const Config& c) { return warp_bytes(p, c[kNumbers], c[kBand]); }
std::int64_t bytes_of_block(const Interaction& p, const Config& c, std::int64_t threads) {
  return is_lower(p) ? threads / 32 * bytes_of_warp(p, c) : block_bytes(p);
}

bool rows_divide(const Interaction& p, const Target&, const Config& c) { return c[kWhole] == 0 || may_be_whole(p); }
bool few_in_flight(const Interaction& p, const Target&, const Config& c) {
  return p.form == InteractionForm::outer || (is_upper(p) && !is_backward(p)) || c[kUnroll] <= 4;
}
bool block_is_narrow(const Interaction& p, const Target&, const Config& c) {
  return !is_lower(p) || c[kThreads] <= kMostLowerThreads;
}
bool block_fits(const Interaction& p, const Target& t, const Config& c) {
  return bytes_of_block(p, c, c[kThreads]) <= common::resident_shared_bytes(t);
}

Layout samples(const Interaction& p, bool present) {
  const DType dtype = present ? p.dtype : DType::none;
  return Layout::matrices(dtype, p.batch, p.features, p.dim, source_stride(p), p.dim);
}
Layout rows(const Interaction& p, bool present) {
  return Layout::matrix(present ? p.dtype : DType::none, p.batch, columns_of(p), out_stride(p));
}
Layout source_layout(const Interaction& p) { return samples(p, true); }
Layout out_layout(const Interaction& p) { return rows(p, !is_backward(p)); }
Layout gradient_layout(const Interaction& p) { return rows(p, is_backward(p)); }
Layout source_gradient_layout(const Interaction& p) { return samples(p, is_backward(p)); }

template <Layout (*F)(const Interaction&)>
constexpr auto layout = &layout_of<Interaction, F>;
template <bool (*F)(const Interaction&, const Target&, const Config&)>
constexpr auto holds = &holds_for<Interaction, F>;
template <bool (*F)(const Interaction&, const Config&)>
constexpr auto applies = &applies_to<Interaction, F>;

struct InteractionFamily {
  using Problem = Interaction;
  using Args = InteractionArgs;
  static constexpr const char* kName = "interaction";
  static constexpr const char* kSentence =
      "products of features: of all numbers of a sample, or the inner products of pairs of its vectors";

  static constexpr Field kFields[] = {
      choice_field(
          "form", offsetof(Interaction, form), kForms,
          "lower: inner products of pairs of vectors, after the dense numbers; outer: c[i] * c[j] for all i, j; "
          "upper: for i < j"),
      extent_field("batch", offsetof(Interaction, batch), true, "samples"),
      extent_field("features", offsetof(Interaction, features), false, "vectors of a sample"),
      extent_field("dim", offsetof(Interaction, dim), false, "numbers of a vector"),
      dtype_field("dtype", offsetof(Interaction, dtype), only(DType::f32) | only(DType::bf16) | only(DType::f16),
                  "element type of all operands"),
      integer_field("source_stride", offsetof(Interaction, source_stride), 0, kMaxExtent,
                    "elements between samples of source; 0: features * dim"),
      integer_field("out_stride", offsetof(Interaction, out_stride), 0, kMaxExtent,
                    "elements between rows of out; 0: its columns"),
      integer_field("diagonal", offsetof(Interaction, diagonal), 0, 1, "lower, upper: 1: the pairs with i = j too"),
      integer_field("dense", offsetof(Interaction, dense), 0, kMaxExtent,
                    "lower: numbers of each sample that come first in its row of out"),
      choice_field("pass", offsetof(Interaction, pass), kPasses, "backward: the gradient of source"),
  };
  static constexpr Operand kOperands[] = {
      {"source", Role::input, offsetof(InteractionArgs, source), true, layout<source_layout>, "[batch, features, dim]",
       "the vectors of each sample"},
      {"out", Role::output, offsetof(InteractionArgs, out), true, layout<out_layout>, "[batch, columns]",
       "forward: the products of each sample"},
      {"gradient", Role::input, offsetof(InteractionArgs, gradient), true, layout<gradient_layout>, "[batch, columns]",
       "backward: the gradient of out"},
      {"source_gradient", Role::output, offsetof(InteractionArgs, source_gradient), true,
       layout<source_gradient_layout>, "[batch, features, dim]", "backward: the gradient of source"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"batch", offsetof(InteractionArgs, batch), nullptr}};
  static constexpr Parameter kParameters[] = {
      {"whole", kSwitch, true, "1: rows are read in aligned accesses of 16 bytes; 0: at any address",
       applies<whole_applies>},
      {"unroll", kUnrolls, true, "loads in flight per thread; outer forward: accesses of out per thread",
       applies<unroll_applies>, 1},
      {"band", kBands, true, "vectors whose sums a warp has at once", applies<band_applies>, 32},
      {"numbers", kNumberCounts, true, "numbers of each vector that are in shared memory at once",
       applies<numbers_apply>, 32},
      {"threads", kThreadCounts, false, "threads per block; fewer where a batch is small or memory is short",
       applies<threads_apply>, kOuterThreads},
  };
  static constexpr Constraint kConstraints[] = {
      {"aligned accesses need vectors, or rows, and strides of multiples of 16 bytes", holds<rows_divide>},
      {"unroll=8 is for form=outer, and form=upper forward", holds<few_in_flight>},
      {"form=lower takes blocks of up to 128 threads", holds<block_is_narrow>},
      {"a block's memory must fit the shared memory of a multiprocessor", holds<block_fits>},
  };
  // DLRM: 13 dense features and 26 sparse ones as outer product, and at the size of its benchmarks as pairs of vectors;
  // and odd sizes.
  static constexpr const char* kBenchCases[] = {
      "interaction form=outer batch=128 features=1 dim=432 dtype=f32",
      "interaction form=outer batch=128 features=1 dim=432 dtype=f32 pass=backward",
      "interaction form=outer batch=128 features=1 dim=432",
      "interaction form=outer batch=512 features=27 dim=13",
      "interaction form=upper batch=128 features=1 dim=432 dtype=f32",
      "interaction batch=65536 features=27 dim=128 dense=128",
      "interaction batch=65536 features=27 dim=128 dense=128 pass=backward",
      "interaction batch=65536 features=27 dim=128",
      "interaction batch=65536 features=27 dim=128 dense=128 dtype=f32",
      "interaction batch=65536 features=27 dim=128 dense=128 dtype=f32 pass=backward",
      "interaction batch=65536 features=27 dim=16 dense=16 diagonal=1",
      "interaction batch=2048 features=27 dim=64 dense=64 dtype=f16",
      "interaction batch=32768 features=40 dim=128 dense=128",
      "interaction batch=32768 features=9 dim=127 dense=127",
      "interaction batch=32768 features=9 dim=127 dense=127 pass=backward",
  };
  static constexpr const char* kDraws[] = {
      "batch=16..131072",
      "features=2..64 | features=2..32",
      "dim=8..256/8 | dim=8..256/8 | dim=1..256",
      "dtype=bf16 | dtype=f16 | dtype=f32",
      "diagonal=0 | diagonal=1",
      "form=lower | form=lower pass=backward",
  };

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::interaction_sources(); }
  static std::string check(const Interaction& p) { return interaction::check(p); }

  static std::int32_t unroll_for(const Interaction& p, bool whole) {
    if (!is_lower(p)) return is_backward(p) && !whole ? 2 : 4;
    if (stages_numbers(p)) return 1;
    if (!by_tensor_cores(p)) return 4;
    if (!whole) return 1;  // a column takes ten registers until it is whole
    if (is_backward(p)) return p.features > 16 ? 2 : 1;
    const std::int64_t steps = common::divide_up(p.dim, 32);
    // 65536 x 27 x 128 with 128 dense numbers 157 us on an H200, with four 164; 8192 x 20 x 128 with 64 21.5 and 16.8.
    const bool many = p.features > 32 || (p.features > 24 && p.dense > 0);
    return steps == 1 ? 1 : steps == 2 || many ? 2 : 4;
  }

  static Config config_for(const Interaction& p, bool whole) {
    Config config;
    config[kWhole] = whole ? 1 : 0;
    config[kUnroll] = unroll_for(p, whole);
    config[kBand] = band_applies(p, config) && p.features <= 16 ? 16 : 32;
    config[kNumbers] = stages_numbers(p) && p.dim > 32 ? 64 : 32;
    config[kThreads] = is_lower(p) ? kMostLowerThreads : kOuterThreads;
    while (config[kThreads] > 32 && bytes_of_block(p, config, config[kThreads]) > kSharedBytes) config[kThreads] /= 2;
    return config;
  }

  static int variants(const Interaction& p, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    int count = 0;
    if (reads_columns(p) && may_be_whole(p)) out[count++] = {"whole", config_for(p, true)};
    out[count++] = {"any", config_for(p, false)};
    return count;
  }

  // Lower backward writes source_gradient in the same accesses; what else is written takes any address.
  static std::uint32_t alignment(const Interaction& p, int operand, const Config& config) {
    const bool read =
        operand == kSource || (operand == kGradient && !is_lower(p)) || (operand == kSourceGradient && is_lower(p));
    return config[kWhole] == 1 && read ? 16 : 1;
  }

  static void specialize(const Interaction& p, const Target&, const Config& config, Spec& spec) {
    spec.header("common/numbers.cuh");
    spec.integer("params_bytes", sizeof(Params));
    spec.integer("max_threads", is_lower(p) ? kMostLowerThreads : kOuterThreads);
    spec.type("Number", common::spec_type(p.dtype));
    spec.flag("whole", config[kWhole] == 1);
    spec.integer("unroll", config[kUnroll]);
    spec.integer("band", config[kBand]);
    spec.flag("one_band", is_lower(p) && p.features <= config[kBand]);
    spec.integer("numbers", config[kNumbers]);
    spec.flag("diagonal", has_diagonal(p));
    spec.flag("upper", is_upper(p));
    spec.flag("has_dense", p.dense != 0);
    spec.flag("dense_with_pairs", dense_with_pairs(p));
    spec.part(part_of(p));
  }

  // The warps of a block in the form lower: fewer where a small batch would leave multiprocessors idle.
  static std::int64_t threads_for(const Interaction& p, const DeviceModel& model, const Config& config) {
    std::int64_t threads = config[kThreads];
    while (is_lower(p) && threads > 32 && p.batch < threads / 32 * 2 * model.multiprocessors) threads /= 2;
    return threads;
  }

  static void launch(const Interaction& p, const Args& a, const DeviceModel& model, const Config& config,
                     Launch& launch) {
    launch.empty = p.batch == 0 || (!is_backward(p) && columns_of(p) == 0);
    if (launch.empty) return;
    const std::int64_t size = element_bytes(p), threads = threads_for(p, model, config);
    const auto bytes_at = [](const void* data) { return static_cast<const unsigned char*>(data); };
    const auto span = [&](std::int64_t stride, std::int64_t row) { return ((p.batch - 1) * stride + row) * size; };
    auto& params = launch.make_params<Params>();
    params.source = bytes_at(a.source.data);
    if (params.source != nullptr) params.source_end = params.source + span(source_stride(p), numbers_of(p));
    params.out = static_cast<unsigned char*>(is_backward(p) ? a.source_gradient.data : a.out.data);
    params.gradient = bytes_at(a.gradient.data);
    if (params.gradient != nullptr) params.gradient_end = params.gradient + span(out_stride(p), columns_of(p));
    params.source_stride = source_stride(p) * size;
    params.out_stride = out_stride(p) * size;
    params.batch = p.batch;
    params.features = static_cast<unsigned>(p.features);
    params.dim = static_cast<unsigned>(p.dim);
    params.dense = static_cast<unsigned>(p.dense);
    std::int64_t blocks = p.batch;
    if (is_lower(p)) {
      params.warp_bytes = static_cast<unsigned>(bytes_of_warp(p, config));
      blocks = common::divide_up(p.batch, threads / 32);
    } else if (!is_backward(p)) {
      const std::int64_t parts = common::divide_up(row_accesses(p), threads * config[kUnroll]);
      params.per_row = common::make_divisor32(static_cast<std::uint64_t>(numbers_of(p)));
      params.parts = common::make_divisor32(static_cast<std::uint64_t>(parts));
      params.parts_of_sample = static_cast<unsigned>(parts);
      blocks = p.batch * parts;
    }
    launch.block[0] = static_cast<std::uint32_t>(threads);
    launch.grid[0] =
        static_cast<std::uint32_t>(std::min<std::int64_t>(blocks, std::numeric_limits<std::uint32_t>::max()));
    launch.shared_bytes = static_cast<std::uint32_t>(bytes_of_block(p, config, threads));
  }

  static void reference(const Interaction& p, const Args& a) { interaction::reference(p, a); }
  static Tolerance tolerance(const Interaction& p, int) { return interaction::tolerance(p); }
  static std::int64_t bytes(const Interaction& p) {
    return p.batch * (numbers_of(p) * (is_backward(p) ? 2 : 1) + columns_of(p)) * element_bytes(p);
  }
  static bool generate(const Interaction& p, int operand, std::uint64_t seed, void* data) {
    if (operand == kGradient) return generate_gradient(p, seed, data), true;
    if (!is_lower(p) && !is_backward(p)) return false;
    generate_source(p, seed, data);
    return true;
  }
};

}  // namespace

const Family& Interaction::family() {
  static const Family family = make_family<InteractionFamily>();
  return family;
}

}  // namespace quern
