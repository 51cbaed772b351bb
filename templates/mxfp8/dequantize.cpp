// Back from elements and scales to numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "common/geometry.h"
#include "common/host_types.h"
#include "mxfp8/params.h"
#include "mxfp8/room.h"
#include "mxfp8/scale_order.h"

namespace quern::mxfp8 {
namespace {

bool transposed(const Mxfp8& p) { return col_made(p) && p.out_order == Mxfp8Order::rows; }

// The elements as they lie in memory; `along`: blocks lie along its rows, or else across them.
Matrix matrix(const Mxfp8& p) {
  const std::int64_t rows = transposed(p) ? p.cols : p.rows, cols = transposed(p) ? p.rows : p.cols;
  const bool along = row_made(p) || transposed(p);
  const std::int64_t stride = p.source_stride == 0 ? cols : p.source_stride;
  return {p.experts, rows, cols, cols, stride, expert_gap(p, rows, stride), along, !along};
}

std::string check(const Mxfp8& p) {
  if (p.groups > 0)
    return "groups are for the other operations; dequantize all of their rows at once, or group by group";
  if (p.direction == Mxfp8Direction::both)
    return "direction=both is for quantize; dequantize takes the elements of one direction: row or col";
  if (p.source_order == Mxfp8Order::rows)
    return "source_order=rows is for quantize; out has the order of the elements, which out_order says for "
           "direction=col";
  return {};
}

Layout source_layout(const Mxfp8& p) {
  const Matrix m = matrix(p);
  return source_layout_of(p, m, p.element, m.cols);
}
Layout out_layout(const Mxfp8& p) {
  const Matrix m = matrix(p);
  return experts_layout(p.dtype, m.experts, m.rows, m.cols);
}
Layout source_scales_layout(const Mxfp8& p) { return scales_layout(p, col_made(p)); }

std::int64_t unit(const Mxfp8& p) { return quern::bytes(p.dtype); }

// A vector of out must be a whole vector of elements, of one block where blocks lie along rows.
std::int64_t natural_vector(const Mxfp8& p, std::int64_t limit) {
  const Matrix m = matrix(p);
  const bool whole = is_whole(p) && (m.along || square(p));
  const std::int64_t cols = m.cols != kOpen ? m.cols : whole ? block_length(p) : 1;
  const std::int64_t stride = p.source_stride != 0 ? p.source_stride : cols;
  return common::common_alignment({cols * unit(p), stride * unit(p), p.source_expert_stride * unit(p)}, limit);
}

Config preferred(const Mxfp8& p, const Target& target, const DeviceModel&) {
  return stream_config(natural_vector(p, widest_access(target)), 4);
}

std::uint32_t alignment(const Mxfp8& p, const Config& config) { return vector_alignment(unit(p), config); }

void specialize(const Mxfp8& p, const Config&, Spec& spec) {
  spec.header("mxfp8/params.h");
  spec.header("common/numbers.cuh");
  spec.integer("params_bytes", sizeof(DequantizeParams));
  spec.type("Element", common::spec_type(p.element));
  spec.type("Out", common::spec_type(p.dtype));
  spec.integer("block_length", block_length(p));
  spec.flag("fp32_scales", has_fp32_scales(p));
  spec.flag("along", matrix(p).along || has_given_scale(p));
  spec.flag("square", one_scale_a_square(p));
  spec.flag("expert_stride", has_expert_stride(p));
  spec.choice("mxfp8::ScaleOrder", "order", order_of(p));
  spec.part("mxfp8/dequantize.cuh");
}

void launch(const Mxfp8& p, const Mxfp8Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
  const Matrix m = matrix(p);
  const mx::ScaleGrid scales = scale_grid(p, col_made(p));
  const std::int64_t elements = config[kVector] / unit(p);
  DequantizeParams params{};
  params.noop = a.noop.data;
  params.source = a.source.data;
  params.scales = has_given_scale(p) ? a.given_scale.data : a.source_scales.data;
  params.out = a.out.data;
  params.rows = m.rows;
  params.cols = m.cols;
  params.source_stride = m.stride;
  params.expert_gap = m.gap;
  params.shape = {scales.lines(), scales.blocks()};
  params.slots = common::make_slots(is_empty(p) ? 0 : static_cast<std::uint64_t>(m.experts * m.rows),
                                    static_cast<std::uint64_t>(std::max<std::int64_t>(1, m.cols / elements)));
  params.by_rows = common::make_divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, m.rows)));
  launch.set_params(params);
  common::launch_slots(params.slots.count, config[kUnroll], config[kThreads], model, launch);
  common::limit_grid(config[kBlocksPerSm], model, launch);
}

std::int64_t moved(const Mxfp8& p) { return p.experts * p.rows * p.cols * (1 + unit(p)) + scale_bytes(p, col_made(p)); }

// ---- The plain reference

double element_value(const Mxfp8& p, std::uint8_t code) {
  return p.element == DType::e4m3 ? common::E4m3::decode(code) : common::E5m2::decode(code);
}
double scale_value(const Mxfp8& p, const void* scales, std::int64_t index) {
  if (has_fp32_scales(p)) return static_cast<const float*>(scales)[index];
  const std::uint8_t scale = static_cast<const std::uint8_t*>(scales)[index];
  return scale == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, scale - 127);
}

template <class T>
void dequantize(const Mxfp8& p, const Mxfp8Args& a) {
  const Matrix m = matrix(p);
  const auto* elements = static_cast<const std::uint8_t*>(a.source.data);
  const void* scales = has_given_scale(p) ? a.given_scale.data : a.source_scales.data;
  auto* out = static_cast<T*>(a.out.data);
  parallel_for(
      m.experts * m.rows, 1 + (1 << 14) / std::max<std::int64_t>(1, m.cols), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          const std::int64_t expert = r / m.rows, row = r % m.rows;
          for (std::int64_t c = 0; c < m.cols; ++c) {
            const std::int64_t line = m.along ? row : c, block = (m.along ? c : row) / block_length(p);
            const std::int64_t scale = has_given_scale(p) ? 0 : scale_index(p, col_made(p), expert, line, block);
            const double x = element_value(p, elements[row_begin(m, r) + c]) * scale_value(p, scales, scale);
            out[r * m.cols + c] = common::from_compute<T>(static_cast<float>(x));
          }
        }
      });
}

void reference(const Mxfp8& p, const Mxfp8Args& a) {
  common::with_float(p.dtype, [&](auto x) { dequantize<decltype(x)>(p, a); });
}

}  // namespace

const Room kDequantize = {
    check,          matrix,     {.source = source_layout, .out = out_layout, .source_scales = source_scales_layout},
    natural_vector, unit,       preferred,
    alignment,      specialize, launch,
    reference,      moved};

}  // namespace quern::mxfp8
