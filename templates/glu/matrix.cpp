#include "glu/matrix.h"

#include <algorithm>

#include "base/parallel.h"
#include "common/host_types.h"
#include "glu/matrix_params.cuh"
#include "mxfp8/quantize.h"

namespace quern::glu {
namespace {

Mxfp8Scaling scaling_of(const Glu& p) {
  if (p.scaling == GluScaling::tensor) return Mxfp8Scaling::tensor;
  return p.scaling == GluScaling::block128 ? Mxfp8Scaling::block128 : Mxfp8Scaling::mx;
}
Mxfp8Direction direction_of(const Glu& p) {
  if (p.direction == GluDirection::both) return Mxfp8Direction::both;
  return p.direction == GluDirection::col ? Mxfp8Direction::col : Mxfp8Direction::row;
}

// What makes numbers of as many vectors: interleaved gradients are made of one of x and half of one of out's gradient.
Mxfp8Prologue prologue_of(const Glu& p) {
  if (!is_backward(p)) return Mxfp8Prologue::gated;
  return p.layout == GluLayout::interleaved ? Mxfp8Prologue::dact : Mxfp8Prologue::dgated;
}

bool makes_pairs(const Glu& p) { return is_backward(p) && p.layout == GluLayout::interleaved; }

// Gradients in alternating blocks would each be made of all inputs. Vectors of interleaved numbers are read in two: on
// an H200 16384 x 4096, direction both, takes 129 us so, through registers 118.
bool layout_may_be_copied(const Glu& p) {
  return p.layout != (is_backward(p) ? GluLayout::blocks : GluLayout::interleaved);
}

// Whether vectors of so many numbers divide the rows of all operands and their strides.
bool numbers_divide(const Glu& p, std::int64_t numbers) {
  const std::int64_t elements = makes_pairs(p) ? std::max<std::int64_t>(1, numbers / 2) : numbers;
  const std::int64_t of_x = p.layout == GluLayout::interleaved && numbers > 1 ? 2 * elements : elements;
  return p.width % elements == 0 && x_stride(p) % of_x == 0 && gradient_stride(p) % elements == 0 &&
         (p.layout != GluLayout::blocks || p.block % elements == 0);
}

Config as_mxfp8(const Config& c) {
  Config config = mxfp8::stream_config(c[kVector], 1);
  config[mxfp8::kForm] = mxfp8::kTile;
  config[mxfp8::kThreads] = mxfp8::kTileThreads;
  config[mxfp8::kRows] = c[kRows];
  config[mxfp8::kResident] = c[kResident];
  config[mxfp8::kPanel] = c[kPanel];
  config[mxfp8::kCluster] = c[kCluster];
  config[mxfp8::kStoreStream] = c[kStoreStream];
  config[mxfp8::kAsyncCopies] = c[kAsyncCopies];
  return config;
}

Mxfp8Args as_mxfp8(const Glu& p, const GluArgs& a) {
  Mxfp8Args args;
  args.given_scale = a.given_scale;
  args.out = is_backward(p) ? a.x_gradient : a.out;
  args.scales = a.scales;
  args.out_col = is_backward(p) ? a.x_gradient_col : a.out_col;
  args.scales_col = a.scales_col;
  args.bias_gradient = a.bias_gradient;
  args.workspace = a.workspace;
  args.rows = all_rows(p);
  args.experts = 1;
  return args;
}

std::string why_of_mxfp8(const std::string& why) {
  return why.empty() ? why : "as the matrix that mxfp8 quantizes: " + why;
}

}  // namespace

Mxfp8 as_mxfp8(const Glu& p) {
  Mxfp8 m;
  m.rows = all_rows(p);
  m.cols = is_backward(p) ? 2 * p.width : p.width;
  m.direction = direction_of(p);
  m.dtype = p.dtype;
  m.element = p.element;
  m.scaling = scaling_of(p);
  m.mode = p.mode;
  m.policy = p.policy;
  m.scale_layout = p.scale_layout == MxScaleLayout::blocked ? Mxfp8Scales::blocked : Mxfp8Scales::plain;
  m.tail = Mxfp8Tail::pad;
  m.prologue = prologue_of(p);
  m.activation = p.activation;
  m.bias_gradient = p.bias_gradient == DType::none ? Mxfp8BiasGradient::none : Mxfp8BiasGradient::sums;
  return m;
}

// Of an image. One for whole blocks is that of a problem with as many rows as it may have: images know no extents.
static Mxfp8 as_mxfp8(const Glu& p, const Config& c) {
  constexpr std::int64_t kManyWholeRows = std::int64_t{1} << 20;
  Mxfp8 m = as_mxfp8(p);
  if (c[kWholeBlocks] == 1) m.rows = kManyWholeRows;
  return m;
}

bool has_open_rows(const Glu& p) { return p.rows == kOpen; }
bool rows_are_whole(const Glu& p) { return all_rows(p) % (p.scaling == GluScaling::block128 ? 128 : 32) == 0; }

std::string check_matrix_extents(const Glu& p) { return why_of_mxfp8(mxfp8::check_extents(as_mxfp8(p))); }

std::string check_matrix(const Glu& p) {
  if (p.scaling == GluScaling::row)
    return has_columns(p) ? "scaling=row goes with direction=row"
                          : "scaling=row has no bias_gradient: use another scaling, or scaling=none";
  const std::string what_has_it = has_columns(p) ? "direction=row" : "scaling=none where there is a bias_gradient";
  if (p.counts != DType::none) return "counts go with " + what_has_it + ": a column has all rows";
  if (p.recompute != GluRecompute::none) return "recompute goes with " + what_has_it;
  if (p.bias_gradient != DType::none && p.bias_gradient != f32) return "bias_gradient is f32 beside a scaling";
  if (p.out_stride != 0 || p.x_gradient_stride != 0)
    return "out_stride and x_gradient_stride go with " + what_has_it + ": other results have no gaps";
  const Mxfp8 m = as_mxfp8(p);
  if (m.cols >= std::int64_t{1} << 30)
    return "width is too large: with direction=col and both, or bias_gradient beside a scaling, a row of what is "
           "quantized has fewer than 2^30 numbers";
  return why_of_mxfp8(mxfp8::check(m));
}

std::int64_t vector_elements(const Glu& p, const Config& c) {
  const std::int64_t numbers = c[kVector] / bytes(p.dtype);
  return makes_pairs(p) ? std::max<std::int64_t>(1, numbers / 2) : numbers;
}

Config matrix_default(const Glu& p, const Target& target, const DeviceModel& model, bool whole) {
  const bool may_copy = layout_may_be_copied(p) && numbers_divide(p, 16 / bytes(p.dtype));
  Config config;
  config[kWholeBlocks] = whole ? 1 : 0;
  const Config mxfp8 = mxfp8::quantize_default(as_mxfp8(p, config), target, model, may_copy);
  config[kForm] = kMatrixForm;
  config[kVector] = mxfp8[mxfp8::kVector];
  config[kUnroll] = 1;
  config[kThreads] = 256;
  config[kStoreStream] = mxfp8[mxfp8::kStoreStream];
  config[kRows] = mxfp8[mxfp8::kRows];
  config[kResident] = mxfp8[mxfp8::kResident];
  config[kPanel] = mxfp8[mxfp8::kPanel];
  config[kCluster] = mxfp8[mxfp8::kCluster];
  config[kAsyncCopies] = mxfp8[mxfp8::kAsyncCopies];
  while (config[kVector] > bytes(p.dtype) && !numbers_divide(p, config[kVector] / bytes(p.dtype))) config[kVector] /= 2;
  return config[kVector] > bytes(p.dtype) ? config : matrix_of_elements(p, config);
}

Config matrix_of_elements(const Glu& p, Config config) {
  config[kVector] = static_cast<std::int32_t>(bytes(p.dtype));
  config[kRows] = 32;
  config[kResident] = 0;
  config[kCluster] = 1;
  config[kAsyncCopies] = config[kWholeBlocks] = 0;
  return config;
}

// ---- Constraints

bool form_has_direction(const Glu& p, const Target&, const Config& c) {
  return (c[kForm] == kMatrixForm) == has_matrix(p);
}
bool tile_vector_divides(const Glu& p, const Target&, const Config& c) {
  if (!has_matrix(p)) return true;
  return c[kVector] >= bytes(p.dtype) && mxfp8::natural_vector(as_mxfp8(p, c), 32) % c[kVector] == 0 &&
         numbers_divide(p, c[kVector] / bytes(p.dtype));
}
bool tile_fits(const Glu& p, const Target& target, const Config& c) {
  if (!has_matrix(p)) return true;
  const Mxfp8 m = as_mxfp8(p, c);
  const Config config = as_mxfp8(c);
  return mxfp8::tile_fits_registers(m, target, config) && mxfp8::parts_hold_blocks(m, target, config) &&
         mxfp8::vector_fits_columns(m, target, config) && mxfp8::tile_fits_shared(m, target, config);
}
bool cluster_fits(const Glu& p, const Target& target, const Config& c) {
  if (!has_matrix(p)) return true;
  return mxfp8::cluster_has_scales(as_mxfp8(p, c), target, as_mxfp8(c)) && c[kPanel] % c[kCluster] == 0;
}
bool copies_fit(const Glu& p, const Target& target, const Config& c) {
  if (!has_matrix(p) || c[kAsyncCopies] == 0) return true;
  return layout_may_be_copied(p) && c[kVector] >= (makes_pairs(p) ? 8 : 4) &&
         mxfp8::copies_move_vectors(as_mxfp8(p, c), target, as_mxfp8(c));
}
bool blocks_are_whole(const Glu& p, const Target&, const Config& c) {
  return c[kWholeBlocks] == 0 || !mxfp8::has_cut_bands(as_mxfp8(p, c));
}
bool resident_blocks_fit(const Glu& p, const Target& target, const Config& c) {
  return !has_matrix(p) || c[kResident] * mxfp8::kTileThreads <= common::resident_threads(target);
}

std::uint32_t matrix_alignment(const Glu& p, const Config& c) { return mxfp8::alignment(as_mxfp8(p, c), as_mxfp8(c)); }

void specialize_matrix(const Glu& p, const Config& c, Spec& spec) {
  spec.header("mxfp8/params.h");
  spec.integer("params_bytes", sizeof(WithGlu<mxfp8::TileParams>));
  spec.integer("vector", c[kVector]);
  spec.part("glu/numbers.cuh");
  mxfp8::specialize(as_mxfp8(p, c), as_mxfp8(c), spec);
  spec.part("glu/matrix.cuh");
}

Params& launch_matrix(const Glu& p, const GluArgs& a, const Config& c, Launch& launch) {
  auto& all = launch.make_params<WithGlu<mxfp8::TileParams>>();
  mxfp8::launch_tiles(as_mxfp8(p), as_mxfp8(p, a), as_mxfp8(c), all, launch);
  return all.glu;
}

void quantize_matrix(const Glu& p, const GluArgs& a, const std::vector<float>& numbers) {
  Mxfp8 m = as_mxfp8(p);
  m.prologue = Mxfp8Prologue::none;
  m.activation = Activation::identity;
  std::vector<std::uint8_t> source(numbers.size() * static_cast<std::size_t>(bytes(p.dtype)));
  parallel_for(static_cast<std::int64_t>(numbers.size()), 1 << 20, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      common::write_float(p.dtype, source.data(), i, numbers[static_cast<std::size_t>(i)]);
  });
  Mxfp8Args args = as_mxfp8(p, a);
  args.source = source.data();
  mxfp8::quantize_reference(m, args);
}

}  // namespace quern::glu
