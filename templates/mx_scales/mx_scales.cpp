#include "mx_scales/mx_scales.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "common/geometry.h"
#include "common/host_types.h"
#include "mx/choice_names.h"
#include "mx/groups.h"
#include "mx/scales.h"
#include "mx_scales/params.h"
#include "quern_embedded/mx_scales.h"

namespace quern {
namespace {

using mx::round_up_to;
using mx::ScaleGrid;

constexpr const char* kTargets[] = {QUERN_MX_SCALES_TARGETS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kLayouts[] = {QUERN_MX_SCALES_LAYOUTS(QUERN_CHOICE_NAME) nullptr};

// In the order of kParameters.
enum Parameters { kVector, kThreads, kStoreStream };
constexpr std::int32_t kVectors[] = {1, 2, 4, 8, 16, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};

constexpr std::int64_t kBlockElements = 32;
constexpr std::int64_t kMaxLine = std::int64_t{1} << 33;  // a strip's units are counted in 32 bits
constexpr std::uint32_t kGroupBytes = 64;                 // of shared memory: the result of find_group of mx/groups.cuh

bool to_blocked(const MxScales& p) { return p.to == MxScalesTo::blocked; }
bool col(const MxScales& p) { return p.direction == MxScalesDirection::col; }
bool square(const MxScales& p) { return p.block != MxScalesBlock::line; }
bool padded(const MxScales& p) { return p.scale_layout == MxScalesLayout::padded; }
bool is_whole(const MxScales& p) { return p.tail == MxScalesTail::refuse; }
// If no block spans several rows, a group may have any number of rows.
bool has_whole_groups(const MxScales& p) { return is_whole(p) && (col(p) || square(p)); }

ScaleGrid grid_of(const MxScales& p) {
  return {p.experts, p.rows,       p.cols, col(p), kBlockElements, p.block == MxScalesBlock::square,
          p.groups,  !is_whole(p), e8m0};
}
mx::Groups groups_of(const MxScales& p) {
  return {p.groups, p.rows, has_whole_groups(p) ? kBlockElements : 1, p.offset};
}

// Of the side that is not blocked.
Layout lines_layout(const MxScales& p) {
  return padded(p) ? mx::padded_layout(grid_of(p)) : mx::plain_layout(grid_of(p));
}
Layout source_layout(const MxScales& p) { return to_blocked(p) ? lines_layout(p) : mx::blocked_layout(grid_of(p)); }
Layout out_layout(const MxScales& p) { return to_blocked(p) ? mx::blocked_layout(grid_of(p)) : lines_layout(p); }
Layout offsets_layout(const MxScales& p) { return Layout::list(p.groups == 0 ? DType::none : p.offset, p.groups); }
Layout status_layout(const MxScales& p) { return Layout::list(p.groups == 0 ? DType::none : i32, 1); }
Layout noop_layout(const MxScales& p) { return Layout::list(p.noop == MxScalesNoop::flag ? f32 : DType::none, 1); }

template <Layout (*F)(const MxScales&)>
constexpr auto layout = &layout_of<MxScales, F>;

// ---- Geometry: the atoms of 128 lines are a strip; for a group in the col direction, those of 4 blocks, since it is a
// separate matrix.

bool strips_of_blocks(const MxScales& p) { return p.groups > 0 && col(p); }
std::int64_t strips(const MxScales& p) {
  const ScaleGrid g = grid_of(p);
  const std::int64_t whole = strips_of_blocks(p) ? round_up_to(g.blocks(), 4) / 4 : round_up_to(g.lines(), 128) / 128;
  return whole + p.groups;
}
std::int64_t atoms_of_strip(const MxScales& p) {
  const ScaleGrid g = grid_of(p);
  return strips_of_blocks(p) ? round_up_to(g.lines(), 128) / 128 : round_up_to(g.blocks(), 4) / 4;
}
// Atoms whose plain scales are adjacent in rows, up to a sector.
std::int64_t beside(const MxScales& p) {
  if (col(p)) return 1;
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(atoms_of_strip(p), 1, 8))));
}

