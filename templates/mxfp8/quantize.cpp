// Quantization: source to elements and scales, in one direction or both.
#include <algorithm>
#include <limits>

#include "common/activation_reference.h"
#include "common/geometry.h"
#include "common/host_types.h"
#include "mxfp8/bias.h"
#include "mxfp8/choice_names.h"
#include "mxfp8/columns.h"
#include "mxfp8/matrix.h"
#include "mxfp8/params.h"
#include "mxfp8/quantize.h"

namespace quern::mxfp8 {

bool transposed(const Mxfp8& p) { return matrix_of(p).across && p.out_order == Mxfp8Order::rows; }

bool has_cut_bands(const Mxfp8& p) {
  if (has_matrices(p)) return !is_whole(p);
  const Matrix m = matrix_of(p);
  const auto is_cut = [&](std::int64_t n) { return n == kOpen || n % block_length(p) != 0; };
  const bool pads = !is_whole(p);
  if ((p.groups > 0 || is_cut(m.rows)) && (pads || (!m.across && !square(p)))) return true;
  return pads && (m.along || square(p)) && is_cut(m.cols);
}

// What a vector must divide where an output has gaps: its elements are written at once. Transposed elements are not,
// they pass through shared memory. 0: nothing.
static std::int64_t pitch_limit(const Mxfp8& p, bool col) {
  const bool is_transposed = has_column_lines(p, col) != (p.source_order == Mxfp8Order::rows);
  return is_transposed ? 0 : out_stride_of(p, col) * source_bytes(p);
}

std::int64_t natural_vector(const Mxfp8& p, std::int64_t limit) {
  const Matrix m = matrix_of(p);
  // For an open extent, and for columns of groups, it is known whether it is a multiple of the block.
  const bool whole = is_whole(p) && (m.along || square(p) || has_matrices(p));
  const std::int64_t cols = m.cols != kOpen && !has_matrices(p) ? m.cols : whole ? block_length(p) : 1;
  // The two halves of a line are read together.
  const std::int64_t half = p.prologue == Mxfp8Prologue::dgated ? cols / 2 : cols;
  const std::int64_t stride = p.source_stride != 0 ? p.source_stride : half;
  return common::common_alignment(
      {half * source_bytes(p), stride * source_bytes(p), p.source_expert_stride * source_bytes(p),
       row_made(p) ? pitch_limit(p, false) : 0, col_made(p) ? pitch_limit(p, true) : 0},
      limit);
}

bool can_stream(const Mxfp8& p) {
  const Matrix m = matrix_of(p);
  if (has_matrices(p) || (padded(p) && p.groups > 0)) return false;  // a row's place needs its group
  return m.along && !m.across && !square(p) && !blocked(p) && p.source_order == Mxfp8Order::cols && !has_sums(p);
}

bool rows_have_scales(const Mxfp8& p) {
  return !has_fp32_scales(p) && row_made(p) && p.source_order == Mxfp8Order::cols && !blocked(p) &&
         !one_scale_a_square(p) && !has_matrices(p);
}

bool has_wide_tile(const Mxfp8& p) { return matrix_of(p).along && p.scaling == Mxfp8Scaling::block128; }

std::int32_t tile_columns(const Mxfp8& p, const Config& c) {
  if (has_wide_tile(p)) return 128;
  return static_cast<std::int32_t>(mx::divide_up_by_power(std::int64_t{c[kRows]} * c[kVector], source_bytes(p)));
}

// Halves have whole blocks, and whole strips of columns for sums; blocked scales no padding beyond them.
bool has_halves(const Mxfp8& p, const Config& c) {
  if (p.prologue != Mxfp8Prologue::dgated || c[kForm] != kTile || c[kAsyncCopies] != 1) return false;
  if (c[kCluster] != 1 || p.groups > 0) return false;
  if (p.cols % (blocked(p) ? 128 : 64) != 0) return false;
  return !square(p) && !padded(p) && p.scaling != Mxfp8Scaling::block128 && tile_columns(p, c) >= 2 * kBlockElements;
}

namespace {

constexpr std::int32_t kMostPatch = 256;         // bytes of a thread: 64 registers
constexpr std::int32_t kMostShared = 48 * 1024;  // available to every kernel without opt-in
constexpr std::int32_t kMostSharedOfPrologues = 96 * 1024;

// Whether blocked scales are collected in shared memory and written at least 4 bytes at a time; with vectors of one
// element, which take any address, they are written one by one.
bool writes_atoms(const Mxfp8& p, const Config& c) {
  return blocked(p) && c[kForm] == kTile && c[kVector] > source_bytes(p);
}

std::int32_t thread_columns(const Mxfp8& p, const Config& c) { return tile_columns(p, c) * kBand / c[kRows] / 32; }

// Vectors that asynchronous copies bring for each vector that a thread makes, or for both halves.
int inputs_of(const Mxfp8& p) {
  switch (p.prologue) {
    case Mxfp8Prologue::none:
      return 0;
    case Mxfp8Prologue::act:
      return 1;
    case Mxfp8Prologue::dgated:
      return 3;
    default:
      return 2;
  }
}

// Inputs that land beside what is made of them, each counted as two halves of a tile; where a tile has halves, a thread
// has one for half of its rows.
int landing_halves(const Mxfp8& p, const Config& c) {
  if (c[kAsyncCopies] == 0) return 0;
  return has_halves(p, c) ? inputs_of(p) - 2 : 2 * (inputs_of(p) - 1);
}

TileShared shared_of(const Mxfp8& p, const Config& c) {
  const Matrix m = matrix_of(p);
  const bool scales = m.along && !has_given_scale(p), tall = m.across && p.scaling == Mxfp8Scaling::block128;
  return tile_shared({tile_columns(p, c), static_cast<int>(block_length(p)), static_cast<int>(scale_size(p)), c[kStack],
                      transposed(p), scales && !square(p), scales, c[kCluster] > 1, m.across && writes_atoms(p, c),
                      p.groups > 0, has_sums(p), tall,
                      p.prologue == Mxfp8Prologue::none ? 0 : static_cast<int>(source_bytes(p)), landing_halves(p, c)});
}

}  // namespace

std::int32_t tile_bytes(const Mxfp8& p, const Config& c) { return shared_of(p, c).bytes; }
std::int32_t tiles_in_shared(const Mxfp8& p, const Target& target, const Config& c) {
  constexpr std::int32_t kOfSystem = 1024;  // of each block
  return common::resident_shared_bytes(target) / (tile_bytes(p, c) + kOfSystem);
}

// ---- Constraints

bool stream_is_along(const Mxfp8& p, const Target&, const Config& c) { return c[kForm] != kStream || can_stream(p); }
bool tile_fits_registers(const Mxfp8& p, const Target&, const Config& c) {
  return c[kForm] != kTile || has_wide_tile(p) || c[kRows] * c[kVector] <= kMostPatch;
}
bool parts_hold_blocks(const Mxfp8& p, const Target&, const Config& c) {
  return c[kForm] != kTile || tile_columns(p, c) >= kBlockElements;
}
bool tile_fits_shared(const Mxfp8& p, const Target&, const Config& c) {
  const std::int32_t most = p.prologue == Mxfp8Prologue::none ? kMostShared : kMostSharedOfPrologues;
  return c[kForm] != kTile || tile_bytes(p, c) <= most;
}
bool vector_fits_columns(const Mxfp8& p, const Target&, const Config& c) {
  return c[kForm] != kTile || !has_wide_tile(p) || c[kVector] <= thread_columns(p, c) * source_bytes(p);
}
bool copies_move_vectors(const Mxfp8& p, const Target&, const Config& c) {
  if (c[kAsyncCopies] == 0) return true;
  if (has_wide_tile(p) && c[kVector] != thread_columns(p, c) * source_bytes(p)) return false;
  return c[kVector] >= 4 && c[kVector] <= 16 && c[kVector] > source_bytes(p);
}
bool cluster_has_scales(const Mxfp8& p, const Target& t, const Config& c) {
  return c[kCluster] == 1 || (t.arch >= 90 && rows_have_scales(p));
}

namespace {

// ---- Launch

void set_results(const Mxfp8& p, const Mxfp8Args& a, Params& params) {
  const bool swapped = p.source_order == Mxfp8Order::rows;
  void* const row[] = {a.out.data, a.scales.data};
  void* const col[] = {both_made(p) ? a.out_col.data : a.out.data, both_made(p) ? a.scales_col.data : a.scales.data};
  params.row_out = swapped ? col[0] : row[0];
  params.row_scales = swapped ? col[1] : row[1];
  params.col_out = swapped ? row[0] : col[0];
  params.col_scales = swapped ? row[1] : col[1];
}

// What all forms have.
void set_params(const Mxfp8& p, const Mxfp8Args& a, Params& params) {
  const Matrix m = matrix_of(p);
  params.noop = a.noop.data;
  params.source = a.source.data;
  params.rows = m.rows;
  params.cols = m.cols;
  params.source_stride = m.stride;
  params.expert_gap = m.gap;
  if (has_expert_stride(p) || padded(p))
    params.by_rows = common::make_divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, m.rows)));
  params.row_blocks = blocks_of(p, m.cols);
  params.col_blocks = blocks_of(p, m.rows);
  params.offsets = a.offsets.data;
  params.status = static_cast<std::int32_t*>(a.status.data);
  params.groups = static_cast<std::uint32_t>(p.groups);
  params.input = a.input.data;
  params.given_scale = a.given_scale.data;
  params.alpha = common::alpha_or_default(static_cast<int>(p.activation), a.alpha);
  set_results(p, a, params);
}

