#include "mxfp8/mxfp8.h"

#include <algorithm>

#include "common/activation_reference.h"
#include "common/geometry.h"
#include "mxfp8/choice_names.h"
#include "mxfp8/columns.h"
#include "mxfp8/operands.h"
#include "mxfp8/params.h"
#include "mxfp8/parts.h"
#include "mxfp8/prologue.h"
#include "mxfp8/quantize.h"
#include "quern_embedded/mxfp8.h"

namespace quern::mxfp8 {
namespace {

constexpr DTypeSet kNumberTypes = only(f32) | only(f16) | only(bf16);
constexpr DTypeSet kElementTypes = only(e4m3) | only(e5m2);

constexpr std::int32_t kForms[] = {kStream, kTile, kColumns, kNoMore};
constexpr std::int32_t kVectors[] = {1, 2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
constexpr std::int32_t kRowCounts[] = {16, 32, kNoMore};
constexpr std::int32_t kStacks[] = {1, 2, kNoMore};
constexpr std::int32_t kResidentBlocks[] = {0, 3, 4, 5, 6, 8, kNoMore};
constexpr std::int32_t kPanels[] = {0, 1, 2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kClusters[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};
constexpr std::int32_t kBlockCounts[] = {0, 1, 2, 4, 8, kNoMore};

// ---- Constraints

bool vector_divides(const Mxfp8& p, const Target&, const Config& c) { return natural_vector(p, 32) % c[kVector] == 0; }
bool vector_exists(const Mxfp8&, const Target& t, const Config& c) { return c[kVector] <= widest_access(t); }
bool vector_holds_elements(const Mxfp8& p, const Target&, const Config& c) { return c[kVector] >= source_bytes(p); }
bool tile_quantizes(const Mxfp8& p, const Target&, const Config& c) {
  return c[kForm] == kStream || p.scaling != Mxfp8Scaling::row;
}
bool stream_fits_registers(const Mxfp8&, const Target&, const Config& c) { return c[kVector] * c[kUnroll] <= 128; }
bool registers_are_shared(const Mxfp8&, const Target& t, const Config& c) {
  return c[kResident] * kTileThreads <= common::resident_threads(t);
}
bool clusters_fill_panels(const Mxfp8&, const Target&, const Config& c) { return c[kPanel] % c[kCluster] == 0; }
// Whether a parameter applies.
bool is_stream(const Mxfp8&, const Config& c) { return c[kForm] == kStream; }
bool has_threads(const Mxfp8&, const Config& c) { return c[kForm] != kTile; }
bool columns_are_short(const Mxfp8& p, const Target&, const Config& c) {
  return c[kForm] != kColumns || has_short_columns(p);
}
bool is_tile(const Mxfp8&, const Config& c) { return c[kForm] == kTile; }
bool makes_tile(const Mxfp8& p, const Config& c) { return is_tile(p, c) && p.prologue != Mxfp8Prologue::none; }
bool may_persist(const Mxfp8& p, const Config& c) { return c[kForm] == kStream && p.scaling != Mxfp8Scaling::row; }
bool is_persistent(const Mxfp8&, const Config& c) { return c[kPersistent] == 1; }
bool blocks_are_resident(const Mxfp8&, const Target& t, const Config& c) {
  return c[kBlocksPerSm] * c[kThreads] <= common::resident_threads(t);
}

template <Layout (*F)(const Mxfp8&)>
constexpr auto layout = &layout_of<Mxfp8, F>;
template <bool (*F)(const Mxfp8&, const Target&, const Config&)>
constexpr auto holds = &holds_for<Mxfp8, F>;
template <bool (*F)(const Mxfp8&, const Config&)>
constexpr auto applies = &applies_to<Mxfp8, F>;

struct Mxfp8Family {
  using Problem = Mxfp8;
  using Args = Mxfp8Args;
  static constexpr const char* kName = "mxfp8";
  static constexpr const char* kSentence =
      "quantization to 8-bit elements with a power-of-two scale per block of 32, or with fp32 scales";

  static constexpr Field kFields[] = {
      extent_field("rows", offsetof(Mxfp8, rows), true, "rows of source, of each expert"),
      extent_field("cols", offsetof(Mxfp8, cols), false, "columns of source"),
      extent_field("experts", offsetof(Mxfp8, experts), true, "matrices of one size"),
      choice_field("direction", offsetof(Mxfp8, direction), kDirections, "dimension along which blocks lie"),
      dtype_field("dtype", offsetof(Mxfp8, dtype), kNumberTypes, "type of the numbers"),
      dtype_field("element", offsetof(Mxfp8, element), kElementTypes, "element type of out"),
      choice_field("scaling", offsetof(Mxfp8, scaling), kScalings,
                   "scope of a scale: mx blocks of 32; with fp32 scales tensor, row or block128"),
      choice_field("mode", offsetof(Mxfp8, mode), kModes,
                   "how a scale is rounded to a power of two; exact: not at all, fp32 scales"),
      choice_field("policy", offsetof(Mxfp8, policy), kPolicies,
                   "treatment of NaN and infinity: torchao's or TransformerEngine's; te: rceil only"),
      choice_field("block", offsetof(Mxfp8, block), kBlocks, "elements that share a scale"),
      choice_field("source_order", offsetof(Mxfp8, source_order), kOrders,
                   "contiguous dimension of source: cols or rows"),
      choice_field("out_order", offsetof(Mxfp8, out_order), kOrders,
                   "contiguous dimension of the col direction's out; rows: transposed"),
      choice_field("scale_layout", offsetof(Mxfp8, scale_layout), kPaddedScaleLayouts,
                   "blocked: atoms of 128 lines x 4 blocks, for block-scaled matrix products; padded: plain with gaps"),
      choice_field("tail", offsetof(Mxfp8, tail), kTails, "treatment of a dimension that is not a multiple of a block"),
      extent_field("groups", offsetof(Mxfp8, groups), false, "consecutive groups of rows; 0: none"),
      choice_field("varying", offsetof(Mxfp8, varying), kVaryings,
                   "dimensions in which groups differ; rows: groups are rows of one matrix"),
      integer_field("capacity", offsetof(Mxfp8, capacity), 0, kMaxExtent,
                    "varying=both: elements of all groups, at most; 0: rows * cols"),
      choice_field("noop", offsetof(Mxfp8, noop), kNoops, "flag: a float on the device that is 1 skips the launch"),
      choice_field("prologue", offsetof(Mxfp8, prologue), kPrologues, "function applied to source before quantization"),
      choice_field("activation", offsetof(Mxfp8, activation), common::kActivationNames,
                   "of the prologue; see quern/activation_table.h"),
      choice_field("bias_gradient", offsetof(Mxfp8, bias_gradient), kBiasGradients,
                   "sums: also the column sums of the numbers that are quantized"),
      dtype_field("offset", offsetof(Mxfp8, offset), only(i32) | only(i64), "type of the groups' ends"),
      integer_field("source_stride", offsetof(Mxfp8, source_stride), 0, kMaxExtent,
                    "elements from a line of source to the next; 0: the length of a line"),
      integer_field("source_expert_stride", offsetof(Mxfp8, source_expert_stride), 0, kMaxExtent,
                    "elements from an expert of source to the next; 0: the lines of one expert"),
      integer_field("out_stride", offsetof(Mxfp8, out_stride), 0, kMaxExtent,
                    "elements from a line of out to the next; 0: the length of a line"),
      integer_field("out_col_stride", offsetof(Mxfp8, out_col_stride), 0, kMaxExtent,
                    "direction both: elements from a line of out_col to the next; 0: the length of a line"),
  };
  static constexpr Operand kOperands[] = {
      {"source", Role::input, offsetof(Mxfp8Args, source), true, layout<source_layout>, "[experts, rows, cols]",
       "the numbers"},
      {"input", Role::input, offsetof(Mxfp8Args, input), true, layout<input_layout>, "[experts, rows, cols]",
       "prologue dact and dgated: the input of the activation"},
      {"offsets", Role::input, offsetof(Mxfp8Args, offsets), false, layout<offsets_layout>, "[groups]",
       "groups: where each ends"},
      {"col_offsets", Role::input, offsetof(Mxfp8Args, col_offsets), false, layout<col_offsets_layout>, "[groups]",
       "varying=cols and both: where the columns of each group end"},
      {"given_scale", Role::input, offsetof(Mxfp8Args, given_scale), false, layout<given_scale_layout>, "[1]",
       "scaling=tensor: the scale of the whole tensor, f32"},
      {"noop", Role::input, offsetof(Mxfp8Args, noop), false, layout<noop_layout>, "[1]",
       "noop=flag: 1 skips the launch"},
      {"out", Role::output, offsetof(Mxfp8Args, out), true, layout<out_layout>,
       "[experts, rows, cols]; direction col: [experts, cols, rows]", "the elements"},
      {"scales", Role::output, offsetof(Mxfp8Args, scales), true, layout<own_scales_layout>,
       "[experts, rows, cols / 32]; direction col: [experts, rows / 32, cols]", "a scale per block"},
      {"out_col", Role::output, offsetof(Mxfp8Args, out_col), true, layout<out_col_layout>, "[experts, cols, rows]",
       "direction both: the elements of the col direction"},
      {"scales_col", Role::output, offsetof(Mxfp8Args, scales_col), true, layout<scales_col_layout>,
       "[experts, rows / 32, cols]", "direction both: the scales of the col direction"},
      {"bias_gradient", Role::output, offsetof(Mxfp8Args, bias_gradient), false, layout<bias_gradient_layout>,
       "[experts, cols]", "bias_gradient=sums: the numbers that are quantized, summed over rows"},
      {"workspace", Role::workspace, offsetof(Mxfp8Args, workspace), false, layout<workspace_layout>, "[words]",
       "bias_gradient=sums: scratch memory"},
      {"status", Role::update, offsetof(Mxfp8Args, status), false, layout<status_layout>, "[1]",
       "groups: 1 + the number of the first that is wrong"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {
      {"rows", offsetof(Mxfp8Args, rows), nullptr},
      {"experts", offsetof(Mxfp8Args, experts), nullptr},
  };
  static constexpr Parameter kParameters[] = {
      {"form", kForms, true,
       "0: streams of blocks along rows; 1: tiles of 128 rows, for all else; 2: columns of up to 32 rows"},
      {"vector", kVectors, true, "bytes per load"},
      {"unroll", kUnrolls, true, "stream form: reads in flight per thread", applies<is_stream>, 1},
      {"threads", kThreadCounts, false, "stream and columns form: threads per block; fewer where a problem is small",
       applies<has_threads>, kTileThreads},
      {"rows", kRowCounts, true, "tile form: rows of a thread", applies<is_tile>, 32},
      {"stack", kStacks, true, "tile form: tiles of a block, one below the other", applies<is_tile>, 1},
      {"resident", kResidentBlocks, true,
       "tile form: blocks whose registers must fit a multiprocessor; 0: the compiler's choice", applies<is_tile>, 0},
      {"panel", kPanels, false, "tile form: blocks side by side before the next row of them; 0: all of a row",
       applies<is_tile>, 1},
      {"cluster", kClusters, true, "tile form: neighbours that write their rows' scales together", applies<is_tile>, 1},
      {"store_stream", kSwitch, true, "1: stores of out are evict-first"},
      {"persistent", kSwitch, true, "1: the stream form is a persistent (grid-stride) kernel", applies<may_persist>},
      {"blocks_per_sm", kBlockCounts, false, "blocks per SM, at most, of a persistent kernel; 0: no limit",
       applies<is_persistent>},
      {"async_copies", kSwitch, true,
       "tile form: 1: what a prologue reads goes through shared memory, all of it at once; 0: through registers",
       applies<makes_tile>},
  };
  static constexpr Constraint kConstraints[] = {
      {"the vector must divide the length of a line of source, and its stride", holds<vector_divides>},
      {"scaling=row has the stream form", holds<tile_quantizes>},
      {"32-byte accesses exist on sm_100 and sm_103 only", holds<vector_exists>},
      {"a vector must hold whole elements", holds<vector_holds_elements>},
      {"the stream form makes blocks or rows that lie along memory, with plain scales in that order, and "
       "no "
       "bias_gradient",
       holds<stream_is_along>},
      {"a thread's rows of a tile must fit the registers: rows times vector is 256 at most",
       holds<tile_fits_registers>},
      {"a tile must have 32 columns at least: rows times vector is 32 elements or more", holds<parts_hold_blocks>},
      {"with blocks of 128 along rows a thread has 8 columns of a tile (rows=16) or 4 (rows=32), vector at most as "
       "many",
       holds<vector_fits_columns>},
      {"a tile must fit 48 KB of shared memory, with what a prologue reads and makes 96 KB", holds<tile_fits_shared>},
      {"asynchronous copies move vectors of 4 to 16 bytes and two elements or more, all columns of a thread",
       holds<copies_move_vectors>},
      {"the columns form makes transposed blocks across at most 32 rows, in lines without gaps, and nothing else: no "
       "groups, prologue, bias_gradient or padded scales",
       holds<columns_are_short>},
      {"a thread's columns must fit the registers: rows, rounded up to 8, 16 or 32, times vector is 256 at most",
       holds<columns_fit_registers>},
      {"a thread block's columns must fit 48 KB of shared memory", holds<columns_fit_shared>},
      {"vector times unroll must fit the registers: 128 bytes", holds<stream_fits_registers>},
      {"resident blocks must fit a multiprocessor's threads", holds<registers_are_shared>},
      {"clusters exist from sm_90 on and are for rows whose scales lie together: scaling=mx, a row direction, "
       "source_order=cols, plain scales of lines",
       holds<cluster_has_scales>},
      {"a panel must be whole clusters", holds<clusters_fill_panels>},
      {"blocks_per_sm blocks must fit a multiprocessor's threads", holds<blocks_are_resident>},
  };
  static constexpr const char* kBenchCases[] = {
      "mxfp8 rows=8192 cols=5120",
      "mxfp8 rows=8192 cols=5120 direction=col",
      "mxfp8 rows=8192 cols=5120 direction=both",
      "mxfp8 rows=16384 cols=16384",
      "mxfp8 rows=16384 cols=16384 direction=col",
      "mxfp8 rows=16384 cols=16384 direction=both",
      "mxfp8 rows=131072 cols=7168",
      "mxfp8 rows=131072 cols=7168 direction=col",
      "mxfp8 rows=131072 cols=7168 direction=both",
      "mxfp8 rows=8192 cols=5120 experts=8",
      "mxfp8 rows=8192 cols=5120 experts=8 direction=col",
      "mxfp8 rows=8192 cols=5120 experts=8 direction=both",
      "mxfp8 rows=7168 cols=2048 experts=8",
      "mxfp8 rows=7168 cols=2048 experts=8 direction=col",
      "mxfp8 rows=7168 cols=2048 experts=8 direction=both",
      "mxfp8 rows=96 cols=416 experts=3",
      "mxfp8 rows=96 cols=416 experts=3 direction=col",
      "mxfp8 rows=96 cols=416 experts=3 direction=both",
      "mxfp8 rows=160 cols=1408 experts=5",
      "mxfp8 rows=160 cols=1408 experts=5 direction=col",
      "mxfp8 rows=160 cols=1408 experts=5 direction=both",
      "mxfp8 rows=993 cols=512 tail=pad",
      "mxfp8 rows=993 cols=512 tail=pad direction=col",
      "mxfp8 rows=993 cols=512 tail=pad direction=both",
      "mxfp8 rows=8192 cols=5120 mode=floor",
      "mxfp8 rows=8192 cols=5120 direction=col mode=floor",
      "mxfp8 rows=8192 cols=5120 direction=both mode=floor",
      "mxfp8 rows=16384 cols=16384 scale_layout=blocked",
      "mxfp8 rows=16384 cols=16384 direction=col scale_layout=blocked",
      "mxfp8 rows=16384 cols=16384 direction=both scale_layout=blocked",
  };
  // Weights and activations of models, of experts, and of sequences that end anywhere.
  static constexpr const char* kDraws[] = {
      "rows=32..131072/32 | rows=128..131072/128 | rows=1..131072 tail=pad",
      "cols=128..16384/128 | cols=128..16384/128 | cols=32..16384/32",
      "experts=1 | experts=1 | experts=2..64",
      "direction=row | direction=col | direction=both",
      "dtype=bf16 | dtype=bf16 | dtype=bf16 | dtype=f16 | dtype=f32",
      "mode=rceil | mode=floor",
      "scale_layout=plain | scale_layout=plain | scale_layout=blocked",
  };

  static constexpr Scalar kScalars[] = {
      {"alpha", offsetof(Mxfp8Args, alpha), "the prologue's activation's parameter, where it has one; nan: its default",
       [](const void* p) {
         const auto& problem = *static_cast<const Mxfp8*>(p);
         return problem.prologue != Mxfp8Prologue::none && common::takes_alpha(static_cast<int>(problem.activation));
       }},
  };
  static Table<Scalar> scalars() { return kScalars; }
  static Table<SourceFile> sources() { return embedded::mxfp8_sources(); }

  static std::string check(const Mxfp8& p) { return mxfp8::check(p); }
  static std::string check_extents(const Mxfp8& p) { return mxfp8::check_extents(p); }

  static int variants(const Mxfp8& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
    const Config first = quantize_default(p, target, model);
    static constexpr const char* kNames[] = {"stream", "tile", "columns"};
    out[0] = {kNames[first[kForm]], first};
    if (mxfp8::alignment(p, first) == 1) return 1;
    Config any = first;
    any[kVector] = static_cast<std::int32_t>(source_bytes(p));
    any[kRows] = 32;
    any[kStack] = any[kCluster] = 1;
    any[kAsyncCopies] = 0;
    // Without a limit, ptxas uses 48 registers for some kernels and spills a few to fit more blocks.
    const bool has_registers =
        p.prologue == Mxfp8Prologue::none && !has_fp32_scales(p) && !(has_matrices(p) && both_made(p));
    if (any[kForm] == kTile) any[kResident] = has_registers ? 4 : 0;
    out[1] = {"element", any};
    return 2;
  }

  static std::uint32_t alignment(const Mxfp8& p, int, const Config& config) { return mxfp8::alignment(p, config); }

  static void specialize(const Mxfp8& p, const Target&, const Config& config, Spec& spec) {
    spec.integer("resident", config[kResident]);
    spec.integer("max_threads", config[kForm] == kTile ? kTileThreads : common::kMaxThreads);
    spec.flag("noop", p.noop == Mxfp8Noop::flag);
    spec.integer("params_bytes", static_cast<std::int64_t>(params_bytes(p, config)));
    spec.integer("vector", config[kVector]);
    spec.flag("store_stream", config[kStoreStream] == 1);
    if (config[kForm] == kStream) {
      spec.integer("unroll", config[kUnroll]);
      spec.flag("persistent", config[kPersistent] == 1);
    }
    spec.part("mxfp8/prologue.cuh");
    mxfp8::specialize(p, config, spec);
  }

  static void launch(const Mxfp8& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
    mxfp8::launch(p, a, model, config, launch);
  }

  static void reference(const Mxfp8& p, const Args& a) {
    if (p.noop == Mxfp8Noop::flag && *static_cast<const float*>(a.noop.data) == 1.0F) return;
    quantize_reference(p, a);
  }

  // In a sum of fp32 numbers no rounding hides the error of an activation.
  static Tolerance tolerance(const Mxfp8& p, int operand) { return prologue_tolerance(p, kOperands[operand].name); }

  static std::int64_t bytes(const Mxfp8& p) {
    std::int64_t sum = 0;
    if (has_matrices(p)) {
      for (const GroupMatrix& group : bench_matrices(p)) sum += bytes(group.problem);
      return sum;
    }
    const std::int64_t elements = p.experts * p.rows * p.cols;
    const Matrix m = matrix_of(p);
    sum += (m.experts * m.rows * m.line + (has_input(p) ? elements : 0)) * source_bytes(p);
    if (has_sums(p)) sum += p.experts * p.cols * 4;
    if (row_made(p)) sum += elements + scale_bytes(p, false);
    if (col_made(p)) sum += elements + scale_bytes(p, true);
    return sum;
  }

  static bool generate(const Mxfp8& p, int operand, std::uint64_t seed, void* data) {
    const std::string_view name = kOperands[operand].name;
    if (has_matrices(p) && (name == "offsets" || name == "col_offsets")) {
      generate_ends(p, name == "col_offsets", seed, data);
      return true;
    }
    if (mx::generate_control(name, groups_of(p), seed, data)) return true;
    if (p.prologue != Mxfp8Prologue::none && (name == "source" || name == "input")) {
      generate_arguments(p, name == "input", seed, data);
    } else if (name == "source") {
      generate_source(p, seed, data);
    } else {
      return false;
    }
    return true;
  }
};

}  // namespace
}  // namespace quern::mxfp8

namespace quern {

const Family& Mxfp8::family() {
  static constexpr Replaced kReplaced[] = {
      {"op=quantize", "mxfp8"},
      {"op=dequantize", "mxfp8_dequantize"},
      {"op=to_blocked", "mx_scales to=blocked"},
      {"op=from_blocked", "mx_scales to=plain"},
      {"op=pad", "row_pad direction=pad"},
      {"op=unpad", "row_pad direction=unpad"},
  };
  static const Family family = [] {
    Family made = make_family<mxfp8::Mxfp8Family>();
    made.replaced = kReplaced;
    return made;
  }();
  return family;
}

}  // namespace quern
