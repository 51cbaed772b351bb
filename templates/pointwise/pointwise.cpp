#include "pointwise/pointwise.h"

#include "common/activation_reference.h"
#include "common/host_types.h"
#include "mx/choice_names.h"
#include "pointwise/backward.h"
#include "pointwise/geometry.h"
#include "pointwise/params.h"
#include "pointwise/program_launch.h"
#include "pointwise/reductions.h"
#include "pointwise/scaled.h"
#include "pointwise/space.h"
#include "quern_embedded/pointwise.h"

namespace quern {
namespace {

using common::ActivationRow;
using common::kActivationRows;
using namespace pointwise;

constexpr DTypeSet kData = only(f32) | only(f16) | only(bf16);
constexpr DTypeSet kSame = kData | only(DType::none);
constexpr const char* kOps[] = {QUERN_POINTWISE_OPS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kSpreads[] = {QUERN_OPERAND_SPREADS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kScalings[] = {QUERN_POINTWISE_SCALINGS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kPasses[] = {QUERN_POINTWISE_PASSES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kRoundings[] = {QUERN_ROUNDINGS(QUERN_CHOICE_NAME) nullptr};

constexpr std::int32_t kFormValues[] = {kRows, kFlat, kRagged, kNoMore};
constexpr std::int32_t kVectors[] = {4, 8, 16, 32, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};
constexpr std::int32_t kBlockCounts[] = {0, 1, 2, 4, 8, kNoMore};

bool vector_exists(const Pointwise&, const Target& t, const Config& c) {
  return c[kVector] <= common::widest_access(t);
}
bool has_vectors(const Pointwise&, const Config& c) { return c[kForm] != kRagged; }
bool has_threads(const Pointwise& p, const Config&) {
  if (has_reductions(p)) return reductions::chooses_threads(p);
  return !is_backward(p) || !backward::has_sums(p);
}
bool may_persist(const Pointwise& p, const Config&) { return !is_backward(p) && !has_reductions(p); }
bool is_persistent(const Pointwise&, const Config& c) { return c[kPersistent] == 1; }
bool blocks_are_resident(const Pointwise&, const Target& t, const Config& c) {
  return c[kBlocksPerSm] * c[kThreads] <= common::resident_threads(t);
}

Layout spread_layout(const Pointwise& p, Spread spread, DType dtype, std::int64_t row_stride) {
  switch (spread) {
    case Spread::full:
      return Layout::matrix(dtype, p.rows, p.width, stride(p, row_stride));
    case Spread::row:
      return Layout::list(dtype, p.width);
    case Spread::column:
      return Layout::list(dtype, p.rows);
    case Spread::scalar:
      return Layout::list(dtype, 1);
    case Spread::none:
      break;
  }
  return {};
}
Spread if_operation(const Pointwise& p, Spread spread) { return has_program(p) ? Spread::none : spread; }
Layout x_layout(const Pointwise& p) { return spread_layout(p, if_operation(p, p.x_spread), p.dtype, p.x_stride); }
Layout y_layout(const Pointwise& p) {
  return spread_layout(p, has_y(p) ? p.y_spread : Spread::none, y_dtype(p), p.y_stride);
}
Layout bias_layout(const Pointwise& p) { return spread_layout(p, if_operation(p, p.bias_spread), bias_dtype(p), 0); }
Layout full_layout(const Pointwise& p, bool present, DType dtype, std::int64_t row_stride) {
  return present ? spread_layout(p, Spread::full, dtype, row_stride) : Layout{};
}
Layout out_layout(const Pointwise& p) {
  return full_layout(p, !is_backward(p) && !has_program(p), out_dtype(p), p.out_stride);
}
Layout gradient_layout(const Pointwise& p) { return full_layout(p, is_backward(p), out_dtype(p), p.out_stride); }
Layout x_gradient_layout(const Pointwise& p) { return full_layout(p, is_backward(p), p.dtype, p.x_stride); }
Layout y_gradient_layout(const Pointwise& p) {
  return full_layout(p, is_backward(p) && has_y(p), y_dtype(p), p.y_stride);
}
Layout bias_gradient_layout(const Pointwise& p) {
  return p.bias_gradient == DType::none ? Layout{} : Layout::list(p.bias_gradient, p.width);
}
Layout workspace_layout(const Pointwise& p) {
  return has_reductions(p) ? reductions::workspace_layout(p) : backward::workspace_layout(p);
}
Layout multiplier_gradient_layout(const Pointwise& p) {
  return p.multiplier_gradient == DType::none ? Layout{} : Layout::list(f32, 1);
}

template <int I>
constexpr Scalar number_row(const char* name) {
  return {name,
          offsetof(PointwiseArgs, numbers) + I * sizeof(float),
          "with expr: a number that it declares, in order",
          [](const void* p) { return program::given_numbers(*static_cast<const Pointwise*>(p)) > I; },
          DType::f32,
          [](const void* p) { return program::name_of_number(*static_cast<const Pointwise*>(p), I); }};
}

template <Layout (*F)(const Pointwise&)>
constexpr auto layout = &layout_of<Pointwise, F>;
template <bool (*F)(const Pointwise&, const Target&, const Config&)>
constexpr auto holds = &holds_for<Pointwise, F>;
template <bool (*F)(const Pointwise&, const Config&)>
constexpr auto applies = &applies_to<Pointwise, F>;

struct PointwiseFamily {
  using Problem = Pointwise;
  using Args = PointwiseArgs;
  static constexpr const char* kName = "pointwise";
  static constexpr const char* kSentence = "out = act(x + multiplier * y + bias), or a program of formulas";

  static constexpr Field kFields[] = {
      extent_field("rows", offsetof(Pointwise, rows), true, "rows of x, y and out"),
      extent_field("width", offsetof(Pointwise, width), false, "elements in a row"),
      choice_field("op", offsetof(Pointwise, op), kOps,
                   "bias_act: act(x + bias); add_mul_act: act(x + multiplier * y + bias)"),
      choice_field("activation", offsetof(Pointwise, activation), common::kActivationNames,
                   "see quern/activation_table.h"),
      dtype_field("dtype", offsetof(Pointwise, dtype), kData,
                  "type of x, and of each operand below whose type is none"),
      dtype_field("y_dtype", offsetof(Pointwise, y_dtype), kSame, "type of y"),
      dtype_field("bias_dtype", offsetof(Pointwise, bias_dtype), kSame, "type of bias"),
      dtype_field("out_dtype", offsetof(Pointwise, out_dtype), kSame, "type of out"),
      choice_field("x_spread", offsetof(Pointwise, x_spread), kSpreads, "how x covers [rows, width]"),
      choice_field("y_spread", offsetof(Pointwise, y_spread), kSpreads, "how y covers it"),
      choice_field("bias_spread", offsetof(Pointwise, bias_spread), kBiasSpreads, "how bias covers it; none: no bias"),
      choice_field("rounding", offsetof(Pointwise, rounding), kRoundings,
                   "single: fp32 and one rounding; torch: rounded like eager operators"),
      choice_field("pass", offsetof(Pointwise, pass), kPasses, "backward: the gradients, of full x and y"),
      dtype_field("bias_gradient", offsetof(Pointwise, bias_gradient), kSame,
                  "backward: type of the sums of x_gradient's columns"),
      dtype_field("multiplier_gradient", offsetof(Pointwise, multiplier_gradient), only(f32) | only(DType::none),
                  "backward with op=add_mul_act: type of the sum of x_gradient times y"),
      integer_field("x_stride", offsetof(Pointwise, x_stride), 0, kMaxExtent, "elements between rows of x; 0: width"),
      integer_field("y_stride", offsetof(Pointwise, y_stride), 0, kMaxExtent, "elements between rows of y; 0: width"),
      integer_field("out_stride", offsetof(Pointwise, out_stride), 0, kMaxExtent,
                    "elements between rows of out; 0: width"),
      choice_field("scaling", offsetof(Pointwise, scaling), kScalings,
                   "with expr: which elements of its outputs of e4m3 and e5m2 share a scale; none: they have none"),
      choice_field("mode", offsetof(Pointwise, mode), scaled::kModes, "how a scale is made"),
      choice_field("policy", offsetof(Pointwise, policy), scaled::kPolicies, "the result of NaNs and infinities"),
      choice_field("scale_layout", offsetof(Pointwise, scale_layout), mx::kScaleLayouts,
                   "plain: [rows, scales of a row]; blocked: in atoms of 128 x 4"),
      text_field("expr", offsetof(Pointwise, expr), Pointwise{}.expr,
                 "a program in place of op, its statements separated by \";\": \"out = relu(x + bias)\"; see "
                 "docs/expressions.md",
                 &program::canonical),
  };
  static constexpr Operand kOperands[] = {
      {"x", Role::input, offsetof(PointwiseArgs, x), true, layout<x_layout>, "[rows, width] or as x_spread says",
       "first addend"},
      {"y", Role::input, offsetof(PointwiseArgs, y), true, layout<y_layout>, "[rows, width] or as y_spread says",
       "second addend, times the multiplier"},
      {"bias", Role::input, offsetof(PointwiseArgs, bias), true, layout<bias_layout>, "as bias_spread says",
       "last addend"},
      {"out", Role::output, offsetof(PointwiseArgs, out), true, layout<out_layout>, "[rows, width]", "the result"},
      {"gradient", Role::input, offsetof(PointwiseArgs, gradient), true, layout<gradient_layout>, "[rows, width]",
       "backward: the gradient of out"},
      {"x_gradient", Role::output, offsetof(PointwiseArgs, x_gradient), true, layout<x_gradient_layout>,
       "[rows, width]", "backward: the gradient of x"},
      {"y_gradient", Role::output, offsetof(PointwiseArgs, y_gradient), true, layout<y_gradient_layout>,
       "[rows, width]", "backward: the gradient of y"},
      {"bias_gradient", Role::output, offsetof(PointwiseArgs, bias_gradient), false, layout<bias_gradient_layout>,
       "[width]", "the sums of x_gradient's columns"},
      {"multiplier_gradient", Role::output, offsetof(PointwiseArgs, multiplier_gradient), false,
       layout<multiplier_gradient_layout>, "[1]", "the sum of x_gradient times y"},
      {"workspace", Role::workspace, offsetof(PointwiseArgs, workspace), false, layout<workspace_layout>, "[words]",
       "sums on their way: zeros, which each launch restores"},
      {"inputs", Role::input, offsetof(PointwiseArgs, inputs), true, &layout_of<Pointwise, program::input_layout>,
       "[rows, width], [width], [rows] or [1]", "with expr: its operands, as its outputs first need them",
       &program::input_count, nullptr, 0, &program::input_name},
      {"outputs", Role::output, offsetof(PointwiseArgs, outputs), true, &layout_of<Pointwise, program::output_layout>,
       "[rows, width], [width], [rows] or [1]", "with expr: its outputs", &program::output_count, nullptr, 0,
       &program::output_name},
      {"scales", Role::output, offsetof(PointwiseArgs, scales), false, &layout_of<Pointwise, scaled::scales_layout>,
       "[rows, scales of a row] or blocked", "with scaling: of the outputs that are quantized", &scaled::scales_count,
       nullptr, 0, &scaled::scales_name},
  };
  static constexpr Scalar kScalars[] = {
      {"multiplier", offsetof(PointwiseArgs, multiplier), "of y; with op=add_mul_act",
       [](const void* p) { return static_cast<const Pointwise*>(p)->op == PointwiseOp::add_mul_act; }},
      {"alpha", offsetof(PointwiseArgs, alpha), "the activation's parameter, where it has one; nan: its default",
       [](const void* p) {
         return common::takes_alpha(static_cast<int>(static_cast<const Pointwise*>(p)->activation));
       }},
      number_row<0>("number_0"),
      number_row<1>("number_1"),
      number_row<2>("number_2"),
      number_row<3>("number_3"),
      number_row<4>("number_4"),
      number_row<5>("number_5"),
      number_row<6>("number_6"),
      number_row<7>("number_7"),
      number_row<8>("number_8"),
      number_row<9>("number_9"),
      number_row<10>("number_10"),
      number_row<11>("number_11"),
      number_row<12>("number_12"),
      number_row<13>("number_13"),
      number_row<14>("number_14"),
      number_row<15>("number_15"),
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"rows", offsetof(PointwiseArgs, rows), nullptr}};
  static constexpr Parameter kParameters[] = {
      {"form", kFormValues, true, "0: slots in rows; 1: packed operands as one long row; 2: ragged, any alignment"},
      {"vector", kVectors, true, "bytes per access of the widest operand; the ragged form has 16", applies<has_vectors>,
       16},
      {"unroll", kUnrolls, true, "slots in flight per thread"},
      {"threads", kThreadCounts, false, "threads per block; fewer where a problem is small; 256 with sums",
       applies<has_threads>, 256},
      {"load_stream", kSwitch, true, "1: loads of x and y are evict-first"},
      {"store_stream", kSwitch, true, "1: stores of out are evict-first"},
      {"persistent", kSwitch, true, "1: persistent (grid-stride) kernel; forward only", applies<may_persist>},
      {"blocks_per_sm", kBlockCounts, false, "blocks per SM, at most, of a persistent kernel; 0: no limit",
       applies<is_persistent>},
  };
  static constexpr Constraint kConstraints[] = {
      {"form 0 needs a width and strides that a slot divides; form 1 packed operands, no full bias and pass=forward",
       holds<form_fits>},
      {"32-byte accesses exist on sm_100 and sm_103 only", holds<vector_exists>},
      {"a row must have fewer than 2^30 slots", holds<row_has_few_slots>},
      {"elements a slot times unroll must be at most 32, to fit the registers; backward 16, and with sums unroll at "
       "most 2",
       holds<registers_suffice>},
      {"blocks_per_sm blocks must fit a multiprocessor's threads", holds<blocks_are_resident>},
  };
  static constexpr const char* kBenchCases[] = {
      "pointwise rows=4 width=4 op=add_mul_act dtype=f32",
      "pointwise rows=16 width=8 op=add_mul_act dtype=f32",
      "pointwise rows=64 width=16 op=add_mul_act dtype=f32",
      "pointwise rows=256 width=32 op=add_mul_act dtype=f32",
      "pointwise rows=1024 width=64 op=add_mul_act dtype=f32",
      "pointwise rows=4096 width=128 op=add_mul_act dtype=f32",
      "pointwise rows=16384 width=256 op=add_mul_act dtype=f32",
      "pointwise rows=65536 width=512 op=add_mul_act dtype=f32",
      "pointwise rows=262144 width=1024 op=add_mul_act dtype=f32",
      "pointwise rows=262144 width=1024 op=add_mul_act dtype=bf16",
      "pointwise rows=262144 width=1024 op=add_mul_act activation=gelu dtype=bf16",
      "pointwise rows=65536 width=4096 activation=silu dtype=bf16",
      "pointwise rows=65536 width=4097 activation=silu dtype=bf16",
      "pointwise rows=65536 width=4096 activation=identity bias_spread=none dtype=bf16",
      "pointwise rows=65536 width=4096 activation=gelu pass=backward",
      "pointwise rows=65536 width=4096 activation=gelu pass=backward bias_gradient=f32",
      "pointwise rows=65536 op=add_mul_act activation=silu pass=backward bias_gradient=f32 multiplier_gradient=f32",
  };
  // Activations of models: widths mostly of whole sectors, and of any length.
  static constexpr const char* kDraws[] = {
      "rows=1..262144",
      "width=64..16384/64 | width=64..16384/64 | width=8..16384/8 | width=8..8192",
      "dtype=bf16 | dtype=bf16 | dtype=f16 | dtype=f32",
      "op=bias_act | op=add_mul_act",
      "bias_spread=row | bias_spread=row | bias_spread=none",
      "activation=relu | activation=silu | activation=gelu | activation=gelu_tanh | activation=identity",
  };

  static Table<Scalar> scalars() { return kScalars; }
  static Table<SourceFile> sources() { return embedded::pointwise_sources(); }

  static std::string check(const Pointwise& p) {
    if (has_program(p))
      if (std::string sentence = program::check(p); !sentence.empty()) return sentence;
    if (std::string sentence = scaled::check(p); !sentence.empty()) return sentence;
    if (has_reductions(p))
      if (std::string sentence = reductions::check(p); !sentence.empty()) return sentence;
    if (p.width > kMaxWidth) return "width is too large: a row may have 2^31 elements; say the same with more rows";
    if (!is_backward(p) && p.out_stride != 0 && p.out_stride < p.width)
      return "out_stride is below width, so rows of out would overlap";
    return backward::check(p);
  }
  // A program's text needs no second look, and no rule on it is about rows.
  static std::string check_extents(const Pointwise& p) { return has_program(p) ? std::string() : check(p); }

  static int variants(const Pointwise& p, const Target& target, const DeviceModel& model,
                      Variant (&out)[kMaxVariants]) {
    if (is_backward(p)) return backward::variants(p, target, model, out);
    if (has_reductions(p)) return reductions::variants(p, target, out);
    static constexpr const char* kNames[] = {"rows", "flat", "ragged"};
    const Config first = preferred(p, target, model);
    out[0] = {kNames[first[kForm]], first};
    if (first[kForm] == kRagged) return 1;
    const Config any = config_for(p, target, kRagged);
    out[1] = {"ragged", any};
    return 2;
  }

  // The widest access to an operand that is read or written in vectors, broadcasts along rows included.
  static std::uint32_t alignment(const Pointwise& p, int operand, const Config& config) {
    if (is_backward(p)) return backward::alignment(p, operand, config);
    if (has_reductions(p)) return reductions::alignment(p, config);
    if (config[kForm] == kRagged) return 1;
    return static_cast<std::uint32_t>(widest_vector_element(p, config) * slot_elements(p, config));
  }

  static void specialize(const Pointwise& p, const Target&, const Config& config, Spec& spec) {
    if (is_backward(p)) return backward::specialize(p, config, spec);
    if (has_reductions(p)) return reductions::specialize(p, config, spec);
    const std::int64_t elements = slot_elements(p, config);
    const bool periodic = has_cycles(p, config);
    spec.integer("max_threads", common::kMaxThreads);
    spec.flag("flat", config[kForm] == kFlat);
    spec.flag("ragged", config[kForm] == kRagged);
    spec.flag("has_period", periodic);
    spec.flag("packed", config[kForm] == kRows && packed(p));
    spec.flag("has_tail", has_tail(p, config));
    spec.integer("elements", elements);
    spec.flag("rows_hold_slots", periodic && p.width >= elements);
    spec.integer("unroll", config[kUnroll]);
    spec.flag("load_stream", config[kLoadStream] == 1);
    spec.flag("store_stream", config[kStoreStream] == 1);
    spec.flag("persistent", config[kPersistent] == 1);
    // Else CUDA 12.9 limits a persistent kernel to 40 registers on sm_120, for three blocks, and spills in the loop.
    spec.integer("resident_blocks", config[kPersistent] == 1 ? 2 : 0);
    has_program(p) ? program::specialize(p, spec) : specialize_operation(p, spec);
    spec.part("pointwise/forward.cuh");
  }

  static void specialize_operation(const Pointwise& p, Spec& spec) {
    const auto spread = [&](const char* name, Spread value) {
      spec.choice("pointwise::Spread", name, kBiasSpreads[static_cast<int>(value)]);
    };
    spec.integer("params_bytes", sizeof(pointwise::Params));
    spec.type("X", common::spec_type(p.dtype));
    spec.type("Y", common::spec_type(has_y(p) ? y_dtype(p) : f32));
    spec.type("Bias", common::spec_type(has_bias(p) ? bias_dtype(p) : f32));
    spec.type("Output", common::spec_type(out_dtype(p)));
    spec.flag("has_y", has_y(p));
    spread("x_spread", p.x_spread);
    spread("y_spread", has_y(p) ? p.y_spread : Spread::none);
    spread("bias_spread", p.bias_spread);
    spec.choice("common::Activation", "activation", common::kActivationNames[static_cast<int>(p.activation)]);
    spec.flag("torch", p.rounding == Rounding::torch);
    spec.type("Sum", common::spec_type(sum_dtype(p)));
    spec.type("Biased", common::spec_type(biased_dtype(p)));
    spec.header("common/activations.cuh");
    spec.header("pointwise/params.h");
    spec.part("pointwise/operation.cuh");
  }

  static void launch(const Pointwise& p, const Args& a, const DeviceModel& model, const Config& config,
                     Launch& launch) {
    if (is_backward(p)) return backward::launch(p, a, model, config, launch);
    if (has_reductions(p)) return reductions::launch(p, a, config, launch);
    if (has_program(p)) return program::launch(p, a, model, config, launch);
    auto& params = launch.make_params<pointwise::Params>();
    params.x = a.x.data;
    params.y = a.y.data;
    params.bias = a.bias.data;
    params.out = a.out.data;
    params.x_stride = stride(p, p.x_stride);
    params.y_stride = stride(p, p.y_stride);
    params.out_stride = stride(p, p.out_stride);
    params.multiplier = a.multiplier;
    params.alpha = common::alpha_or_default(static_cast<int>(p.activation), a.alpha);
    set_work(p, model, config, params, launch);
  }

  static void reference(const Pointwise& p, const Args& a) {
    if (has_reductions(p)) return reductions::reference(p, a);
    if (has_program(p)) return program::reference(p, a);
    is_backward(p) ? backward::reference(p, a) : pointwise::reference(p, a);
  }

  // The activation's fp32 bound, seen in the stored type: below fp32 an error of a few fp32 units can only flip a
  // rounding, except if eager operators, which are followed step by step, cancel. If steps are rounded, a flip of tanh
  // near -1 is an ulp of 1 in the stored type, times x / 2.
  static Tolerance tolerance(const Pointwise& p, int operand, int entry) {
    if (is_backward(p)) return backward::tolerance(p, kOperands[operand].name);
    if (kOperands[operand].offset == offsetof(PointwiseArgs, scales)) return scaled::tolerance_of_scales(p, entry);
    if (has_reductions(p)) return reductions::tolerance(p, entry);
    if (has_program(p)) return program::tolerance(p, entry);
    const ActivationRow& row = kActivationRows[static_cast<int>(p.activation)];
    if (row.ulps == 0) return {};
    if (rounds_steps(p) && biased_dtype(p) != f32) return {1.0, biased_dtype(p) == bf16 ? 0x1p-6 : 0x1p-9};
    const bool narrow = out_dtype(p) != f32 || (p.rounding == Rounding::torch && biased_dtype(p) != f32);
    return {narrow ? 1.0 : row.ulps, narrow && p.rounding == Rounding::single ? 0 : row.absolute};
  }

  static bool allowance(const Pointwise& p, const Args& a, int operand, int entry, double* of_elements) {
    if (is_backward(p)) return backward::allowance(p, a, kOperands[operand].name, of_elements);
    return has_program(p) && !has_reductions(p) && program::allowance(p, a, entry, of_elements);
  }

  static std::int64_t bytes(const Pointwise& p) {
    if (has_program(p)) return program::bytes(p);
    std::int64_t total = 0;
    for (const Operand& o : kOperands) {
      if (o.count != nullptr) continue;  // of programs
      const Layout l = o.layout(&p);
      if (l.dtype != DType::none && o.role != Role::workspace) total += l.elements() * quern::bytes(l.dtype);
    }
    return total;
  }

  // A special number makes its whole row or column one where there are sums, or what shares its scale, and a NaN may
  // hide all that is wrong.
  static bool generate(const Pointwise& p, int operand, int entry, std::uint64_t seed, void* data) {
    if (!is_backward(p) && !has_reductions(p)) return false;
    const bool sums = backward::has_sums(p) || (has_program(p) && program::summary(p).has_reductions());
    const bool scales = p.scaling != PointwiseScaling::none;
    const Layout layout = kOperands[operand].layout(&p, entry);
    const std::uint64_t rare = sums ? 16384 : scaled::has_whole_rows(p) ? 4096 : scales ? 512 : 16;
    backward::generate(layout, rare, !sums || is_backward(p), seed, data);
    if (scales) scaled::spread_magnitudes(layout, seed, data);
    return true;
  }
};

}  // namespace

const Family& Pointwise::family() {
  static const Family family = make_family<PointwiseFamily>();
  return family;
}

}  // namespace quern
