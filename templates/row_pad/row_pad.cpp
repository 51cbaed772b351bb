#include "row_pad/row_pad.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/geometry.h"
#include "common/host_types.h"
#include "mx/choice_names.h"
#include "mx/groups.h"
#include "quern_embedded/row_pad.h"
#include "row_pad/params.h"

namespace quern {
namespace {

constexpr const char* kDirections[] = {QUERN_ROW_PAD_DIRECTIONS(QUERN_CHOICE_NAME) nullptr};

// In the order of kParameters.
enum Parameters { kVector, kUnroll, kThreads, kStoreStream };
constexpr std::int32_t kVectors[] = {1, 2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};

constexpr std::uint32_t kGroupBytes = 64;  // of shared memory: the result of find_group of mx/groups.cuh

bool pads(const RowPad& p) { return p.direction == RowPadDirection::pad; }
std::int64_t element_bytes(const RowPad& p) { return bytes(p.dtype); }
std::int64_t row_bytes(const RowPad& p) { return p.cols * element_bytes(p); }
// The most rows that all groups can need.
std::int64_t padded_rows(const RowPad& p) { return (p.rows + p.groups * p.align + p.align - 1) / p.align * p.align; }

std::int64_t natural_vector(const RowPad& p, std::int64_t limit) {
  return common::common_alignment({row_bytes(p)}, limit);
}
using common::widest_access;

bool vector_divides(const RowPad& p, const Target&, const Config& c) { return natural_vector(p, 32) % c[kVector] == 0; }
bool vector_exists(const RowPad&, const Target& t, const Config& c) { return c[kVector] <= widest_access(t); }
bool vector_holds_elements(const RowPad& p, const Target&, const Config& c) { return c[kVector] >= element_bytes(p); }
bool registers_suffice(const RowPad&, const Target&, const Config& c) { return c[kVector] * c[kUnroll] <= 128; }

Layout matrix(const RowPad& p, bool padded) {
  return Layout::matrix(p.dtype, padded ? padded_rows(p) : p.rows, p.cols, p.cols);
}
Layout source_layout(const RowPad& p) { return matrix(p, !pads(p)); }
Layout out_layout(const RowPad& p) { return matrix(p, pads(p)); }
Layout offsets_layout(const RowPad& p) { return Layout::list(p.offset, p.groups); }
Layout places_layout(const RowPad& p) { return Layout::list(pads(p) ? p.offset : DType::none, p.groups); }
Layout noop_layout(const RowPad& p) { return Layout::list(p.noop == RowPadNoop::flag ? f32 : DType::none, 1); }
Layout status_layout(const RowPad&) { return Layout::list(i32, 1); }

template <Layout (*F)(const RowPad&)>
constexpr auto layout = &layout_of<RowPad, F>;
template <bool (*F)(const RowPad&, const Target&, const Config&)>
constexpr auto holds = &holds_for<RowPad, F>;

mx::Groups groups_of(const RowPad& p) { return {p.groups, p.rows, 1, p.offset}; }

// Takes open rows for 0. No product of extents overflows after this check.
bool is_too_large(const RowPad& p) {
  std::int64_t all = 0;
  const std::int64_t rows = std::max<std::int64_t>(p.rows, 0) + (p.groups + 1) * p.align;
  return __builtin_mul_overflow(rows, std::max<std::int64_t>(p.cols, 1), &all) || all > kMaxExtent;
}

struct RowPadFamily {
  using Problem = RowPad;
  using Args = RowPadArgs;
  static constexpr const char* kName = "row_pad";
  static constexpr const char* kSentence = "groups of rows padded with zeros to multiples of align, and back";

