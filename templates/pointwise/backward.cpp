#include "pointwise/backward.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/parallel.h"
#include "base/random.h"
#include "common/activation_reference.h"
#include "common/geometry.h"
#include "common/host_types.h"
#include "pointwise/params.h"
#include "rows/elements.h"

namespace quern::pointwise::backward {
namespace {

constexpr std::int64_t kWidest = std::int64_t{1} << 29;
constexpr std::int64_t kOfLane = rows::kTileColumns / 32;  // elements of a row that a thread has, where there are sums

// Whether a thread's elements are of any rows, because whole warps of them would idle at the end of each row. On an
// H200 200000 rows of 33 of bf16 took 31.6 us with warps of their own, 18.2 without; of 81, with 36 % idle, 17.9
// and 19.5.
bool is_across_rows(const Pointwise& p, const Config& c) {
  return c[kForm] != kRows && !has_sums(p) && rows::idle_percent(p.width, c[kUnroll]) > 40;
}

// Elements that a thread has at once, and how many of these are in flight. One by one, without sums, `unroll` of them.
std::int64_t elements_at_once(const Pointwise& p, const Config& c) {
  if (c[kForm] == kRows) return slot_elements(p, c);
  if (is_across_rows(p, c)) return 1;
  return has_sums(p) ? kOfLane : c[kUnroll];
}
std::int64_t in_flight(const Pointwise& p, const Config& c) {
  return c[kForm] == kRows || has_sums(p) || is_across_rows(p, c) ? c[kUnroll] : 1;
}

bool vectors_divide(const Pointwise& p, std::int64_t elements) {
  return p.width % elements == 0 && stride(p, p.x_stride) % elements == 0 && stride(p, p.out_stride) % elements == 0 &&
         (!has_y(p) || stride(p, p.y_stride) % elements == 0);
}

Config config_for(Forms form, std::int64_t vector, std::int64_t unroll) {
  Config config;
  config[kForm] = form;
  config[kVector] = static_cast<std::int32_t>(vector);
  config[kUnroll] = static_cast<std::int32_t>(unroll);
  config[kThreads] = 128;  // but rows::kTileThreads with sums, where the parameter does not apply
  config[kStoreStream] = 1;
  return config;
}

// Open rows are many.
std::int64_t all_elements(const Pointwise& p) { return p.rows == kOpen ? kMaxExtent : p.rows * p.width; }

// Rows of a tile on their way to a thread: two of two fp32 operands take too many registers.
std::int64_t rows_ahead(const Pointwise& p) { return has_y(p) && widest_element(p) == 4 ? 1 : 2; }

// Whether accesses of 8 bytes, one in flight, are faster than those of 16: of few elements, of more where they take
// long. On an H200 gelu of 700 x 1024 takes 2.69 us for 2.97 (with two in flight 3.05), of 1400 x 1024 3.78 for 3.85,
// of 2000 x 2048 7.64 for 7.52; silu of 1400 x 1024 3.74 for 3.68.
bool takes_narrow(const Pointwise& p, std::int64_t elements, const DeviceModel& model) {
  const int longer = p.activation == Activation::gelu ? 3 : 1;
  return !has_sums(p) && rows::is_small(all_elements(p) / elements / longer, model);
}

bool find_vectors(const Pointwise& p, const DeviceModel& model, Config& found) {
  for (std::int64_t vector = 16; vector >= 4; vector /= 2) {
    const std::int64_t elements = vector / widest_element(p);
    if (elements < 2) break;
    if ((vector > 8 && takes_narrow(p, elements, model)) || !vectors_divide(p, elements)) continue;
    const bool one =
        rows::is_small(all_elements(p) / 8, model) || (vector == 8 && takes_narrow(p, 2 * elements, model));
    found = config_for(kRows, vector, has_sums(p) ? rows_ahead(p) : one ? 1 : std::max<std::int64_t>(1, 8 / elements));
    return true;
  }
  return false;
}

Config elements(const Pointwise& p, const DeviceModel& model) {
  const auto of_width = [&](std::int64_t width) {
    const std::int64_t unroll = has_sums(p) ? 1 : rows::elements_of_thread(width, all_elements(p), 1, 8, model);
    return config_for(kRagged, 16, unroll);
  };
  const Config of_row = of_width(p.width);
  return is_across_rows(p, of_row) ? of_width(kMaxExtent) : of_row;
}

bool is_too_large(const Pointwise& p) {
  const std::int64_t row = std::max({p.width, p.x_stride, p.y_stride, p.out_stride, std::int64_t{1}});
  std::int64_t all = 0;
  return __builtin_mul_overflow(row, std::max<std::int64_t>(1, p.rows), &all) || all > kMaxExtent;
}

}  // namespace

Layout workspace_layout(const Pointwise& p) {
  if (!is_backward(p) || !has_sums(p)) return {};
  return Layout::list(i32, p.rows == kOpen ? kOpen : rows::sums_workspace(sums_of(p)).words);
}

std::string check(const Pointwise& p) {
  if (!is_backward(p)) {
    if (has_sums(p)) return "bias_gradient and multiplier_gradient are for pass=backward";
    return {};
  }
  if (p.x_spread != Spread::full || (has_y(p) && p.y_spread != Spread::full))
    return "pass=backward goes with x_spread=full and y_spread=full: the gradient of a broadcast operand is a sum";
  if (p.bias_gradient != DType::none && p.bias_spread != Spread::row && p.bias_spread != Spread::none)
    return "bias_gradient is for bias_spread=row, or none where the bias was added before";
  if (p.multiplier_gradient != DType::none && !has_y(p)) return "multiplier_gradient is for op=add_mul_act";
  if (p.width > kWidest) return "width is too large: with pass=backward a row may have 2^29 elements";
  if (is_too_large(p)) return "rows and width are too large: with pass=backward an operand may have 2^46 elements";
  for (const std::int64_t each : {p.x_stride, has_y(p) ? p.y_stride : 0}) {
    if (each != 0 && each < p.width)
      return "x_stride and y_stride are of the gradients too, whose rows would overlap below width";
  }
  return {};
}

bool has_few_elements(const Pointwise& p, const Config& c) {
  const std::int64_t at_once = has_sums(p) ? kOfLane : elements_at_once(p, c);
  return at_once * in_flight(p, c) <= 16 && (!has_sums(p) || elements_at_once(p, c) <= kOfLane);
}

int variants(const Pointwise& p, const Target&, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
  int count = 0;
  if (Config wide; find_vectors(p, model, wide)) out[count++] = {"rows", wide};
  out[count++] = {"ragged", elements(p, model)};
  return count;
}

std::uint32_t alignment(const Pointwise& p, int operand, const Config& config) {
  if (config[kForm] != kRows) return 1;
  const Layout l = Pointwise::family().operands[operand].layout(&p);
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(config[kVector], elements_at_once(p, config) * bytes(l.dtype)));
}