// Blocks of a line whose plain scales are adjacent and aligned for every atom.
int together(const MxScales& p, const Config& config) {
  const bool neighbours = !col(p) && grid_of(p).blocks() % 4 == 0;
  return neighbours && config[kVector] >= 4 ? 4 : 1;
}

// ---- Refusals

// Includes all padding and takes no extent for 0, so that no product of the extents overflows.
bool is_too_large(const MxScales& p) {
  const auto padded = [](std::int64_t n) { return round_up_to(std::max<std::int64_t>(n, 1), 128); };
  std::int64_t all = 0;
  return __builtin_mul_overflow(std::max<std::int64_t>(p.experts, 1), padded(p.rows), &all) ||
         __builtin_mul_overflow(all, padded(p.cols), &all) || all > kMaxExtent;
}

std::string uneven(const char* field, std::int64_t extent, const char* what) {
  if (extent == kOpen || extent % kBlockElements == 0) return {};
  return std::string(field) + "=" + std::to_string(extent) + " is not a multiple of 32, and " + what +
         " are cut into blocks of 32; tail=pad lets the last block be cut";
}

std::string cut_blocks(const MxScales& p) {
  if (!is_whole(p)) return {};
  std::string why;
  if (!col(p) || square(p)) why = uneven("cols", p.cols, "rows");
  if (why.empty() && (col(p) || square(p))) why = uneven("rows", p.rows, "columns");
  return why;
}

// ---- The reference

// One matrix: of an expert, or of a group.
struct Part {
  ScaleGrid grid;
  bool padded;
  std::int64_t plain;    // where its scales begin
  std::int64_t blocked;  // and its atoms
};

std::vector<Part> parts_of(const MxScales& p, const MxScalesArgs& a) {
  ScaleGrid one = grid_of(p);
  one.experts = 1;
  one.groups = 0;
  std::vector<Part> parts;
  Part next{one, padded(p), 0, 0};
  const auto add = [&](std::int64_t rows) {
    next.grid.rows = rows;
    parts.push_back(next);
    next.plain += next.padded ? mx::blocked_bytes(next.grid) : mx::plain_scales(next.grid);
    next.blocked += mx::blocked_bytes(next.grid);
  };
  if (p.groups == 0) {
    for (std::int64_t e = 0; e < p.experts; ++e) add(p.rows);
  } else {
    for (const mx::RowRange& rows : mx::read_groups(groups_of(p), a.offsets.data, a.status.data))
      add(rows.end - rows.begin);
  }
  return parts;
}

void move_part(const Part& part, bool to_blocked, const std::uint8_t* source, std::uint8_t* out) {
  const ScaleGrid& g = part.grid;
  const std::int64_t blocked_bytes = mx::blocked_bytes(g);
  if (to_blocked && blocked_bytes > 0) std::memset(out + part.blocked, 0, static_cast<std::size_t>(blocked_bytes));
  for (std::int64_t line = 0; line < g.lines(); ++line) {
    // All lines of a square have the same scale; the first line's is used.
    if (!to_blocked && g.square && line % mx::kSquareLines != 0) continue;
    for (std::int64_t block = 0; block < g.blocks(); ++block) {
      const std::int64_t own = part.padded ? mx::padded_index(g, 0, line, block) : mx::plain_index(g, 0, line, block);
      const std::int64_t plain = part.plain + own;
      const std::int64_t atom = part.blocked + mx::blocked_index(g, 0, line, block);
      out[to_blocked ? atom : plain] = source[to_blocked ? plain : atom];
    }
  }
}

struct MxScalesFamily {
  using Problem = MxScales;
  using Args = MxScalesArgs;
  static constexpr const char* kName = "mx_scales";
  static constexpr const char* kSentence = "scales of MXFP8 blocks to the layout that matrix products read, and back";