// The parameters of a form, with the pitches of the outputs if they have gaps. What only this form has is not set.
template <class Form>
Form& make_params(const Mxfp8& p, const Mxfp8Args& a, Launch& launch) {
  Form* params = nullptr;
  if (has_out_strides(p)) {
    auto& all = launch.make_params<WithPitches<Form, true>>();
    const bool swapped = p.source_order == Mxfp8Order::rows;
    all.row_pitch = pitch_of(p, swapped);
    all.col_pitch = pitch_of(p, !swapped);
    params = &all;
  } else {
    params = &launch.make_params<Form>();
  }
  set_params(p, a, *params);
  return *params;
}

void set_sums(const Mxfp8& p, const Mxfp8Args& a, TileParams& params) {
  if (!has_sums(p)) return;
  const BiasWorkspace at = bias_workspace(p);
  auto* const words = static_cast<std::int32_t*>(a.workspace.data);
  params.bias_gradient = a.bias_gradient.data;
  params.tile_sums = words;
  params.chunk_sums = words + at.chunk_sums;
  params.arrived = words + at.arrived;
}

void launch_stream(const Mxfp8& p, const Mxfp8Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
  auto& params = make_params<StreamParams>(p, a, launch);
  const std::int64_t vectors = mx::divide_up_by_power(block_length(p) * source_bytes(p), config[kVector]);
  const std::int64_t lanes = std::min<std::int64_t>(32, vectors);
  params.slots = common::make_slots(is_empty(p) ? 0 : static_cast<std::uint64_t>(p.experts * params.rows),
                                    static_cast<std::uint64_t>(std::max<std::int64_t>(1, params.row_blocks * lanes)));
  common::launch_slots(params.slots, config[kUnroll], config[kThreads], model, launch);
  common::limit_grid(config[kBlocksPerSm], model, launch);
}

