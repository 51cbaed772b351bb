#include "glu/glu.h"

#include <limits>
#include <vector>

#include "common/activation_reference.h"
#include "common/host_types.h"
#include "glu/checks.h"
#include "glu/choice_names.h"
#include "glu/data.h"
#include "glu/matrix.h"
#include "glu/quantized.h"
#include "glu/space.h"
#include "quern_embedded/glu.h"
#include "quern_embedded/mxfp8.h"
#include "rows/elements.h"

namespace quern {
namespace {

using namespace glu;

constexpr std::int64_t kMostGroups = std::int64_t{1} << 16;
constexpr DTypeSet kData = only(f32) | only(f16) | only(bf16);
constexpr DTypeSet kOptional = kData | only(DType::none);
constexpr DTypeSet kCountTypes = only(DType::none) | only(i32) | only(i64);
constexpr const char* kGatings[] = {QUERN_GLU_GATINGS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kLayouts[] = {QUERN_GLU_LAYOUTS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kDirections[] = {QUERN_GLU_DIRECTIONS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kPasses[] = {QUERN_GLU_PASSES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kRoundings[] = {QUERN_ROUNDINGS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kScalings[] = {QUERN_GLU_SCALINGS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kRecomputes[] = {QUERN_GLU_RECOMPUTES(QUERN_CHOICE_NAME) nullptr};

constexpr std::int32_t kForms[] = {kVectorForm, kElementForm, kMatrixForm, kPackedForm, kNoMore};
constexpr std::int32_t kVectors[] = {2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};
constexpr std::int32_t kRowCounts[] = {16, 32, kNoMore};
constexpr std::int32_t kResidentBlocks[] = {0, 3, 4, 5, 6, 8, kNoMore};
constexpr std::int32_t kPanels[] = {0, 1, 2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kClusters[] = {1, 2, 4, 8, kNoMore};

bool has_vectors(const Glu&, const Config& c) { return c[kForm] == kVectorForm || c[kForm] == kMatrixForm; }
bool has_unroll(const Glu&, const Config& c) { return c[kForm] != kMatrixForm; }
bool has_threads(const Glu& p, const Config& c) { return !has_sums(p) && c[kForm] != kMatrixForm; }
bool is_matrix(const Glu&, const Config& c) { return c[kForm] == kMatrixForm; }
bool may_cut_blocks(const Glu& p, const Config& c) { return is_matrix(p, c) && has_open_rows(p); }
bool takes_alpha(const Glu& p) { return common::takes_alpha(static_cast<int>(p.activation)); }
bool is_clamped(const Glu& p) { return p.gating == GluGating::clamped; }
bool has_tanh(const Glu& p) { return p.gating == GluGating::tanh; }

template <Layout (*F)(const Glu&)>
constexpr auto layout = &layout_of<Glu, F>;
template <bool (*F)(const Glu&, const Target&, const Config&)>
constexpr auto holds = &holds_for<Glu, F>;
template <bool (*F)(const Glu&, const Config&)>
constexpr auto applies = &applies_to<Glu, F>;

struct GluFamily {
  using Problem = Glu;
  using Args = GluArgs;
  static constexpr const char* kName = "glu";
  static constexpr const char* kSentence = "gated activations, out = act(a) g, and their gradients";

  static constexpr Field kFields[] = {
      extent_field("rows", offsetof(Glu, rows), true, "rows of a group"),
      extent_field("width", offsetof(Glu, width), false, "elements in a row of out"),
      integer_field("groups", offsetof(Glu, groups), 1, kMostGroups, "groups of so many rows, with counts"),
      choice_field("activation", offsetof(Glu, activation), common::kActivationNames, "see quern/activation_table.h"),
      choice_field("gating", offsetof(Glu, gating), kGatings,
                   "product: act(a) g; clamped: both limited, as in gpt-oss; tanh: g is, as in SiTU"),
      choice_field("layout", offsetof(Glu, layout), kLayouts,
                   "of a row of x: halves [a, g], swapped [g, a], interleaved, blocks; split: a and g are operands"),
      integer_field("block", offsetof(Glu, block), 1, kMaxWidth, "layout=blocks: so many a, then as many g"),
      choice_field("pass", offsetof(Glu, pass), kPasses, "backward: the gradients"),
      choice_field("rounding", offsetof(Glu, rounding), kRoundings,
                   "single: once, at the store; torch: each result, as eager operators do"),
      dtype_field("dtype", offsetof(Glu, dtype), kData, "type of x, out and their gradients"),
      dtype_field("bias", offsetof(Glu, bias), kOptional, "type of a bias, added to x before; none: there is none"),
      dtype_field("bias_gradient", offsetof(Glu, bias_gradient), kOptional,
                  "backward: type of the sums of x_gradient's columns"),
      dtype_field("scale", offsetof(Glu, scale), kOptional, "type of a factor for each row of out"),
      dtype_field("counts", offsetof(Glu, counts), kCountTypes, "type of the number of rows that each group has"),
      choice_field("recompute", offsetof(Glu, recompute), kRecomputes, "backward, out: writes out too"),
      choice_field("scaling", offsetof(Glu, scaling), kScalings,
                   "out, backward x_gradient, in 8 bits: which numbers of a row share a scale; none: it has dtype"),
      dtype_field("element", offsetof(Glu, element), only(e4m3) | only(e5m2), "scaling: type of its numbers"),
      choice_field("mode", offsetof(Glu, mode), kModes, "scaling: how a scale is rounded to a power of two"),
      choice_field("policy", offsetof(Glu, policy), kPolicies,
                   "scaling: treatment of NaN and infinity; te: rceil only"),
      choice_field("scale_layout", offsetof(Glu, scale_layout), mx::kScaleLayouts,
                   "scaling=mx, blocked: atoms of 128 rows x 4 blocks, for block-scaled matrix products"),
      choice_field("direction", offsetof(Glu, direction), kDirections,
                   "scaling: along what numbers that share a scale lie; col: results are transposed"),
      extent_field("x_stride", offsetof(Glu, x_stride), false, "elements between rows of x and gate; 0: packed"),
      extent_field("out_stride", offsetof(Glu, out_stride), false, "elements between rows of out; 0: width"),
      extent_field("gradient_stride", offsetof(Glu, gradient_stride), false,
                   "elements between rows of gradient; 0: width"),
      extent_field("x_gradient_stride", offsetof(Glu, x_gradient_stride), false,
                   "elements between rows of x_gradient and gate_gradient; 0: packed"),
  };
  static constexpr Operand kOperands[] = {
      {"x", Role::input, offsetof(GluArgs, x), true, layout<x_layout>, "[groups * rows, 2 * width]; split: width",
       "a and g; split: a"},
      {"gate", Role::input, offsetof(GluArgs, gate), true, layout<gate_layout>, "[groups * rows, width]", "split: g"},
      {"bias", Role::input, offsetof(GluArgs, bias), true, layout<bias_layout>, "[2 * width]",
       "added to a row of x; split: to that of x, then to that of gate"},
      {"scale", Role::input, offsetof(GluArgs, scale), false, layout<scale_layout>, "[groups * rows]",
       "a factor for each row of out"},
      {"counts", Role::input, offsetof(GluArgs, counts), false, layout<counts_layout>, "[groups]",
       "how many rows of a group there are"},
      {"gradient", Role::input, offsetof(GluArgs, gradient), true, layout<gradient_layout>, "[groups * rows, width]",
       "backward: the gradient of out"},
      {"out", Role::output, offsetof(GluArgs, out), true, layout<stored_out_layout>,
       "[groups * rows, width]; direction=col: [width, groups * rows]", "the results; backward: with recompute=out"},
      {"x_gradient", Role::output, offsetof(GluArgs, x_gradient), true, layout<stored_x_gradient_layout>,
       "as x; direction=col: [2 * width, groups * rows]", "backward: the gradient of x"},
      {"gate_gradient", Role::output, offsetof(GluArgs, gate_gradient), true, layout<gate_gradient_layout>, "as gate",
       "backward, split: the gradient of gate"},
      {"bias_gradient", Role::output, offsetof(GluArgs, bias_gradient), false, layout<bias_gradient_layout>,
       "[2 * width]", "the sums of x_gradient's columns"},
      {"scale_gradient", Role::output, offsetof(GluArgs, scale_gradient), false, layout<scale_gradient_layout>,
       "[groups * rows]", "backward with scale: its gradient"},
      {"workspace", Role::workspace, offsetof(GluArgs, workspace), false, layout<stored_workspace_layout>, "[words]",
       "sums on their way: zeros, which each launch restores"},
      {"given_scale", Role::input, offsetof(GluArgs, given_scale), false, layout<given_scale_layout>, "[1]",
       "scaling=tensor: the scale of everything, f32"},
      {"scales", Role::output, offsetof(GluArgs, scales), true, layout<stored_scales_layout>,
       "[groups * rows, scales of a row]; direction=col: [scales of a column, columns]",
       "scaling: of out, backward of x_gradient"},
      {"out_col", Role::output, offsetof(GluArgs, out_col), true, layout<out_col_layout>, "[width, groups * rows]",
       "direction=both: out along columns"},
      {"x_gradient_col", Role::output, offsetof(GluArgs, x_gradient_col), true, layout<x_gradient_col_layout>,
       "[2 * width, groups * rows]", "direction=both: x_gradient along columns"},
      {"scales_col", Role::output, offsetof(GluArgs, scales_col), true, layout<scales_col_layout>,
       "[scales of a column, columns]", "direction=both: the scales of these"},
  };
  static constexpr Scalar kScalars[] = {
      {"alpha", offsetof(GluArgs, alpha), "the activation's parameter, where it has one; nan: its default",
       &is_so<Glu, takes_alpha>},
      {"limit", offsetof(GluArgs, limit), "the limit of a and g with gating=clamped", &is_so<Glu, is_clamped>},
      {"offset", offsetof(GluArgs, offset), "what is added to g with gating=clamped", &is_so<Glu, is_clamped>},
      {"beta", offsetof(GluArgs, beta), "what g is limited to with gating=tanh", &is_so<Glu, has_tanh>},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"rows", offsetof(GluArgs, rows), nullptr}};
  static constexpr Parameter kParameters[] = {
      {"form", kForms, true,
       "0: vectors; 1: element by element, at any address; 2: tiles of 128 rows, for direction=col and both, and for "
       "bias_gradient beside a scaling; 3: 16 bytes of rows without gaps, across their ends"},
      {"vector", kVectors, true, "bytes of x per access; form 2: of what is quantized", applies<has_vectors>, 16},
      {"unroll", kUnrolls, true, "vectors, or elements of form 1, in flight per thread; with sums: rows",
       applies<has_unroll>, 1},
      {"threads", kThreadCounts, false, "threads per block; fewer where a problem is small", applies<has_threads>, 256},
      {"load_stream", kSwitch, true, "1: loads are evict-first", applies<has_unroll>},
      {"store_stream", kSwitch, true, "1: stores are evict-first"},
      {"rows", kRowCounts, true, "form 2: rows of a thread", applies<is_matrix>, 16},
      {"resident", kResidentBlocks, true,
       "form 2: blocks whose registers must fit a multiprocessor; 0: the compiler's choice", applies<is_matrix>, 0},
      {"panel", kPanels, false, "form 2: blocks side by side before the next row of them; 0: all of a row",
       applies<is_matrix>, 0},
      {"cluster", kClusters, true, "form 2: neighbours that write their rows' scales together", applies<is_matrix>, 1},
      {"async_copies", kSwitch, true,
       "form 2: 1: inputs go through shared memory, all of a tile at once; 0: through registers", applies<is_matrix>},
      {"whole_blocks", kSwitch, true,
       "form 2, open rows: 1: for launches whose rows are whole blocks of scales; 0: for any", applies<may_cut_blocks>},
  };
  static constexpr Constraint kConstraints[] = {
      {"form 0 needs a width, strides and blocks that a vector divides", holds<form_fits>},
      {"form 3 is for forward passes of rows of halves without gaps, of 16 bytes or more each and at most 2^26 "
       "elements, without bias, scale, counts and scaling",
       holds<rows_are_packed>},
      {"32-byte accesses exist on sm_100 and sm_103 only", holds<vector_exists>},
      {"a row must have fewer than 2^30 slots", holds<row_has_few_slots>},
      {"a vector of a problem with sums has at most 8 elements", holds<lane_has_slots>},
      {"a block that shares a scale must be whole vectors of up to 32 lanes, or in form 1 have elements of every lane",
       holds<warp_has_blocks>},
      {"form 2 is for direction=col and both, and bias_gradient beside a scaling, which have no other",
       holds<form_has_direction>},
      {"form 2: a vector must divide the rows, strides and blocks of all operands", holds<tile_vector_divides>},
      {"form 2: a thread's rows of a tile must fit the registers, and a tile 96 KB of shared memory", holds<tile_fits>},
      {"form 2: a cluster needs sm_90, rows that have plain E8M0 scales, and a panel of whole clusters",
       holds<cluster_fits>},
      {"form 2: asynchronous copies move vectors of 4 to 16 bytes, of interleaved gradients 8 or 16, all columns of a "
       "thread; not layout=interleaved forward, nor layout=blocks backward",
       holds<copies_fit>},
      {"form 2: rows of whole blocks need a width of whole blocks, except with direction=col", holds<blocks_are_whole>},
      {"form 2: resident blocks must fit a multiprocessor's threads", holds<resident_blocks_fit>},
      {"scaling=row has one vector in flight", holds<row_has_one_slot>},
      {"elements in flight must be at most 32, backward and in form 3 16, to fit the registers",
       holds<registers_suffice>},
  };
  static constexpr const char* kBenchCases[] = {
      "glu rows=4096 width=14336",
      "glu rows=16384 width=2048",
      "glu rows=32768 width=4096",
      "glu rows=8192 width=11008",
      "glu rows=4096 width=14336 activation=gelu_tanh",
      "glu rows=8192 width=11008 layout=interleaved activation=qgelu gating=clamped",
      "glu rows=4096 width=14336 pass=backward",
      "glu rows=16384 width=2048 pass=backward",
      "glu rows=32768 width=4096 pass=backward",
      "glu rows=8192 width=11008 pass=backward",
      "glu rows=8192 width=11008 pass=backward recompute=out",
      "glu rows=8192 width=11008 activation=gelu_tanh pass=backward recompute=out",
      "glu rows=8192 width=11008 pass=backward bias=bf16 bias_gradient=f32",
      "glu rows=8192 width=11008 pass=backward scale=f32",
      "glu rows=4096 width=14336 scaling=tensor",
      "glu rows=4096 width=14336 scaling=block128",
      "glu rows=4096 width=14336 scaling=mx",
      "glu rows=4096 width=14336 scaling=mx scale_layout=blocked",
      "glu rows=32768 width=4096 scaling=row",
      "glu rows=8192 width=11008 pass=backward scaling=mx",
      "glu rows=16384 width=4096 scaling=mx direction=both",
      "glu rows=16384 width=4096 scaling=mx direction=col",
      "glu rows=16384 width=4096 pass=backward scaling=mx direction=both",
      "glu rows=1 width=4096",
      "glu rows=16 width=14336",
      "glu rows=64 width=7168",
      "glu rows=16384 width=4095",
      "glu rows=16384 width=4097",
      "glu rows=65536 width=1001",
      "glu rows=65536 width=770",
      "glu rows=16384 width=4097 pass=backward",
  };
  // Rows of tokens; widths of models, mostly of whole sectors, and of any length.
  static constexpr const char* kDraws[] = {
      "rows=1..65536",
      "width=64..16384/64 | width=64..16384/64 | width=8..16384/8 | width=8..8192",
      "dtype=bf16 | dtype=bf16 | dtype=f16 | dtype=f32",
      "activation=silu | activation=silu | activation=gelu | activation=gelu_tanh",
      "pass=forward | pass=forward | pass=backward | pass=backward recompute=out",
  };

  static Table<Scalar> scalars() { return kScalars; }
  // With mxfp8's tiles. Never destroyed: a Runtime of the application may be static and outlive it.
  static Table<SourceFile> sources() {
    static const std::vector<SourceFile>& all = *[] {
      auto* const files = new std::vector<SourceFile>(embedded::glu_sources().begin(), embedded::glu_sources().end());
      files->insert(files->end(), embedded::mxfp8_sources().begin(), embedded::mxfp8_sources().end());
      return files;
    }();
    Table<SourceFile> table;
    table.rows = all.data();
    table.count = static_cast<int>(all.size());
    return table;
  }

  static std::string check(const Glu& p) { return glu::check(p); }
  static std::string check_extents(const Glu& p) { return glu::check_extents(p); }

  // ---- Configs

  static int variants(const Glu& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
    return glu::variants(p, target, model, out);
  }

  static std::uint32_t alignment(const Glu& p, int operand, const Config& config) {
    if (config[kForm] == kElementForm) return 1;
    if (config[kForm] == kPackedForm) return operand == kOut ? 16 : 1;
    if (has_matrix(p)) return matrix_alignment(p, config);
    if (operand == kScales) return 1;  // one by one
    const std::int64_t elements = slot_elements(p, config);
    std::int64_t bytes = elements * size_of(p);
    if (operand == kX) bytes = elements * numbers_together(p) * size_of(p);
    if (operand == kOut) bytes = elements * quern::bytes(out_dtype(p));
    if (operand == kXGradient) bytes = elements * numbers_together(p) * quern::bytes(x_gradient_dtype(p));
    if (operand == kBias) bytes = elements * numbers_together(p) * quern::bytes(p.bias);
    return static_cast<std::uint32_t>(std::min<std::int64_t>(bytes, config[kVector]));
  }

  static void specialize_bounds(const Glu& p, const Config& config, Spec& spec) {
    const int threads = has_matrix(p) ? mxfp8::kTileThreads : has_sums(p) ? rows::kTileThreads : common::kMaxThreads;
    spec.integer("max_threads", threads);
    spec.integer("resident_blocks", has_matrix(p) ? config[kResident]
                                    : has_sums(p) ? rows::resident_blocks(sums_of(p), config[kUnroll])
                                                  : 0);
  }

  static void specialize(const Glu& p, const Target&, const Config& config, Spec& spec) {
    const auto type = [&](const char* name, DType dtype) {
      spec.type(name, common::spec_type(dtype == DType::none ? f32 : dtype));
    };
    spec.header("glu/params.h");
    spec.header("common/numbers.cuh");
    specialize_bounds(p, config, spec);
    spec.flag("vectors", config[kForm] != kElementForm);
    spec.integer("elements", has_matrix(p) ? vector_elements(p, config) : slot_elements(p, config));
    spec.integer("access", config[kVector]);
    spec.integer("unroll", has_matrix(p) ? 1 : slots_in_flight(p, config));
    spec.flag("load_stream", config[kLoadStream] == 1);
    spec.flag("store_stream", config[kStoreStream] == 1);
    spec.choice("GluGating", "gating", kGatings[static_cast<int>(p.gating)]);
    spec.choice("GluLayout", "layout", kLayouts[static_cast<int>(p.layout)]);
    spec.integer("interleave", p.block);
    spec.flag("backward", is_backward(p));
    spec.flag("torch", p.rounding == Rounding::torch);
    spec.flag("recompute", is_backward(p) && has_out(p));
    type("T", p.dtype);
    spec.flag("has_bias", p.bias != DType::none);
    type("Bias", p.bias);
    spec.flag("has_scale", p.scale != DType::none);
    type("Scale", p.scale);
    spec.flag("has_counts", p.counts != DType::none);
    spec.type("Count", common::spec_type(p.counts == DType::none ? i32 : p.counts));
    type("BiasGradient", p.bias_gradient);
    if (has_matrix(p)) return specialize_matrix(p, config, spec);
    spec.integer("params_bytes", sizeof(glu::Params));
    spec.choice("common::Activation", "activation", common::kActivationNames[static_cast<int>(p.activation)]);
    spec.flag("bias_gradient", p.bias_gradient != DType::none);
    spec.flag("blocked", has_atoms(p));
    spec.flag("keeps_row", keeps_row(p, config));
    if (is_quantized(p)) return specialize_scaling(p, spec);
    spec.part(has_sums(p) ? "glu/tile.cuh" : config[kForm] == kPackedForm ? "glu/packed.cuh" : "glu/plain.cuh");
  }

  // ---- A launch

  static void launch(const Glu& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
    if (has_matrix(p)) return set_operands(p, a, launch_matrix(p, a, config, launch));
    auto& params = launch.make_params<glu::Params>();
    set_operands(p, a, params);
    if (has_sums(p))
      launch_tiles(p, a, params, launch);
    else
      launch_slots(p, config, model, params, launch);
    if (p.scaling == GluScaling::row) launch_rows(p, config, launch);
  }

  static void set_operands(const Glu& p, const Args& a, glu::Params& params) {
    params.x = a.x.data;
    params.gate = a.gate.data;
    params.bias = a.bias.data;
    params.scale = a.scale.data;
    params.counts = a.counts.data;
    params.gradient = a.gradient.data;
    params.out = a.out.data;
    params.x_gradient = a.x_gradient.data;
    params.gate_gradient = a.gate_gradient.data;
    params.bias_gradient = a.bias_gradient.data;
    params.scale_gradient = a.scale_gradient.data;
    params.given_scale = a.given_scale.data;
    params.scales = a.scales.data;
    params.line = static_cast<int>(line_of(p));
    params.x_stride = x_stride(p);
    params.out_stride = out_stride(p);
    params.gradient_stride = gradient_stride(p);
    params.x_gradient_stride = x_gradient_stride(p);
    params.rows = all_rows(p);
    params.group_rows = p.rows;
    params.width = static_cast<int>(p.width);
    params.numbers = {common::alpha_or_default(static_cast<int>(p.activation), a.alpha), a.limit, a.offset, a.beta};
    if (p.counts != DType::none)
      params.by_rows = common::make_divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, p.rows)));
  }

  static void launch_slots(const Glu& p, const Config& config, const DeviceModel& model, glu::Params& params,
                           Launch& launch) {
    const bool empty = all_rows(p) == 0 || p.width == 0;
    params.slots = !empty && config[kForm] == kPackedForm
                       ? packed_slots(p)
                       : common::make_slots(empty ? 0 : static_cast<std::uint64_t>(rows_to_do(p)),
                                            empty ? 1 : static_cast<std::uint64_t>(row_slots(p, config)));
    common::launch_slots(params.slots, static_cast<int>(slots_in_flight(p, config)), config[kThreads], model, launch);
  }

  // A block for each row.
  static void launch_rows(const Glu& p, const Config& config, Launch& launch) {
    launch.empty = all_rows(p) == 0;
    launch.block[0] = static_cast<std::uint32_t>(config[kThreads]);
    launch.grid[0] =
        static_cast<std::uint32_t>(std::min<std::int64_t>(all_rows(p), std::numeric_limits<std::int32_t>::max()));
    launch.grid[1] = 1;
    launch.shared_bytes =
        glu::kMaximaBytes + (keeps_row(p, config) ? static_cast<std::uint32_t>(row_bytes(p, config)) : 0);
  }

  // Sums of nothing are zeros, which are written too.
  static void launch_tiles(const Glu& p, const Args& a, glu::Params& params, Launch& launch) {
    params.sums = rows::launch_tiles(sums_of(p), a.workspace.data, launch);
    launch.empty = all_rows(p) == 0 && p.width == 0;
  }

  // ---- Checks

  static void reference(const Glu& p, const Args& a) { glu::reference(p, a); }

  static Tolerance tolerance(const Glu& p, int operand) { return glu::tolerance(p, operand); }
  static bool allowance(const Glu& p, const Args& a, int operand, int, double* of_elements) {
    return glu::allowance(p, a, operand, of_elements);
  }

  static std::int64_t bytes(const Glu& p) {
    std::int64_t total = 0;
    for (const Operand& o : kOperands) {
      const Layout l = o.layout(&p);
      if (l.dtype != DType::none && o.role != Role::workspace) total += l.elements() * quern::bytes(l.dtype);
    }
    return total;
  }

  static bool generate(const Glu& p, int operand, std::uint64_t seed, void* data) {
    const Layout l = kOperands[operand].layout(&p);
    if (operand == kGivenScale)
      *static_cast<float*>(data) = mx::given_scale(seed);
    else if (operand == kCounts)
      generate_counts(p, seed, data);
    else
      generate_numbers(p, operand, l, seed, data);
    if (operand == kX && is_quantized(p) && !is_exact(p)) generate_arguments(p, seed, data);
    return true;
  }
};

}  // namespace

const Family& Glu::family() {
  static const Family family = make_family<GluFamily>();
  return family;
}

}  // namespace quern
