#include "mxfp8_dequantize/mxfp8_dequantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "common/geometry.h"
#include "common/host_types.h"
#include "mx/choice_names.h"
#include "mx/groups.h"
#include "mx/scales.h"
#include "mx/strided.h"
#include "mxfp8_dequantize/params.h"
#include "quern_embedded/mxfp8_dequantize.h"

namespace quern {
namespace {

using Problem = Mxfp8Dequantize;

constexpr DTypeSet kNumberTypes = only(f32) | only(f16) | only(bf16);
constexpr DTypeSet kElementTypes = only(e4m3) | only(e5m2);

// In the order of kParameters.
enum Parameters { kVector, kUnroll, kThreads, kStoreStream, kPersistent, kBlocksPerSm };
constexpr std::int32_t kVectors[] = {2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};
constexpr std::int32_t kBlockCounts[] = {0, 1, 2, 4, 8, kNoMore};

// ---- Properties of the problem

constexpr std::int64_t kWholeLine = std::int64_t{1} << 30;  // more than any line has

bool col(const Problem& p) { return p.direction == Mxfp8DequantizeDirection::col; }
bool transposed(const Problem& p) { return col(p) && p.out_order == Mxfp8DequantizeOrder::rows; }
bool blocked(const Problem& p) { return p.scale_layout == Mxfp8DequantizeScales::blocked; }
bool padded(const Problem& p) { return p.scale_layout == Mxfp8DequantizeScales::padded; }
bool square(const Problem& p) { return p.block != Mxfp8DequantizeBlock::line; }
bool one_scale_a_square(const Problem& p) { return p.block == Mxfp8DequantizeBlock::square && !blocked(p); }
bool has_given_scale(const Problem& p) { return p.scaling == Mxfp8DequantizeScaling::tensor; }
bool has_fp32_scales(const Problem& p) { return p.scaling != Mxfp8DequantizeScaling::mx; }
bool is_whole(const Problem& p) {
  return p.scaling != Mxfp8DequantizeScaling::row && p.tail == Mxfp8DequantizeTail::refuse;
}
bool is_empty(const Problem& p) { return p.experts == 0 || p.rows == 0 || p.cols == 0; }

std::int64_t number_bytes(const Problem& p) { return bytes(p.dtype); }

std::int64_t block_length(const Problem& p) {
  if (p.scaling == Mxfp8DequantizeScaling::row) return kWholeLine;
  return p.scaling == Mxfp8DequantizeScaling::block128 ? 128 : 32;
}

mx::ScaleGrid grid_of(const Problem& p) {
  return {p.experts,
          p.rows,
          p.cols,
          col(p),
          block_length(p),
          p.block == Mxfp8DequantizeBlock::square,
          0,
          p.tail == Mxfp8DequantizeTail::pad,
          has_fp32_scales(p) ? f32 : e8m0};
}

// The memory of the elements.
mx::Strided source_of(const Problem& p) {
  const std::int64_t rows = transposed(p) ? p.cols : p.rows, line = transposed(p) ? p.rows : p.cols;
  return {p.experts, rows, line, p.source_stride == 0 ? line : p.source_stride, p.source_expert_stride};
}
// Whether blocks lie along the lines of memory; otherwise they lie across them.
bool along(const Problem& p) { return !col(p) || transposed(p); }

// A vector of out must be a whole vector of elements, within one block if blocks lie along lines.
std::int64_t natural_vector(const Problem& p, std::int64_t limit) {
  const mx::Strided m = source_of(p);
  const bool whole = is_whole(p) && (along(p) || square(p));
  const std::int64_t line = m.line != kOpen ? m.line : whole ? block_length(p) : 1;
  const std::int64_t stride = p.source_stride != 0 ? p.source_stride : line, size = number_bytes(p);
  return common::common_alignment({line * size, stride * size, p.source_expert_stride * size}, limit);
}
using common::widest_access;

bool vector_divides(const Problem& p, const Target&, const Config& c) {
  return natural_vector(p, 32) % c[kVector] == 0;
}
bool vector_exists(const Problem&, const Target& t, const Config& c) { return c[kVector] <= widest_access(t); }
bool vector_holds_elements(const Problem& p, const Target&, const Config& c) { return c[kVector] >= number_bytes(p); }
bool registers_suffice(const Problem&, const Target&, const Config& c) { return c[kVector] * c[kUnroll] <= 128; }
bool is_persistent(const Problem&, const Config& c) { return c[kPersistent] == 1; }
bool blocks_are_resident(const Problem&, const Target& t, const Config& c) {
  return c[kBlocksPerSm] * c[kThreads] <= common::resident_threads(t);
}

Layout source_layout(const Problem& p) { return mx::strided_layout(p.element, source_of(p)); }
Layout scales_layout(const Problem& p) {
  if (has_given_scale(p)) return {};
  if (padded(p)) return mx::padded_layout(grid_of(p));
  return blocked(p) ? mx::blocked_layout(grid_of(p)) : mx::plain_layout(grid_of(p));
}
Layout given_scale_layout(const Problem& p) { return Layout::list(has_given_scale(p) ? f32 : DType::none, 1); }
Layout noop_layout(const Problem& p) {
  return Layout::list(p.noop == Mxfp8DequantizeNoop::flag ? f32 : DType::none, 1);
}
Layout out_layout(const Problem& p) {
  const mx::Strided m = source_of(p);
  return Layout::matrices(p.dtype, m.experts, m.rows, m.line, m.rows * m.line, m.line);
}

template <Layout (*F)(const Problem&)>
constexpr auto layout = &layout_of<Problem, F>;
template <bool (*F)(const Problem&, const Target&, const Config&)>
constexpr auto holds = &holds_for<Problem, F>;
template <bool (*F)(const Problem&, const Config&)>
constexpr auto applies = &applies_to<Problem, F>;

// ---- Refusals

std::string check_scales(const Problem& p) {
  if (padded(p) && p.block == Mxfp8DequantizeBlock::square)
    return "scale_layout=padded has a scale for each line: write block=square_spread for squares";
  if (!has_fp32_scales(p)) return {};
  const std::string scaling = std::string("scaling=") + mx::kScalings[static_cast<int>(p.scaling)];
  if (p.scale_layout != Mxfp8DequantizeScales::plain)
    return std::string("scale_layout=") + mx::kPaddedScaleLayouts[static_cast<int>(p.scale_layout)] +
           " goes with scaling=mx; " + scaling + " has plain scales";
  if (square(p)) return "blocks of squares go with scaling=mx; " + scaling + " has block=line";
  if (p.scaling != Mxfp8DequantizeScaling::row) return {};
  if (col(p)) return "scaling=row goes with direction=row";
  return p.tail == Mxfp8DequantizeTail::pad ? "tail=pad is for blocks; with scaling=row a row has any length" : "";
}

std::string check_blocks(const Problem& p) {
  if (!is_whole(p)) return {};
  const std::int64_t block = block_length(p);
  if ((!col(p) || square(p)) && !mx::has_whole_blocks(p.cols, block))
    return mx::cut_block_text("cols", p.cols, block, "rows");
  if ((col(p) || square(p)) && !mx::has_whole_blocks(p.rows, block))
    return mx::cut_block_text("rows", p.rows, block, "columns");
  return {};
}

// ---- The reference

double element_value(const Problem& p, std::uint8_t code) {
  return p.element == e4m3 ? common::E4m3::decode(code) : common::E5m2::decode(code);
}
double scale_value(const Problem& p, const void* scales, std::int64_t index) {
  if (has_fp32_scales(p)) return static_cast<const float*>(scales)[index];
  const std::uint8_t scale = static_cast<const std::uint8_t*>(scales)[index];
  return scale == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, scale - 127);
}
std::int64_t scale_index(const Problem& p, std::int64_t expert, std::int64_t line, std::int64_t block) {
  if (has_given_scale(p)) return 0;
  const mx::ScaleGrid grid = grid_of(p);
  if (padded(p)) return mx::padded_index(grid, expert, line, block);
  return blocked(p) ? mx::blocked_index(grid, expert, line, block) : mx::plain_index(grid, expert, line, block);
}

// Row `r`, counting the rows of all experts.
template <class T>
void dequantize_row(const Problem& p, const Mxfp8DequantizeArgs& a, std::int64_t r) {
  const mx::Strided m = source_of(p);
  const std::int64_t expert = r / m.rows, row = r % m.rows;
  const void* const scales = has_given_scale(p) ? a.given_scale.data : a.source_scales.data;
  const auto* const elements =
      static_cast<const std::uint8_t*>(a.source.data) + r * m.stride + expert * mx::expert_gap(m);
  T* const out = static_cast<T*>(a.out.data) + r * m.line;
  for (std::int64_t c = 0; c < m.line; ++c) {
    const std::int64_t line = along(p) ? row : c, block = (along(p) ? c : row) / block_length(p);
    const double x = element_value(p, elements[c]) * scale_value(p, scales, scale_index(p, expert, line, block));
    out[c] = common::from_compute<T>(static_cast<float>(x));
  }
}

struct Mxfp8DequantizeFamily {
  using Problem = Mxfp8Dequantize;
  using Args = Mxfp8DequantizeArgs;
  static constexpr const char* kName = "mxfp8_dequantize";
  static constexpr const char* kSentence = "what mxfp8 writes, elements and scales, back to numbers";