void specialize(const Pointwise& p, const Config& config, Spec& spec) {
  spec.header("common/activations.cuh");
  spec.header("pointwise/params.h");
  spec.integer("params_bytes", sizeof(BackwardParams));
  spec.integer("max_threads", has_sums(p) ? rows::kTileThreads : common::kMaxThreads);
  spec.flag("vectors", config[kForm] == kRows);
  spec.integer("elements", elements_at_once(p, config));
  spec.integer("access", config[kVector]);
  spec.integer("unroll", in_flight(p, config));
  spec.flag("load_stream", config[kLoadStream] == 1);
  spec.flag("store_stream", config[kStoreStream] == 1);
  spec.flag("persistent", false);
  spec.integer("resident_blocks", has_sums(p) ? rows::resident_blocks(sums_of(p), config[kUnroll]) : 0);
  spec.type("X", common::spec_type(p.dtype));
  spec.type("Y", common::spec_type(has_y(p) ? y_dtype(p) : f32));
  spec.type("Bias", common::spec_type(has_bias(p) ? bias_dtype(p) : f32));
  spec.type("Output", common::spec_type(out_dtype(p)));
  spec.flag("has_y", has_y(p));
  spec.choice("pointwise::Spread", "bias_spread", kBiasSpreads[static_cast<int>(p.bias_spread)]);
  spec.choice("common::Activation", "activation", common::kActivationNames[static_cast<int>(p.activation)]);
  spec.flag("torch", p.rounding == Rounding::torch);
  spec.type("Sum", common::spec_type(sum_dtype(p)));
  spec.type("Biased", common::spec_type(biased_dtype(p)));
  spec.flag("bias_gradient", p.bias_gradient != DType::none);
  spec.type("BiasGradient", common::spec_type(p.bias_gradient == DType::none ? f32 : p.bias_gradient));
  spec.flag("multiplier_gradient", p.multiplier_gradient != DType::none);
  spec.part(has_sums(p) ? "pointwise/gradient_sums.cuh" : "pointwise/gradients.cuh");
}

