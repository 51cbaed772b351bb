#include "mxfp8/mxfp8.h"

#include "common/geometry.h"
#include "common/host_types.h"
#include "mxfp8/matrix.h"
#include "mxfp8/params.h"
#include "quern_embedded/mxfp8.h"

namespace quern {
namespace {

using common::common_alignment;
using mxfp8::blocks_of;
using mxfp8::col_scales;
using mxfp8::Matrix;
using mxfp8::matrix_of;
using mxfp8::one_scale_a_square;
using mxfp8::row_scales;
using mxfp8::ScaleMatrix;

constexpr DTypeSet kSourceTypes = only(f32) | only(f16) | only(bf16);
constexpr DTypeSet kElementTypes = only(e4m3) | only(e5m2);
constexpr const char* kDirections[] = {"row", "col", "both", nullptr};
constexpr const char* kModes[] = {"floor", "rceil", "ceil", "even", nullptr};
constexpr const char* kPolicies[] = {"ao", "te", nullptr};
constexpr const char* kBlocks[] = {"line", "square", "square_spread", nullptr};
constexpr const char* kOrders[] = {"cols", "rows", nullptr};
constexpr const char* kScaleLayouts[] = {"plain", "blocked", nullptr};
constexpr const char* kTails[] = {"refuse", "pad", nullptr};

// In the order of kParameters.
enum Parameters {
  kForm,
  kVector,
  kUnroll,
  kThreads,
  kWarps,
  kResident,
  kGroup,
  kLoadOnce,
  kStoreStream,
  kPersistent,
  kBlocksPerSm
};
enum Forms { kStream, kTile };
constexpr const char* kFormNames[] = {"stream", "tile"};
constexpr std::int32_t kForms[] = {kStream, kTile, kNoMore};
constexpr std::int32_t kVectors[] = {2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
constexpr std::int32_t kWarpCounts[] = {1, 2, 4, kNoMore};
constexpr std::int32_t kResidentBlocks[] = {0, 3, 4, 5, 6, 8, kNoMore};
constexpr std::int32_t kGroups[] = {1, 2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};
constexpr std::int32_t kBlockCounts[] = {0, 1, 2, 4, 8, kNoMore};
constexpr std::int32_t kWidestTileVector = 8;              // 32 of them are 64 registers
constexpr std::int32_t kMostShared = 48 * 1024;            // what every kernel may have
constexpr std::int64_t kMaxSlots = std::int64_t{1} << 30;  // of a row, see common::Slots

std::int64_t source_bytes(const Mxfp8& p) { return bytes(p.dtype); }
bool blocked(const Mxfp8& p) { return p.scale_layout == Mxfp8Scales::blocked; }
bool square(const Mxfp8& p) { return p.block != Mxfp8Block::line; }
bool row_made(const Mxfp8& p) { return p.direction != Mxfp8Direction::col; }
bool col_made(const Mxfp8& p) { return p.direction != Mxfp8Direction::row; }
bool transposed(const Mxfp8& p) { return matrix_of(p).across && p.out_order == Mxfp8Order::rows; }

// Whether the kernel meets bands of fewer than 32 rows. Rows that no block lies across may be any number.
bool has_cut_bands(const Mxfp8& p) {
  const Matrix m = matrix_of(p);
  if (p.tail == Mxfp8Tail::pad) return true;
  return !m.across && !square(p) && (m.rows == kOpen || m.rows % mxfp8::kBlockElements != 0);
}

// What row length and stride have in common: the widest vector.
std::int64_t natural_vector(const Mxfp8& p, std::int64_t limit) {
  const Matrix m = matrix_of(p);
  // Of an extent that is open it is known whether it is cut into whole blocks.
  const bool whole = p.tail == Mxfp8Tail::refuse && (m.along || square(p));
  const std::int64_t cols = m.cols != kOpen ? m.cols : whole ? mxfp8::kBlockElements : 1;
  const std::int64_t stride = p.source_stride != 0 ? p.source_stride : cols;
  return common_alignment({cols * source_bytes(p), stride * source_bytes(p)}, limit);
}

std::int64_t widest_access(const Target& target) { return target.arch >= 100 && target.arch < 120 ? 32 : 16; }

// The tile form can do everything; the other reads each block by itself, along rows.
bool can_stream(const Mxfp8& p) {
  const Matrix m = matrix_of(p);
  return m.along && !m.across && !square(p) && (blocked(p) || p.source_order == Mxfp8Order::cols);
}

std::int32_t tile_columns(const Mxfp8& p, const Config& c) {
  return 32 * c[kVector] / static_cast<std::int32_t>(source_bytes(p)) * c[kWarps];
}
mxfp8::TileShared shared_of(const Mxfp8& p, const Config& c) {
  const bool along = matrix_of(p).along;
  return mxfp8::tile_shared(tile_columns(p, c), transposed(p), along && !square(p), along);
}

bool vector_divides(const Mxfp8& p, const Target&, const Config& c) { return natural_vector(p, 32) % c[kVector] == 0; }
bool vector_exists(const Mxfp8&, const Target& t, const Config& c) { return c[kVector] <= widest_access(t); }
bool vector_holds_elements(const Mxfp8& p, const Target&, const Config& c) { return c[kVector] >= source_bytes(p); }
bool stream_is_along(const Mxfp8& p, const Target&, const Config& c) { return c[kForm] == kTile || can_stream(p); }
bool tile_fits_registers(const Mxfp8&, const Target&, const Config& c) {
  return c[kForm] == kStream || c[kVector] <= kWidestTileVector;
}
bool tile_fits_shared(const Mxfp8& p, const Target&, const Config& c) {
  return c[kForm] == kStream || shared_of(p, c).bytes <= kMostShared;
}
bool stream_fits_registers(const Mxfp8&, const Target&, const Config& c) { return c[kVector] * c[kUnroll] <= 128; }
bool tile_is_fixed(const Mxfp8&, const Target&, const Config& c) {
  return c[kForm] == kStream || (c[kUnroll] == 1 && c[kThreads] == mxfp8::kTileThreads && c[kPersistent] == 0);
}
bool stream_has_no_warps(const Mxfp8&, const Target&, const Config& c) {
  return c[kForm] == kTile || (c[kWarps] == 1 && c[kResident] == 0 && c[kGroup] == 1);
}
bool registers_are_shared(const Mxfp8&, const Target& t, const Config& c) {
  return c[kResident] * c[kWarps] * mxfp8::kTileThreads <= common::resident_threads(t);
}
bool persistent_where_limited(const Mxfp8&, const Target&, const Config& c) {
  return c[kPersistent] == 1 || c[kBlocksPerSm] == 0;
}
bool blocks_are_resident(const Mxfp8&, const Target& t, const Config& c) {
  return c[kBlocksPerSm] * c[kThreads] <= common::resident_threads(t);
}

// ---- Operands

Layout source_layout(const Mxfp8& p) {
  const Matrix m = matrix_of(p);
  return {p.dtype, 2, {m.experts * m.rows, m.cols}, m.stride};
}
Layout out_of(const Mxfp8& p, bool col) {
  const bool swapped = col && p.out_order == Mxfp8Order::rows;
  const std::int64_t rows = swapped ? p.cols : p.rows, cols = swapped ? p.rows : p.cols;
  return {p.element, 2, {p.experts * rows, cols}, cols};
}
Layout scales_of(const Mxfp8& p, bool col) {
  const ScaleMatrix m = col ? col_scales(p) : row_scales(p);
  if (blocked(p)) return {e8m0, 2, {p.experts, blocked_bytes(m)}, blocked_bytes(m)};
  const std::int64_t rows = m.block_major ? m.blocks : m.lines;
  const std::int64_t cols = one_scale_a_square(p) ? blocks_of(p.cols) : m.block_major ? m.lines : m.blocks;
  return {e8m0, 2, {p.experts * (one_scale_a_square(p) ? blocks_of(p.rows) : rows), cols}, cols};
}
Layout out_layout(const Mxfp8& p) { return out_of(p, !row_made(p)); }
Layout scales_layout(const Mxfp8& p) { return scales_of(p, !row_made(p)); }
Layout absent() { return {DType::none, 1, {1, 1}, 0}; }
Layout out_col_layout(const Mxfp8& p) { return p.direction == Mxfp8Direction::both ? out_of(p, true) : absent(); }
Layout scales_col_layout(const Mxfp8& p) { return p.direction == Mxfp8Direction::both ? scales_of(p, true) : absent(); }

template <Layout (*F)(const Mxfp8&)>
constexpr auto layout = &layout_of<Mxfp8, F>;
template <bool (*F)(const Mxfp8&, const Target&, const Config&)>
constexpr auto holds = &holds_for<Mxfp8, F>;

// ---- Launch

void set_results(const Mxfp8& p, const Mxfp8Args& a, mxfp8::Params& params) {
  const bool both = p.direction == Mxfp8Direction::both;
  const bool swapped = p.source_order == Mxfp8Order::rows;
  void* const row[] = {a.out.data, a.scales.data};
  void* const col[] = {both ? a.out_col.data : a.out.data, both ? a.scales_col.data : a.scales.data};
  params.row_out = swapped ? col[0] : row[0];
  params.row_scales = swapped ? col[1] : row[1];
  params.col_out = swapped ? row[0] : col[0];
  params.col_scales = swapped ? row[1] : col[1];
}

void set_matrix(const Mxfp8& p, const Mxfp8Args& a, mxfp8::Params& params) {
  const Matrix m = matrix_of(p);
  params.source = a.source.data;
  params.rows = m.rows;
  params.cols = m.cols;
  params.source_stride = m.stride;
  params.row_blocks = blocks_of(m.cols);
  params.col_blocks = blocks_of(m.rows);
}

bool is_empty(const Mxfp8& p) { return p.experts == 0 || p.rows == 0 || p.cols == 0; }

// With blocked scales the padding of the atoms is a part of the work.
void launch_stream(const Mxfp8& p, const DeviceModel& model, const Config& config, mxfp8::StreamParams params,
                   Launch& launch) {
  const std::int64_t lanes = mxfp8::kBlockElements * source_bytes(p) / config[kVector];
  const std::int64_t blocks = blocked(p) ? mxfp8::round_up_to(params.row_blocks, 4) : params.row_blocks;
  const std::int64_t rows = blocked(p) ? mxfp8::round_up_to(params.rows, 128) : params.rows;
  params.lines = blocked(p) ? params.rows : p.experts * params.rows;
  params.by_rows = common::make_divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, rows)));
  params.slots = common::make_slots(is_empty(p) ? 0 : static_cast<std::uint64_t>(p.experts * rows),
                                    static_cast<std::uint64_t>(std::max<std::int64_t>(1, blocks * lanes)));
  launch.set_params(params);
  common::launch_slots(params.slots.count, config[kUnroll], config[kThreads], model, launch);
  common::limit_grid(config[kBlocksPerSm], model, launch);
}