// Whether a row fits in a warp's registers, so that one warp processes it.
bool has_warp_rows(const Mxfp8& p, const Config& config) {
  return p.cols * source_bytes(p) <= std::int64_t{32} * config[kUnroll] * config[kVector];
}

void launch_rows(const Mxfp8& p, const Mxfp8Args& a, const Config& config, Launch& launch) {
  const std::int64_t teams = has_warp_rows(p, config) ? config[kThreads] / 32 : 1;
  auto& params = make_params<RowParams>(p, a, launch);
  params.all_rows = p.experts * p.rows;
  launch.empty = is_empty(p);
  launch.block[0] = static_cast<std::uint32_t>(config[kThreads]);
  launch.grid[0] = static_cast<std::uint32_t>(
      std::min<std::int64_t>(pieces(params.all_rows, teams), std::numeric_limits<std::int32_t>::max()));
  launch.shared_bytes = teams == 1 ? static_cast<std::uint32_t>(config[kThreads] / 32 * 4) : 0;
}

// Thread blocks find their group and its stacks on the device. There are as many as groups of any shape can need.
void launch_matrices(const Mxfp8& p, const Mxfp8Args& a, const Config& config, Launch& launch) {
  auto& params = launch.make_params<WithMatrices<TileParams, true>>();
  const std::int64_t rows = std::int64_t{kTileRows} * config[kStack], cols = tile_columns(p, config);
  const std::int64_t stacks = blocked(p) ? most_tiles(p, rows, 128) * (128 / cols) : most_tiles(p, rows, cols);
  params.panel =
      config[kPanel] == 0 ? std::numeric_limits<std::uint32_t>::max() : static_cast<std::uint32_t>(config[kPanel]);
  set_params(p, a, params);
  params.col_offsets = a.col_offsets.data;
  params.elements = most_elements(p);
  launch.empty = is_empty(p);
  launch.block[0] = kTileThreads;
  launch.grid[0] =
      static_cast<std::uint32_t>(std::min<std::int64_t>(stacks, std::numeric_limits<std::uint32_t>::max()));
  launch.shared_bytes = static_cast<std::uint32_t>(shared_of(p, config).bytes);
}