void launch(const Pointwise& p, const PointwiseArgs& a, const DeviceModel& model, const Config& config,
            Launch& launch) {
  const bool empty = p.rows == 0 || p.width == 0;
  auto& params = launch.make_params<BackwardParams>();
  params.x = a.x.data;
  params.y = a.y.data;
  params.bias = a.bias.data;
  params.gradient = a.gradient.data;
  params.x_gradient = a.x_gradient.data;
  params.y_gradient = a.y_gradient.data;
  params.bias_gradient = a.bias_gradient.data;
  params.multiplier_gradient = a.multiplier_gradient.data;
  params.x_stride = stride(p, p.x_stride);
  params.y_stride = stride(p, p.y_stride);
  params.gradient_stride = stride(p, p.out_stride);
  params.rows = p.rows;
  params.width = static_cast<int>(p.width);
  params.multiplier = a.multiplier;
  params.alpha = common::alpha_or_default(static_cast<int>(p.activation), a.alpha);
  if (has_sums(p)) {  // sums of nothing are zeros, which are written too
    params.sums = rows::launch_tiles(sums_of(p), a.workspace.data, launch);
  } else {
    const bool adjacent = config[kForm] == kRows || is_across_rows(p, config);
    const std::int64_t slots = rows::slots_of_row(p.width, elements_at_once(p, config), adjacent);
    params.slots = common::make_slots(empty ? 0 : static_cast<std::uint64_t>(p.rows),
                                      empty ? 1 : static_cast<std::uint64_t>(slots));
    common::launch_slots(params.slots, static_cast<int>(in_flight(p, config)), config[kThreads], model, launch);
  }
}

// An activation's derivative is within 2^-20, in fp32 within some units of 1; gradients and multipliers of tests are
// below 4. Some numbers of two bytes in a sum are
// rounded the other way.
Tolerance tolerance(const Pointwise& p, std::string_view operand) {
  const common::ActivationRow& row = common::kActivationRows[static_cast<int>(p.activation)];
  if (row.ulps == 0) return {};  // products and sums alone, in one order
  const bool wide = p.dtype == f32 || (has_y(p) && y_dtype(p) == f32);
  const bool narrow = !wide || (p.rounding == Rounding::torch && biased_dtype(p) != f32);
  const double unit = narrow ? 0x1p-6 : 0;
  const auto of_sum = [&](std::int64_t count) {
    return Tolerance{2, 64 * (unit * (1 + static_cast<double>(count) / 64) + static_cast<double>(1 + count) * 0x1p-20)};
  };
  if (operand == "bias_gradient") return of_sum(p.rows);
  if (operand == "multiplier_gradient") return of_sum(p.rows * p.width);
  return {narrow ? 2.0 : row.ulps + 4, 16 * (narrow ? 0x1p-20 : 0x1p-22)};
}

void generate(const Layout& layout, std::uint64_t rare, bool has_nan, std::uint64_t seed, void* data) {
  static constexpr double kSpecials[] = {0.0, -0.0, NAN, 1e-40, -6e-8};
  const auto special = [&](std::uint64_t random) {
    const double value = kSpecials[random % std::size(kSpecials)];
    return std::isnan(value) && !has_nan ? 0.0 : value;
  };
  common::with_float(layout.dtype, [&](auto x) {
    using T = decltype(x);
    T* const out = static_cast<T*>(data);
    parallel_for(
        layout.span_bytes() / bytes(layout.dtype), std::int64_t{1} << 20, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(i));
            const double value =
                (random >> 44) % rare == 0 ? special(random >> 8) : static_cast<double>(random >> 40) / (1 << 21) - 4;
            out[i] = common::from_compute<T>(static_cast<common::ComputeOf<T>>(value));
          }
        });
  });
}

}  // namespace quern::pointwise::backward