void launch_tiles(const Mxfp8& p, const Config& config, mxfp8::TileParams params, Launch& launch) {
  const std::int64_t columns = tile_columns(p, config);
  const std::int64_t cols = blocked(p) ? mxfp8::round_up_to(params.cols, 128) : params.cols;
  const std::int64_t across = std::max<std::int64_t>(1, (cols + columns - 1) / columns);
  const std::int64_t down = std::max<std::int64_t>(1, (params.rows + mxfp8::kTileRows - 1) / mxfp8::kTileRows);
  params.across = static_cast<std::uint32_t>(across);
  params.down = static_cast<std::uint32_t>(down);
  params.group = static_cast<std::uint32_t>(config[kGroup]);
  params.by_tiles = common::make_divisor(static_cast<std::uint64_t>(across * down));
  launch.set_params(params);
  launch.empty = is_empty(p);
  launch.block[0] = static_cast<std::uint32_t>(mxfp8::kTileThreads * config[kWarps]);
  launch.grid[0] = static_cast<std::uint32_t>(
      std::min<std::int64_t>(p.experts * across * down, std::numeric_limits<std::uint32_t>::max()));
  launch.shared_bytes = static_cast<std::uint32_t>(shared_of(p, config).bytes);
}

// With every line and column padded to a whole atom, whatever the layout, and nothing taken for empty: then no product
// of some of the extents overflows.
bool is_too_large(const Matrix& m) {
  std::int64_t all = 0;
  const auto padded = [](std::int64_t n) { return mxfp8::round_up_to(std::max<std::int64_t>(n, 1), 128); };
  return __builtin_mul_overflow(std::max<std::int64_t>(m.experts, 1), padded(m.rows), &all) ||
         __builtin_mul_overflow(all, padded(std::max(m.cols, m.stride)), &all) || all > kMaxExtent;
}