  static constexpr Field kFields[] = {
      choice_field("direction", offsetof(RowPad, direction), kDirections, "pad: to padded groups; unpad: back"),
      extent_field("rows", offsetof(RowPad, rows), true, "rows of all groups before they are padded"),
      extent_field("cols", offsetof(RowPad, cols), false, "elements in a row"),
      extent_field("groups", offsetof(RowPad, groups), false, "consecutive groups of rows"),
      integer_field("align", offsetof(RowPad, align), 1, std::int64_t{1} << 30, "a padded group has a multiple of it"),
      dtype_field("dtype", offsetof(RowPad, dtype), kAnyElement, "element type of source and out"),
      dtype_field("offset", offsetof(RowPad, offset), only(i32) | only(i64), "type of offsets, starts and ends"),
      choice_field("noop", offsetof(RowPad, noop), mx::kNoops,
                   "flag: a float on the device that is 1 skips the launch"),
  };
  static constexpr Operand kOperands[] = {
      {"source", Role::input, offsetof(RowPadArgs, source), true, layout<source_layout>,
       "[rows, cols]; unpad: [round_up(rows + groups * align, align), cols]", "the rows"},
      {"offsets", Role::input, offsetof(RowPadArgs, offsets), false, layout<offsets_layout>, "[groups]",
       "where each group ends in the rows that are not padded"},
      {"noop", Role::input, offsetof(RowPadArgs, noop), false, layout<noop_layout>, "[1]",
       "noop=flag: 1 skips the launch"},
      {"out", Role::output, offsetof(RowPadArgs, out), true, layout<out_layout>,
       "[round_up(rows + groups * align, align), cols]; unpad: [rows, cols]", "the rows, padded or not"},
      {"starts", Role::output, offsetof(RowPadArgs, starts), false, layout<places_layout>, "[groups]",
       "pad: where each group begins in out"},
      {"ends", Role::output, offsetof(RowPadArgs, ends), false, layout<places_layout>, "[groups]",
       "pad: where its padding ends"},
      {"status", Role::update, offsetof(RowPadArgs, status), false, layout<status_layout>, "[1]",
       "1 + the number of the first group that is wrong"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"rows", offsetof(RowPadArgs, rows), nullptr}};
  static constexpr Parameter kParameters[] = {
      {"vector", kVectors, true, "bytes per access"},
      {"unroll", kUnrolls, true, "reads in flight per thread"},
      {"threads", kThreadCounts, false, "threads per block"},
      {"store_stream", kSwitch, true, "1: stores of out are evict-first"},
  };
  static constexpr Constraint kConstraints[] = {
      {"the vector must divide the row length", holds<vector_divides>},
      {"32-byte accesses exist on sm_100 and sm_103 only", holds<vector_exists>},
      {"a vector must hold whole elements", holds<vector_holds_elements>},
      {"vector times unroll must fit the registers: 128 bytes", holds<registers_suffice>},
  };
  static constexpr const char* kBenchCases[] = {
      "row_pad rows=8192 cols=7168 groups=64 align=128",
      "row_pad rows=131072 cols=7168 groups=8 align=128 dtype=e4m3",
      "row_pad rows=131072 cols=7168 groups=8 align=128 dtype=e4m3 direction=unpad",
  };
  // Rows of tokens that were routed to experts.
  static constexpr const char* kDraws[] = {
      "direction=pad | direction=unpad",
      "rows=16..262144",
      "cols=128..16384/128 | cols=128..16384/128 | cols=8..16384/8",
      "groups=1..256",
      "align=16 | align=32 | align=128",
      "dtype=bf16 | dtype=e4m3 | dtype=f32",
  };

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::row_pad_sources(); }

  static std::string check(const RowPad& p) {
    if (p.groups == 0) return "groups=0: there is no group to move; give 1 or more";
    if (p.groups >= std::int64_t{1} << 31) return "groups must be fewer than 2^31";
    if (is_too_large(p)) return "rows, with their padding, and cols are too large: at most 2^46 elements";
    if (p.offset == DType::i32 && p.rows + p.groups * p.align >= std::int64_t{1} << 31)
      return "offset=i32 cannot hold the ends of this many padded rows; use offset=i64";
    return {};
  }

  static int variants(const RowPad& p, const Target& target, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    Config config;
    config[kVector] = static_cast<std::int32_t>(natural_vector(p, widest_access(target)));
    config[kUnroll] = 4;
    config[kThreads] = 256;
    Config any = config;
    any[kVector] = static_cast<std::int32_t>(element_bytes(p));
    if (config == any) return out[0] = {"element", any}, 1;
    out[0] = {"vector", config};
    out[1] = {"element", any};
    return 2;
  }