// With blocked scales the padding of the atoms is also written. Each group may end with a partial stack. A divisor of 0
// makes every quotient 0, without a division here: all stacks are those of the only expert.
void place_tiles(const Mxfp8& p, const Config& config, TileParams& params, Launch& launch) {
  const std::int64_t cols = blocked(p) ? round_up_to(params.cols, 128) : params.cols;
  const std::int64_t across = mx::round_up_to_power(pieces(cols, tile_columns(p, config)), config[kCluster]);
  const std::int64_t down = pieces(params.rows, std::int64_t{kTileRows} * config[kStack]) + p.groups;
  params.across = static_cast<std::uint32_t>(across);
  params.down = static_cast<std::uint32_t>(down);
  params.panel =
      config[kPanel] == 0 ? params.across : std::min(static_cast<std::uint32_t>(config[kPanel]), params.across);
  const std::uint32_t last = params.across % params.panel;
  if (p.experts != 1) params.by_stacks = common::make_divisor(static_cast<std::uint64_t>(across * down));
  params.by_panel = common::make_divisor32(params.panel * static_cast<std::uint64_t>(down));
  params.by_width = common::make_divisor32(params.panel);
  params.by_last_width = common::make_divisor32(last == 0 ? params.panel : last);
  launch.empty = is_empty(p) && !sums_nothing(p);  // if the matrix is empty, ends of groups are not checked
  launch.block[0] = kTileThreads;
  launch.cluster = static_cast<std::uint32_t>(config[kCluster]);
  launch.grid[0] = static_cast<std::uint32_t>(
      std::min<std::int64_t>(p.experts * across * down, std::numeric_limits<std::uint32_t>::max()));
  launch.shared_bytes = static_cast<std::uint32_t>(shared_of(p, config).bytes);
}

// ---- The spec

// Whether transposed lines begin at multiples of 16 bytes. Vectors of one element take any address.
bool has_aligned_lines(const Mxfp8& p, const Config& config) {
  const std::int64_t line = matrix_of(p).rows, stride = out_stride_of(p, p.source_order == Mxfp8Order::cols);
  return transposed(p) && config[kVector] > source_bytes(p) && stride % 16 == 0 &&
         (p.groups > 0 || line == kOpen ? is_whole(p) : line % 16 == 0);
}
}  // namespace

std::uint32_t alignment(const Mxfp8& p, const Config& config) {
  if (config[kVector] == source_bytes(p)) return 1;
  if (config[kForm] == kColumns) return static_cast<std::uint32_t>(config[kVector]);
  const std::int32_t least = has_aligned_lines(p, config) || writes_atoms(p, config) ? 16 : 0;
  return static_cast<std::uint32_t>(std::max(least, config[kVector]));
}

namespace {

// Scales of a row that a tile, or a cluster of tiles, writes with one access.
std::int64_t scales_together(const Mxfp8& p, const Config& config) {
  const bool by_block = p.source_order == Mxfp8Order::rows && !blocked(p);
  if (by_block || config[kVector] == source_bytes(p) || has_fp32_scales(p)) return 1;
  if (has_matrices(p) && !blocked(p)) return 1;  // columns of groups have any number of blocks
  const std::int64_t halves = has_halves(p, config) ? 2 : 1;
  const std::int64_t tile = tile_columns(p, config) / kBlockElements / halves, blocks = tile * config[kCluster];
  return common::common_alignment({blocks, blocked(p) ? blocks : blocks_of(p, p.cols) / halves},
                                  config[kCluster] == 1 ? tile : alignment(p, config));
}

template <class Form>
std::size_t bytes_with_pitches(const Mxfp8& p) {
  return has_out_strides(p) ? sizeof(WithPitches<Form, true>) : sizeof(Form);
}

}  // namespace