  static constexpr Field kFields[] = {
      choice_field("to", offsetof(MxScales, to), kTargets, "the layout of out"),
      extent_field("rows", offsetof(MxScales, rows), true, "rows of the matrix, of each expert"),
      extent_field("cols", offsetof(MxScales, cols), false, "columns of the matrix"),
      extent_field("experts", offsetof(MxScales, experts), true, "matrices of one size"),
      choice_field("direction", offsetof(MxScales, direction), mx::kDirections, "dimension along which blocks lie"),
      choice_field("block", offsetof(MxScales, block), mx::kBlocks, "elements that share a scale"),
      choice_field("tail", offsetof(MxScales, tail), mx::kTails,
                   "treatment of a dimension that is not a multiple of a block"),
      extent_field("groups", offsetof(MxScales, groups), false, "consecutive groups of rows; 0: none"),
      dtype_field("offset", offsetof(MxScales, offset), only(i32) | only(i64), "type of the groups' ends"),
      choice_field("noop", offsetof(MxScales, noop), mx::kNoops,
                   "flag: a float on the device that is 1 skips the launch"),
      choice_field("scale_layout", offsetof(MxScales, scale_layout), kLayouts,
                   "of the scales that are not blocked; padded: with gaps, as TransformerEngine allocates them"),
  };
  static constexpr Operand kOperands[] = {
      {"source", Role::input, offsetof(MxScalesArgs, source), true, layout<source_layout>,
       "plain: [experts, rows, cols / 32]; direction col: [experts, rows / 32, cols]", "the scales"},
      {"offsets", Role::input, offsetof(MxScalesArgs, offsets), false, layout<offsets_layout>, "[groups]",
       "groups: where each ends"},
      {"noop", Role::input, offsetof(MxScalesArgs, noop), false, layout<noop_layout>, "[1]",
       "noop=flag: 1 skips the launch"},
      {"out", Role::output, offsetof(MxScalesArgs, out), true, layout<out_layout>,
       "blocked: lines padded to 128 times blocks padded to 4", "the same scales in the other layout"},
      {"status", Role::update, offsetof(MxScalesArgs, status), false, layout<status_layout>, "[1]",
       "groups: 1 + the number of the first that is wrong"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {
      {"rows", offsetof(MxScalesArgs, rows), nullptr},
      {"experts", offsetof(MxScalesArgs, experts), nullptr},
  };
  static constexpr Parameter kParameters[] = {
      {"vector", kVectors, true, "bytes per access of the blocked side"},
      {"threads", kThreadCounts, false, "threads per block; fewer where a problem is small"},
      {"store_stream", kSwitch, true, "1: stores of out are evict-first"},
  };
  static constexpr Table<Constraint> kConstraints{};
  static constexpr const char* kBenchCases[] = {
      "mx_scales rows=131072 cols=7168",
      "mx_scales rows=131072 cols=7168 direction=col",
      "mx_scales to=plain rows=131072 cols=7168",
  };
  // Scales of the matrices that mxfp8 quantizes.
  static constexpr const char* kDraws[] = {
      "to=blocked | to=blocked | to=plain",
      "rows=128..262144/128 | rows=32..262144/32",
      "cols=128..16384/128 | cols=128..16384/128 | cols=32..16384/32",
      "experts=1 | experts=1 | experts=2..64",
      "direction=row | direction=col",
  };

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::mx_scales_sources(); }

  static std::string check(const MxScales& p) {
    if (p.groups > 0 && p.experts != 1 && p.experts != kOpen)
      return "groups are of one matrix, experts=1; experts are groups of one size";
    if (p.groups >= std::int64_t{1} << 31) return "groups must be fewer than 2^31";
    if (std::max(p.cols, col(p) ? p.rows : 0) >= kMaxLine) return "a line must have fewer than 2^33 elements";
    if (padded(p) && p.block == MxScalesBlock::square)
      return "scale_layout=padded has a scale for each line: write block=square_spread for squares";
    if (is_too_large(p)) return "the matrices are too large: all experts together may have 2^46 elements, with padding";
    return cut_blocks(p);
  }

  static int variants(const MxScales&, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    Config config;
    config[kVector] = 16;
    config[kThreads] = 256;
    Config any = config;
    any[kVector] = 1;
    out[0] = {"vector", config};
    out[1] = {"element", any};
    return 2;
  }

  static std::uint32_t alignment(const MxScales&, int, const Config& config) {
    return static_cast<std::uint32_t>(config[kVector]);
  }

  static void specialize(const MxScales& p, const Target&, const Config& config, Spec& spec) {
    spec.header("mx_scales/params.h");
    spec.integer("params_bytes", sizeof(mx_scales::Params));
    spec.integer("max_threads", common::kMaxThreads);
    spec.flag("noop", p.noop == MxScalesNoop::flag);
    spec.integer("vector", config[kVector]);
    spec.flag("store_stream", config[kStoreStream] == 1);
    spec.flag("to_blocked", to_blocked(p));
    spec.flag("col", col(p));
    spec.flag("groups", p.groups > 0);
    spec.flag("whole_groups", has_whole_groups(p));
    spec.type("Offset", common::spec_type(p.offset));
    spec.integer("together", together(p, config));
    spec.choice("mx::ScaleOrder", "order", padded(p) ? mx::padded_order(grid_of(p)) : mx::plain_order(grid_of(p)));
  }

  static void launch(const MxScales& p, const Args& a, const DeviceModel&, const Config& config, Launch& launch) {
    const ScaleGrid g = grid_of(p);
    const std::int64_t units = 32 * round_up_to(std::max<std::int64_t>(1, atoms_of_strip(p)), beside(p));
    const std::int64_t threads = std::min<std::int64_t>(config[kThreads], units),
                       pieces = (units + threads - 1) / threads;
    auto& params = launch.make_params<mx_scales::Params>();
    params.noop = a.noop.data;
    params.source = a.source.data;
    params.out = a.out.data;
    params.shape = {g.lines(), g.blocks()};
    params.rows = p.rows;
    params.pieces = static_cast<std::uint32_t>(pieces);
    params.strips = static_cast<std::uint32_t>(strips(p));
    params.beside = static_cast<std::uint32_t>(beside(p));
    params.by_pieces = common::make_divisor(static_cast<std::uint64_t>(pieces));
    params.by_strips = common::make_divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, strips(p))));
    params.offsets = a.offsets.data;
    params.status = static_cast<std::int32_t*>(a.status.data);
    params.groups = static_cast<std::uint32_t>(p.groups);
    launch.empty = p.experts == 0 || p.rows == 0 || p.cols == 0;
    launch.block[0] = static_cast<std::uint32_t>(threads);
    launch.grid[0] = static_cast<std::uint32_t>(
        std::min<std::int64_t>(p.experts * strips(p) * pieces, std::numeric_limits<std::uint32_t>::max()));
    launch.shared_bytes = p.groups > 0 ? kGroupBytes : 0;
  }

  static void reference(const MxScales& p, const Args& a) {
    if (p.noop == MxScalesNoop::flag && *static_cast<const float*>(a.noop.data) == 1.0F) return;
    for (const Part& part : parts_of(p, a))
      move_part(part, to_blocked(p), static_cast<const std::uint8_t*>(a.source.data),
                static_cast<std::uint8_t*>(a.out.data));
  }

  static Tolerance tolerance(const MxScales&, int) { return {0, 0, true}; }

  static std::int64_t bytes(const MxScales& p) { return source_layout(p).elements() + out_layout(p).elements(); }

  static bool generate(const MxScales& p, int operand, std::uint64_t seed, void* data) {
    return mx::generate_control(kOperands[operand].name, groups_of(p), seed, data);
  }
};

}  // namespace

const Family& MxScales::family() {
  static const Family family = make_family<MxScalesFamily>();
  return family;
}

}  // namespace quern