  static constexpr Field kFields[] = {
      extent_field("rows", offsetof(Problem, rows), true, "rows of the numbers, of each expert"),
      extent_field("cols", offsetof(Problem, cols), false, "columns of the numbers"),
      extent_field("experts", offsetof(Problem, experts), true, "matrices of one size"),
      choice_field("direction", offsetof(Problem, direction), mx::kDirections, "dimension along which blocks lie"),
      dtype_field("dtype", offsetof(Problem, dtype), kNumberTypes, "type of the numbers"),
      dtype_field("element", offsetof(Problem, element), kElementTypes, "element type of source"),
      choice_field("scaling", offsetof(Problem, scaling), mx::kScalings,
                   "scope of a scale: mx blocks of 32; with fp32 scales tensor, row or block128"),
      choice_field("block", offsetof(Problem, block), mx::kBlocks, "elements that share a scale"),
      choice_field("out_order", offsetof(Problem, out_order), mx::kOrders,
                   "contiguous dimension with direction=col; rows: transposed"),
      choice_field("scale_layout", offsetof(Problem, scale_layout), mx::kPaddedScaleLayouts,
                   "blocked: atoms of 128 lines x 4 blocks, for block-scaled matrix products; padded: plain with gaps"),
      choice_field("tail", offsetof(Problem, tail), mx::kTails,
                   "treatment of a dimension that is not a multiple of a block"),
      choice_field("noop", offsetof(Problem, noop), mx::kNoops,
                   "flag: a float on the device that is 1 skips the launch"),
      integer_field("source_stride", offsetof(Problem, source_stride), 0, kMaxExtent,
                    "elements from a line of source to the next; 0: the length of a line"),
      integer_field("source_expert_stride", offsetof(Problem, source_expert_stride), 0, kMaxExtent,
                    "elements from an expert of source to the next; 0: the lines of one expert"),
  };
  static constexpr Operand kOperands[] = {
      {"source", Role::input, offsetof(Args, source), true, layout<source_layout>,
       "[experts, rows, cols]; direction col: [experts, cols, rows]", "the elements"},
      {"source_scales", Role::input, offsetof(Args, source_scales), true, layout<scales_layout>,
       "[experts, rows, cols / 32]; direction col: [experts, rows / 32, cols]", "a scale per block"},
      {"given_scale", Role::input, offsetof(Args, given_scale), false, layout<given_scale_layout>, "[1]",
       "scaling=tensor: the scale of the whole tensor, f32"},
      {"noop", Role::input, offsetof(Args, noop), false, layout<noop_layout>, "[1]", "noop=flag: 1 skips the launch"},
      {"out", Role::output, offsetof(Args, out), true, layout<out_layout>,
       "[experts, rows, cols]; direction col: [experts, cols, rows]", "the numbers, in the order of source"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {
      {"rows", offsetof(Args, rows), nullptr},
      {"experts", offsetof(Args, experts), nullptr},
  };
  static constexpr Parameter kParameters[] = {
      {"vector", kVectors, true, "bytes per store of out"},
      {"unroll", kUnrolls, true, "reads in flight per thread"},
      {"threads", kThreadCounts, false, "threads per block; fewer where a problem is small"},
      {"store_stream", kSwitch, true, "1: stores of out are evict-first"},
      {"persistent", kSwitch, true, "1: a persistent, grid-stride kernel"},
      {"blocks_per_sm", kBlockCounts, false, "blocks per SM, at most, of a persistent kernel; 0: no limit",
       applies<is_persistent>},
  };
  static constexpr Constraint kConstraints[] = {
      {"the vector must divide the length of a line of out, and hold elements of whole strides", holds<vector_divides>},
      {"32-byte accesses exist on sm_100 and sm_103 only", holds<vector_exists>},
      {"a vector must hold whole numbers", holds<vector_holds_elements>},
      {"vector times unroll must fit the registers: 128 bytes", holds<registers_suffice>},
      {"blocks_per_sm blocks must fit a multiprocessor's threads", holds<blocks_are_resident>},
  };
  static constexpr const char* kBenchCases[] = {
      "mxfp8_dequantize rows=16384 cols=16384",
      "mxfp8_dequantize rows=16384 cols=16384 direction=col",
      "mxfp8_dequantize rows=8192 cols=5120 scaling=block128",
  };
  // What mxfp8 makes of matrices.
  static constexpr const char* kDraws[] = {
      "rows=32..131072/32 | rows=128..131072/128 | rows=1..131072 tail=pad",
      "cols=128..16384/128 | cols=128..16384/128 | cols=32..16384/32",
      "experts=1 | experts=1 | experts=2..64",
      "direction=row | direction=col",
      "dtype=bf16 | dtype=bf16 | dtype=f32",
      "scale_layout=plain | scale_layout=plain | scale_layout=blocked",
  };

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::mxfp8_dequantize_sources(); }

  static std::string check(const Problem& p) {
    const mx::Strided source = source_of(p);
    std::string why = check_scales(p);
    if (why.empty()) why = mx::check_strided(source, source.line);
    return why.empty() ? check_blocks(p) : why;
  }

  static int variants(const Problem& p, const Target& target, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    Config config;
    config[kVector] = static_cast<std::int32_t>(natural_vector(p, widest_access(target)));
    // On an H200 3 to 5 % faster than four in flight, by which fewer threads are resident.
    config[kUnroll] = col(p) ? 1 : 2;
    config[kThreads] = col(p) ? 128 : 64;
    Config any = config;
    any[kVector] = static_cast<std::int32_t>(number_bytes(p));
    if (config == any) return out[0] = {"element", any}, 1;
    out[0] = {"vector", config};
    out[1] = {"element", any};
    return 2;
  }

  // A vector of one number takes any element-aligned address.
  static std::uint32_t alignment(const Problem& p, int, const Config& config) {
    return config[kVector] == number_bytes(p) ? 1 : static_cast<std::uint32_t>(config[kVector]);
  }

  static void specialize(const Problem& p, const Target&, const Config& config, Spec& spec) {
    spec.header("mxfp8_dequantize/params.h");
    spec.header("common/numbers.cuh");
    spec.integer("params_bytes", sizeof(mxfp8_dequantize::Params));
    spec.integer("max_threads", common::kMaxThreads);
    spec.flag("noop", p.noop == Mxfp8DequantizeNoop::flag);
    spec.integer("vector", config[kVector]);
    spec.flag("store_stream", config[kStoreStream] == 1);
    spec.integer("unroll", config[kUnroll]);
    spec.flag("persistent", config[kPersistent] == 1);
    spec.type("Element", common::spec_type(p.element));
    spec.type("Out", common::spec_type(p.dtype));
    spec.integer("block_length", block_length(p));
    spec.flag("fp32_scales", has_fp32_scales(p));
    spec.flag("along", along(p) || has_given_scale(p));
    spec.flag("square", one_scale_a_square(p));
    spec.flag("expert_stride", p.source_expert_stride != 0);
    spec.choice("mx::ScaleOrder", "order",
                blocked(p)           ? "blocked"
                : has_given_scale(p) ? "one"
                : padded(p)          ? mx::padded_order(grid_of(p))
                                     : mx::plain_order(grid_of(p)));
  }

  static void launch(const Problem& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
    const mx::Strided m = source_of(p);
    const mx::ScaleGrid grid = grid_of(p);
    const std::int64_t elements = config[kVector] / number_bytes(p);
    auto& params = launch.make_params<mxfp8_dequantize::Params>();
    params.noop = a.noop.data;
    params.source = a.source.data;
    params.scales = has_given_scale(p) ? a.given_scale.data : a.source_scales.data;
    params.out = a.out.data;
    params.rows = m.rows;
    params.cols = m.line;
    params.source_stride = m.stride;
    params.expert_gap = mx::expert_gap(m);
    params.shape = {grid.lines(), grid.blocks()};
    params.slots = common::make_slots(is_empty(p) ? 0 : static_cast<std::uint64_t>(m.experts * m.rows),
                                      static_cast<std::uint64_t>(std::max<std::int64_t>(1, m.line / elements)));
    params.by_rows = common::make_divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, m.rows)));
    common::launch_slots(params.slots, config[kUnroll], config[kThreads], model, launch);
    common::limit_grid(config[kBlocksPerSm], model, launch);
  }

  static void reference(const Problem& p, const Args& a) {
    if (p.noop == Mxfp8DequantizeNoop::flag && *static_cast<const float*>(a.noop.data) == 1.0F) return;
    const mx::Strided m = source_of(p);
    common::with_float(p.dtype, [&](auto x) {
      parallel_for(m.experts * m.rows, 1 + (1 << 14) / std::max<std::int64_t>(1, m.line),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t r = begin; r < end; ++r) dequantize_row<decltype(x)>(p, a, r);
                   });
    });
  }

  // A NaN has no payload to keep.
  static Tolerance tolerance(const Problem&, int) { return {}; }

  static std::int64_t bytes(const Problem& p) {
    const mx::ScaleGrid grid = grid_of(p);
    const std::int64_t scales = one_scale_a_square(p) ? mx::plain_scales(grid) : grid.lines() * grid.blocks();
    const std::int64_t of_scales =
        has_given_scale(p) ? quern::bytes(f32) : p.experts * scales * quern::bytes(grid.type);
    return p.experts * p.rows * p.cols * (1 + number_bytes(p)) + of_scales;
  }

  static bool generate(const Problem&, int operand, std::uint64_t seed, void* data) {
    return mx::generate_control(kOperands[operand].name, {}, seed, data);
  }
};

}  // namespace

const Family& Mxfp8Dequantize::family() {
  static const Family family = make_family<Mxfp8DequantizeFamily>();
  return family;
}

}  // namespace quern