std::size_t params_bytes(const Mxfp8& p, const Config& config) {
  if (p.scaling == Mxfp8Scaling::row) return bytes_with_pitches<RowParams>(p);
  if (has_matrices(p)) return sizeof(WithMatrices<TileParams, true>);
  if (config[kForm] == kColumns) return sizeof(ColumnParams);
  return config[kForm] == kTile ? bytes_with_pitches<TileParams>(p) : bytes_with_pitches<StreamParams>(p);
}

void specialize(const Mxfp8& p, const Config& config, Spec& spec) {
  const Matrix m = matrix_of(p);
  spec.header("common/scaling.cuh");
  spec.type("Source", common::spec_type(p.dtype));
  spec.type("Element", common::spec_type(p.element));
  spec.choice("common::ScaleMode", "mode", kModes[static_cast<int>(p.mode)]);
  spec.choice("common::ScalePolicy", "policy", kPolicies[static_cast<int>(p.policy)]);
  spec.choice("common::ScaleFormat", "scale_format", has_fp32_scales(p) ? "fp32" : "e8m0");
  spec.integer("block_length", block_length(p));
  spec.flag("expert_stride", has_expert_stride(p));
  spec.flag("out_strides", has_out_strides(p));
  spec.flag("given_scale", has_given_scale(p));
  spec.flag("blocked", blocked(p));
  spec.flag("padded", padded(p));
  spec.flag("groups", p.groups > 0 && !has_matrices(p));
  spec.flag("whole_groups", has_whole_groups(p));
  spec.type("Offset", common::spec_type(p.offset));
  spec.header("common/activations.cuh");
  spec.choice("mxfp8::Prologue", "prologue", kPrologues[static_cast<int>(p.prologue)]);
  spec.choice("common::Activation", "activation", common::kActivationNames[static_cast<int>(p.activation)]);
  if (p.scaling == Mxfp8Scaling::row) {
    spec.flag("warp_rows", has_warp_rows(p, config));
    return spec.part("mxfp8/row.cuh");
  }
  if (config[kForm] == kColumns) return specialize_columns(p, config, spec);
  if (config[kForm] == kStream) return spec.part("mxfp8/stream.cuh");
  spec.integer("rows", config[kRows]);
  spec.integer("tile_columns", tile_columns(p, config));
  spec.flag("halves", has_halves(p, config));
  spec.flag("async_copies", config[kAsyncCopies] == 1);
  spec.integer("landing_halves", landing_halves(p, config));
  spec.integer("stack", config[kStack]);
  spec.integer("cluster", config[kCluster]);
  spec.flag("atoms", writes_atoms(p, config));
  spec.integer("scales_together", scales_together(p, config));
  spec.flag("row", m.along);
  spec.flag("col", m.across);
  spec.flag("row_block_major", p.source_order == Mxfp8Order::rows);
  spec.flag("col_block_major", p.source_order == Mxfp8Order::cols);
  spec.flag("transposed", transposed(p));
  spec.flag("aligned_lines", has_aligned_lines(p, config));
  spec.choice("mxfp8::Block", "block", kBlocks[static_cast<int>(p.block)]);
  spec.flag("cut_bands", has_cut_bands(p));
  spec.flag("bias_gradient", has_sums(p));
  spec.flag("varying", has_matrices(p));
  spec.flag("varying_rows", p.varying == Mxfp8Varying::both);
  spec.part("mxfp8/tile.cuh");
}

void launch(const Mxfp8& p, const Mxfp8Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
  if (p.scaling == Mxfp8Scaling::row) return launch_rows(p, a, config, launch);
  if (config[kForm] == kStream) return launch_stream(p, a, model, config, launch);
  if (config[kForm] == kColumns)
    return launch_columns(p, model, config, make_params<ColumnParams>(p, a, launch), launch);
  if (has_matrices(p)) return launch_matrices(p, a, config, launch);
  auto& params = make_params<TileParams>(p, a, launch);
  set_sums(p, a, params);
  place_tiles(p, config, params, launch);
}

void launch_tiles(const Mxfp8& p, const Mxfp8Args& a, const Config& config, TileParams& params, Launch& launch) {
  set_params(p, a, params);
  set_sums(p, a, params);
  place_tiles(p, config, params, launch);
}

}  // namespace quern::mxfp8