std::string uneven(const char* field, std::int64_t extent, const char* what) {
  if (extent == kOpen || extent % mxfp8::kBlockElements == 0) return {};
  return std::string(field) + "=" + std::to_string(extent) + " is no multiple of 32, and " + what +
         " are cut into blocks of 32; tail=pad makes the last block as if zeros followed";
}

struct Mxfp8Family {
  using Problem = Mxfp8;
  using Args = Mxfp8Args;
  static constexpr const char* kName = "mxfp8";
  static constexpr const char* kSentence = "quantization to 8-bit elements with a power-of-two scale a block of 32";

  static constexpr Field kFields[] = {
      extent_field("rows", offsetof(Mxfp8, rows), true, "rows of source, of each expert"),
      extent_field("cols", offsetof(Mxfp8, cols), false, "columns of source"),
      extent_field("experts", offsetof(Mxfp8, experts), true, "matrices, one behind the other"),
      choice_field("direction", offsetof(Mxfp8, direction), kDirections, "along what blocks lie"),
      dtype_field("dtype", offsetof(Mxfp8, dtype), kSourceTypes, "element type of source"),
      dtype_field("element", offsetof(Mxfp8, element), kElementTypes, "element type of out"),
      choice_field("mode", offsetof(Mxfp8, mode), kModes, "how a scale is rounded to a power of two"),
      choice_field("policy", offsetof(Mxfp8, policy), kPolicies, "whose treatment of NaN and infinity; te: rceil only"),
      choice_field("block", offsetof(Mxfp8, block), kBlocks, "what shares a scale"),
      choice_field("source_order", offsetof(Mxfp8, source_order), kOrders,
                   "whose elements are neighbours in source: those of cols or of rows"),
      choice_field("out_order", offsetof(Mxfp8, out_order), kOrders,
                   "the same of the col direction's out; rows: transposed"),
      choice_field("scale_layout", offsetof(Mxfp8, scale_layout), kScaleLayouts,
                   "blocked: atoms of 128 lines x 4 blocks, as block-scaled matrix products read them"),
      choice_field("tail", offsetof(Mxfp8, tail), kTails, "what a dimension that is no multiple of 32 means"),
      integer_field("source_stride", offsetof(Mxfp8, source_stride), 0, kMaxExtent,
                    "elements between lines of neighbours in source; 0: none between"),
  };
  static constexpr Operand kOperands[] = {
      {"source", Role::input, offsetof(Mxfp8Args, source), true, layout<source_layout>, "[experts, rows, cols]",
       "the numbers"},
      {"out", Role::output, offsetof(Mxfp8Args, out), true, layout<out_layout>,
       "[experts, rows, cols]; direction col: [experts, cols, rows]", "their elements"},
      {"scales", Role::output, offsetof(Mxfp8Args, scales), true, layout<scales_layout>,
       "[experts, rows, cols / 32]; direction col: [experts, rows / 32, cols]", "a scale a block"},
      {"out_col", Role::output, offsetof(Mxfp8Args, out_col), true, layout<out_col_layout>, "[experts, cols, rows]",
       "direction both: the elements of the col direction"},
      {"scales_col", Role::output, offsetof(Mxfp8Args, scales_col), true, layout<scales_col_layout>,
       "[experts, rows / 32, cols]", "direction both: the scales of the col direction"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {
      {"rows", offsetof(Mxfp8Args, rows), nullptr},
      {"experts", offsetof(Mxfp8Args, experts), nullptr},
  };
  static constexpr Parameter kParameters[] = {
      {"form", kForms, true, "0: streams of blocks along rows; 1: tiles of 128 rows, for all else"},
      {"vector", kVectors, true, "bytes a read"},
      {"unroll", kUnrolls, true, "stream form: reads in flight in a thread"},
      {"threads", kThreadCounts, false, "stream form: threads in a block; fewer where a problem is small"},
      {"warps", kWarpCounts, true, "tile form: warps side by side"},
      {"resident", kResidentBlocks, true,
       "tile form: blocks whose registers must fit a multiprocessor; 0: as the compiler likes"},
      {"group", kGroups, false, "tile form: tiles side by side before the next row of tiles"},
      {"load_once", kSwitch, true, "1: source leaves the caches first"},
      {"store_stream", kSwitch, true, "1: out leaves the caches first"},
      {"persistent", kSwitch, true, "1: a block of the stream form goes on to further tiles"},
      {"blocks_per_sm", kBlockCounts, false, "blocks a multiprocessor, at most, of a persistent kernel; 0: no limit"},
  };
  static constexpr Constraint kConstraints[] = {
      {"the vector must divide the length of a line of source, and its stride", holds<vector_divides>},
      {"32-byte accesses exist on sm_100 and sm_103 only", holds<vector_exists>},
      {"a vector must hold whole elements", holds<vector_holds_elements>},
      {"the stream form makes blocks of 1 x 32 that lie along memory, with their scales in that order",
       holds<stream_is_along>},
      {"a tile's 32 vectors a thread must fit the registers: 8 bytes at most", holds<tile_fits_registers>},
      {"a tile must fit 48 KB of shared memory", holds<tile_fits_shared>},
      {"vector times unroll must fit the registers: 128 bytes", holds<stream_fits_registers>},
      {"the tile form has unroll=1, threads=128 and persistent=0", holds<tile_is_fixed>},
      {"warps, resident and group belong to the tile form and are 1, 0 and 1 in the other", holds<stream_has_no_warps>},
      {"resident blocks must fit a multiprocessor's threads", holds<registers_are_shared>},
      {"blocks_per_sm limits persistent kernels and is 0 in the others", holds<persistent_where_limited>},
      {"blocks_per_sm blocks must fit a multiprocessor's threads", holds<blocks_are_resident>},
  };
  static constexpr const char* kBenchCases[] = {
      "mxfp8 rows=8192 cols=5120 mode=floor",
      "mxfp8 rows=8192 cols=5120",
      "mxfp8 rows=16384 cols=16384",
      "mxfp8 rows=131072 cols=7168",
      "mxfp8 rows=8192 cols=5120 direction=col mode=floor",
      "mxfp8 rows=8192 cols=5120 direction=col",
      "mxfp8 rows=16384 cols=16384 direction=col",
      "mxfp8 rows=131072 cols=7168 direction=col",
      "mxfp8 rows=8192 cols=5120 direction=both",
      "mxfp8 rows=16384 cols=16384 direction=both",
      "mxfp8 rows=131072 cols=7168 direction=both",
      "mxfp8 rows=8192 cols=5120 experts=8 direction=col mode=floor",
      "mxfp8 rows=8192 cols=5120 experts=8 direction=col",
      "mxfp8 rows=7168 cols=2048 experts=8 direction=col",
      "mxfp8 rows=8192 cols=5120 experts=32 direction=col",
      "mxfp8 rows=96 cols=416 experts=3 direction=col",
  };

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::mxfp8_sources(); }

  static std::string check(const Mxfp8& p) {
    if (p.policy == Mxfp8Policy::te && p.mode != Mxfp8Mode::rceil)
      return std::string("mode=") + kModes[static_cast<int>(p.mode)] + " goes with policy=ao; policy=te has rceil only";
    if (p.source_order == Mxfp8Order::rows && p.out_order == Mxfp8Order::cols)
      return "out_order=cols goes with source_order=cols; with source_order=rows out is transposed, out_order=rows";
    const Matrix m = matrix_of(p);
    if (p.source_stride != 0 && p.source_stride < m.cols)
      return "source_stride is below the length of a line of source, so lines would overlap";
    if (m.cols >= kMaxSlots) return "a line of source must have fewer than 2^30 elements";
    if (is_too_large(m))
      return "source is too large: all experts together may have 2^46 elements, gaps and padding included";
    if (p.tail == Mxfp8Tail::pad) return {};
    std::string why;
    if (row_made(p) || square(p)) why = uneven("cols", p.cols, "rows");
    if (why.empty() && (col_made(p) || square(p))) why = uneven("rows", p.rows, "columns");
    return why;
  }

  static Config stream_config(std::int64_t vector) {
    Config config;
    config[kForm] = kStream;
    config[kVector] = static_cast<std::int32_t>(vector);
    config[kUnroll] = 2;
    config[kThreads] = 256;
    config[kWarps] = 1;
    config[kGroup] = 1;
    return config;
  }

  // A matrix of 16384 x 16384 along columns took 195.6 us on an H200 with groups of 4, 196.5 with 8 and 198.6 with 16.
  // Registers are left to the compiler: on sm_90a it needs 128 at most for lines of bf16, which four blocks can have.
  static Config tile_config(std::int64_t vector) {
    Config config;
    config[kForm] = kTile;
    config[kVector] = static_cast<std::int32_t>(vector);
    config[kUnroll] = 1;
    config[kThreads] = mxfp8::kTileThreads;
    config[kWarps] = 1;
    config[kGroup] = 4;
    return config;
  }

  static Config preferred(const Mxfp8& p, const Target& target) {
    // Where bands are cut each row is asked for by itself, which takes a flag a row.
    const std::int64_t widest = has_cut_bands(p) ? kWidestTileVector / 2 : kWidestTileVector;
    if (!can_stream(p)) return tile_config(natural_vector(p, widest));
    return stream_config(natural_vector(p, widest_access(target)));
  }

  static int variants(const Mxfp8& p, const Target& target, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    const Config first = preferred(p, target);
    out[0] = {kFormNames[first[kForm]], first, alignment(p, first)};
    if (out[0].alignment == 1) return 1;
    Config any = first;
    any[kVector] = static_cast<std::int32_t>(source_bytes(p));
    out[1] = {"element", any, alignment(p, any)};
    return 2;
  }

  // Lines of transposed output are written 16 bytes at a time, but for vectors of one element: they take any address.
  static bool writes_lines(const Mxfp8& p, const Config& config) {
    const std::int64_t line = matrix_of(p).rows;
    return transposed(p) && config[kVector] > source_bytes(p) &&
           (line == kOpen ? p.tail == Mxfp8Tail::refuse : line % 16 == 0);
  }
  static std::uint32_t alignment(const Mxfp8& p, const Config& config) {
    if (config[kVector] == source_bytes(p)) return 1;  // results are then written byte by byte
    return static_cast<std::uint32_t>(writes_lines(p, config) ? 16 : config[kVector]);
  }

  // Scales of a row that a tile writes at once.
  static std::int64_t scales_together(const Mxfp8& p, const Config& config) {
    const bool by_block = p.source_order == Mxfp8Order::rows && !blocked(p);
    if (by_block || config[kVector] == source_bytes(p)) return 1;
    const std::int64_t blocks = tile_columns(p, config) / mxfp8::kBlockElements;
    return common_alignment({blocks, blocked(p) ? blocks : blocks_of(p.cols)}, 4);
  }

  static void specialize(const Mxfp8& p, const Target&, const Config& config, Spec& spec) {
    const bool tile = config[kForm] == kTile;
    const Matrix m = matrix_of(p);
    spec.header("common/scaling.cuh");
    spec.integer("params_bytes", tile ? sizeof(mxfp8::TileParams) : sizeof(mxfp8::StreamParams));
    spec.integer("resident", config[kResident]);
    spec.integer("max_threads", tile ? mxfp8::kTileThreads * config[kWarps] : common::kMaxThreads);
    spec.type("Source", common::spec_type(p.dtype));
    spec.type("Element", common::spec_type(p.element));
    spec.choice("common::ScaleMode", "mode", kModes[static_cast<int>(p.mode)]);
    spec.choice("common::ScalePolicy", "policy", kPolicies[static_cast<int>(p.policy)]);
    spec.flag("blocked", blocked(p));
    spec.integer("vector", config[kVector]);
    spec.flag("load_once", config[kLoadOnce] == 1);
    spec.flag("store_stream", config[kStoreStream] == 1);
    if (!tile) {
      spec.integer("unroll", config[kUnroll]);
      spec.flag("persistent", config[kPersistent] == 1);
      spec.flag("experts", p.experts != 1);
      spec.part("mxfp8/stream.cuh");
      return;
    }
    spec.integer("warps", config[kWarps]);
    spec.integer("scales_together", scales_together(p, config));
    spec.flag("row", m.along);
    spec.flag("col", m.across);
    spec.flag("row_block_major", p.source_order == Mxfp8Order::rows);
    spec.flag("col_block_major", p.source_order == Mxfp8Order::cols);
    spec.flag("transposed", transposed(p));
    spec.flag("write_lines", writes_lines(p, config));
    spec.choice("mxfp8::Block", "block", kBlocks[static_cast<int>(p.block)]);
    spec.flag("cut_bands", has_cut_bands(p));
    spec.part("mxfp8/tile.cuh");
  }

  static void launch(const Mxfp8& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
    mxfp8::TileParams tile{};
    mxfp8::StreamParams stream{};
    mxfp8::Params& params = config[kForm] == kTile ? static_cast<mxfp8::Params&>(tile) : stream;
    set_matrix(p, a, params);
    set_results(p, a, params);
    if (config[kForm] == kTile) {
      launch_tiles(p, config, tile, launch);
    } else {
      launch_stream(p, model, config, stream, launch);
    }
  }

  static void reference(const Mxfp8& p, const Args& a) { mxfp8::reference(p, a); }

  static Tolerance tolerance(const Mxfp8&) { return {0, 0, true}; }

  static std::int64_t bytes(const Mxfp8& p) {
    const std::int64_t elements = p.experts * p.rows * p.cols;
    const auto scales = [&](bool col) {
      const ScaleMatrix m = col ? col_scales(p) : row_scales(p);
      return p.experts * (one_scale_a_square(p) ? blocks_of(p.rows) * blocks_of(p.cols) : m.lines * m.blocks);
    };
    std::int64_t sum = elements * source_bytes(p);
    if (row_made(p)) sum += elements + scales(false);
    if (col_made(p)) sum += elements + scales(true);
    return sum;
  }

  static bool generate(const Mxfp8& p, int, std::uint64_t seed, void* data) {
    mxfp8::generate_source(p, seed, data);
    return true;
  }
};

}  // namespace

const Family& Mxfp8::family() {
  static const Family family = make_family<Mxfp8Family>();
  return family;
}

}  // namespace quern