  static std::uint32_t alignment(const RowPad&, int, const Config& config) {
    return static_cast<std::uint32_t>(config[kVector]);
  }

  static void specialize(const RowPad& p, const Target&, const Config& config, Spec& spec) {
    spec.integer("params_bytes", sizeof(row_pad::Params));
    spec.integer("max_threads", common::kMaxThreads);
    spec.flag("noop", p.noop == RowPadNoop::flag);
    spec.integer("vector", config[kVector]);
    spec.integer("unroll", config[kUnroll]);
    spec.flag("store_stream", config[kStoreStream] == 1);
    spec.flag("pads", pads(p));
    spec.type("Offset", common::spec_type(p.offset));
  }

  static void launch(const RowPad& p, const Args& a, const DeviceModel&, const Config& config, Launch& launch) {
    const std::int64_t at_once = std::int64_t{config[kThreads]} * config[kUnroll] * config[kVector];
    const std::int64_t pieces = std::max<std::int64_t>(1, (p.align * row_bytes(p) + at_once - 1) / at_once);
    auto& params = launch.make_params<row_pad::Params>();
    params.noop = a.noop.data;
    params.source = a.source.data;
    params.out = a.out.data;
    params.starts = a.starts.data;
    params.ends = a.ends.data;
    params.rows = p.rows;
    params.row_bytes = row_bytes(p);
    params.align = p.align;
    params.by_align = common::make_divisor(static_cast<std::uint64_t>(p.align));
    params.by_pieces = common::make_divisor(static_cast<std::uint64_t>(pieces));
    params.pieces = static_cast<std::uint32_t>(pieces);
    params.offsets = a.offsets.data;
    params.status = static_cast<std::int32_t*>(a.status.data);
    params.groups = static_cast<std::uint32_t>(p.groups);
    launch.block[0] = static_cast<std::uint32_t>(config[kThreads]);
    launch.grid[0] = static_cast<std::uint32_t>(
        std::min<std::int64_t>(padded_rows(p) / p.align * pieces, std::numeric_limits<std::uint32_t>::max()));
    launch.shared_bytes = kGroupBytes;
  }

  static void reference(const RowPad& p, const Args& a) {
    if (p.noop == RowPadNoop::flag && *static_cast<const float*>(a.noop.data) == 1.0F) return;
    const std::vector<mx::RowRange> groups = mx::read_groups(groups_of(p), a.offsets.data, a.status.data);
    if (groups.empty()) return;
    const auto* source = static_cast<const char*>(a.source.data);
    auto* out = static_cast<char*>(a.out.data);
    if (pads(p) && p.cols > 0) std::memset(out, 0, static_cast<std::size_t>(padded_rows(p) * row_bytes(p)));
    std::int64_t padded = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto [begin, end] = groups[g];
      if (end > begin && p.cols > 0)
        std::memcpy(out + (pads(p) ? padded : begin) * row_bytes(p), source + (pads(p) ? begin : padded) * row_bytes(p),
                    static_cast<std::size_t>((end - begin) * row_bytes(p)));
      const std::int64_t next = padded + (end - begin + p.align - 1) / p.align * p.align;
      if (pads(p)) {
        common::write_integer(p.offset, a.starts.data, static_cast<std::int64_t>(g), padded);
        common::write_integer(p.offset, a.ends.data, static_cast<std::int64_t>(g), next);
      }
      padded = next;
    }
  }

  static Tolerance tolerance(const RowPad&, int) { return {0, 0, true}; }

  // Padding is written but not read.
  static std::int64_t bytes(const RowPad& p) { return (p.rows + (pads(p) ? padded_rows(p) : p.rows)) * row_bytes(p); }

  static bool generate(const RowPad& p, int operand, std::uint64_t seed, void* data) {
    return mx::generate_control(kOperands[operand].name, groups_of(p), seed, data);
  }
};

}  // namespace

const Family& RowPad::family() {
  static const Family family = make_family<RowPadFamily>();
  return family;
}

}  // namespace quern
