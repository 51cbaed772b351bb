#include "multi_row_pad/multi_row_pad.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>

#include "base/parallel.h"
#include "base/text.h"
#include "common/geometry.h"
#include "multi_row_pad/params.h"
#include "quern_embedded/multi_row_pad.h"

namespace quern {
namespace {

constexpr const char* kDirections[] = {QUERN_MULTI_ROW_PAD_DIRECTIONS(QUERN_CHOICE_NAME) nullptr};

// In the order of kParameters.
enum Parameters { kVector, kUnroll, kThreads, kStoreStream };
constexpr std::int32_t kVectors[] = {1, 2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};

constexpr std::int64_t kDefaultAlign = MultiRowPad{}.align;

// ---- The matrices

bool pads(const MultiRowPad& p) { return p.direction == MultiRowPadDirection::pad; }
int matrices(const MultiRowPad& p) { return static_cast<int>(p.rows.count); }
std::int64_t cols_of(const MultiRowPad& p, int i) { return p.cols[p.cols.count == 1 ? 0 : i]; }
std::int64_t padded_rows_of(const MultiRowPad& p, int i) {
  return p.padded_rows.count == 0 ? common::divide_up(p.rows[i], p.align) * p.align : p.padded_rows[i];
}
std::int64_t row_bytes(const MultiRowPad& p, int i) { return cols_of(p, i) * bytes(p.dtype); }
std::int64_t copied(const MultiRowPad& p, int i) { return p.rows[i] * row_bytes(p, i); }
std::int64_t written(const MultiRowPad& p, int i) {
  return (pads(p) ? padded_rows_of(p, i) : p.rows[i]) * row_bytes(p, i);
}
std::int64_t all_written(const MultiRowPad& p) {
  std::int64_t all = 0;
  for (int i = 0; i < matrices(p); ++i) all += written(p, i);
  return all;
}

Layout matrix(const MultiRowPad& p, int i, bool padded) {
  return Layout::matrix(p.dtype, padded ? padded_rows_of(p, i) : p.rows[i], cols_of(p, i), cols_of(p, i));
}
Layout source_layout(const MultiRowPad& p, int i) { return matrix(p, i, !pads(p)); }
Layout out_layout(const MultiRowPad& p, int i) { return matrix(p, i, pads(p)); }
int count(const void* p) { return matrices(*static_cast<const MultiRowPad*>(p)); }

// ---- Refusals

std::string entry(const char* field, int i) { return cat(field, "[", i, "]"); }

std::string check_lists(const MultiRowPad& p) {
  if (p.rows.count == 0) return "rows has no entry: give the rows of at least one matrix, as in rows=100,500";
  if (p.cols.count != 1 && p.cols.count != p.rows.count)
    return cat("cols needs one entry for all matrices, or one for each of the ", p.rows.count, " of rows");
  if (p.padded_rows.count == 0) return {};
  if (p.padded_rows.count != p.rows.count)
    return cat("padded_rows needs an entry for each of the ", p.rows.count, " of rows, or none");
  if (p.align != kDefaultAlign) return "align is for matrices without padded_rows; give one of the two";
  for (int i = 0; i < matrices(p); ++i) {
    if (p.padded_rows[i] < p.rows[i])
      return cat(entry("padded_rows", i), "=", p.padded_rows[i], " is below ", entry("rows", i), "=", p.rows[i]);
  }
  return {};
}

// No product of extents overflows after this check.
bool is_too_large(const MultiRowPad& p) {
  std::int64_t all = 0;
  for (int i = 0; i < matrices(p); ++i) {
    std::int64_t own = 0;
    if (__builtin_mul_overflow(padded_rows_of(p, i), cols_of(p, i), &own) || own > kMaxExtent) return true;
    all += own;
  }
  return all > kMaxExtent;
}

// ---- Constraints

using common::widest_access;
bool vector_exists(const MultiRowPad&, const Target& t, const Config& c) { return c[kVector] <= widest_access(t); }
bool vector_holds_elements(const MultiRowPad& p, const Target&, const Config& c) {
  return c[kVector] >= bytes(p.dtype);
}
bool registers_suffice(const MultiRowPad&, const Target&, const Config& c) { return c[kVector] * c[kUnroll] <= 128; }

template <bool (*F)(const MultiRowPad&, const Target&, const Config&)>
constexpr auto holds = &holds_for<MultiRowPad, F>;

// ---- The parameters of a launch

unsigned long long address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// Calls f with the parameter struct of a problem.
template <class F>
void with_params(const MultiRowPad& p, const F& f) {
  if (matrices(p) <= 8) return f(multi_row_pad::ParamsOf<8>{});
  if (matrices(p) <= 32) return f(multi_row_pad::ParamsOf<32>{});
  f(multi_row_pad::ParamsOf<64>{});
}

// Fills the tables; returns the number of thread blocks.
template <class Params>
std::int64_t fill(const MultiRowPad& p, const MultiRowPadArgs& a, std::int64_t bytes_of_block, Params& params) {
  std::int64_t blocks = 0;
  std::fill(std::begin(params.first), std::end(params.first), std::numeric_limits<unsigned>::max());
  for (int i = 0; i < matrices(p); ++i) {
    params.first[i] = static_cast<unsigned>(blocks);
    params.matrices[i] = {address(a.sources.entries[i].data), address(a.outs.entries[i].data), copied(p, i),
                          written(p, i)};
    blocks += common::divide_up(written(p, i), bytes_of_block);
  }
  return blocks;
}

// Fewer threads where a small problem would leave multiprocessors idle: two blocks for each are enough.
std::int64_t threads_for(const MultiRowPad& p, const DeviceModel& model, const Config& config) {
  std::int64_t threads = config[kThreads];
  const std::int64_t of_thread = std::int64_t{config[kVector]} * config[kUnroll];
  while (threads > 32 && all_written(p) < std::int64_t{2} * model.multiprocessors * threads * of_thread) threads /= 2;
  return threads;
}

struct MultiRowPadFamily {
  using Problem = MultiRowPad;
  using Args = MultiRowPadArgs;
  static constexpr const char* kName = "multi_row_pad";
  static constexpr const char* kSentence = "up to 64 matrices, each padded with rows of zeros, and back";

  static constexpr Field kFields[] = {
      choice_field("direction", offsetof(MultiRowPad, direction), kDirections, "pad: to padded matrices; unpad: back"),
      list_field("rows", offsetof(MultiRowPad, rows), MultiRowPad{}.rows, 0, kMaxExtent,
                 "rows of each matrix before it is padded"),
      list_field("cols", offsetof(MultiRowPad, cols), MultiRowPad{}.cols, 0, kMaxExtent,
                 "elements in a row of each matrix; one entry: of all"),
      list_field("padded_rows", offsetof(MultiRowPad, padded_rows), MultiRowPad{}.padded_rows, 0, kMaxExtent,
                 "rows of each matrix after it is padded; none: rounded up to a multiple of align"),
      integer_field("align", offsetof(MultiRowPad, align), 1, std::int64_t{1} << 30,
                    "without padded_rows: a padded matrix has a multiple of it"),
      dtype_field("dtype", offsetof(MultiRowPad, dtype), kAnyElement, "element type"),
  };
  static constexpr Operand kOperands[] = {
      {"sources", Role::input, offsetof(MultiRowPadArgs, sources), true, &layout_of<MultiRowPad, source_layout>,
       "[rows[i], cols[i]]; unpad: [padded rows of i, cols[i]]", "the matrices", &count},
      {"outs", Role::output, offsetof(MultiRowPadArgs, outs), true, &layout_of<MultiRowPad, out_layout>,
       "[padded rows of i, cols[i]]; unpad: [rows[i], cols[i]]", "the matrices, padded or not", &count},
  };
  static constexpr Table<LaunchExtent> kLaunchExtents{};
  static constexpr Parameter kParameters[] = {
      {"vector", kVectors, true, "bytes per access"},
      {"unroll", kUnrolls, true, "reads in flight per thread"},
      {"threads", kThreadCounts, false, "threads per block; fewer where a problem is small"},
      {"store_stream", kSwitch, true, "1: stores are evict-first"},
  };
  static constexpr Constraint kConstraints[] = {
      {"32-byte accesses exist on sm_100 and sm_103 only", holds<vector_exists>},
      {"a vector must hold whole elements", holds<vector_holds_elements>},
      {"vector times unroll must fit the registers: 128 bytes", holds<registers_suffice>},
  };
  // Tokens of eight experts; the sizes of TransformerEngine's test; as many matrices as there can be.
  static constexpr const char* kBenchCases[] = {
      "multi_row_pad rows=4096,3907,4321,4000,4500,3800,4144,4001 cols=7168",
      "multi_row_pad rows=4096,3907,4321,4000,4500,3800,4144,4001 cols=7168 direction=unpad",
      "multi_row_pad rows=1,1,768,768,43,43,256,256 cols=1,768,1,768,43,256,43,256 align=16 dtype=f32",
      "multi_row_pad align=128 cols=4096 dtype=e4m3 "
      "rows=1000,1001,1002,1003,1004,1005,1006,1007,1008,1009,1010,1011,1012,1013,1014,1015,"
      "1016,1017,1018,1019,1020,1021,1022,1023,1024,1025,1026,1027,1028,1029,1030,1031,"
      "1032,1033,1034,1035,1036,1037,1038,1039,1040,1041,1042,1043,1044,1045,1046,1047,"
      "1048,1049,1050,1051,1052,1053,1054,1055,1056,1057,1058,1059,1060,1061,1062,1063",
  };
  // Rows of tokens that were routed to experts.
  static constexpr const char* kDraws[] = {
      "direction=pad | direction=unpad",
      "rows=4000,4100,3900,4096,0,8000,1,4500 | rows=100,33,57,0 | rows=20000 | rows=512,700,513,1,2,1000,600,15",
      "cols=128..16384/128 | cols=128..16384/128 | cols=8..16384/8 | cols=1..8192",
      "align=16 | align=32 | align=128",
      "dtype=bf16 | dtype=e4m3 | dtype=f32",
  };

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::multi_row_pad_sources(); }

  static std::string check(const MultiRowPad& p) {
    if (std::string refusal = check_lists(p); !refusal.empty()) return refusal;
    if (is_too_large(p)) return "rows, with their padding, and cols are too large: at most 2^46 elements";
    return {};
  }

  // Where a matrix ends, and where its padding begins, accesses are of elements: any size is moved in wide accesses.
  static int variants(const MultiRowPad& p, const Target& target, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    const auto widest = static_cast<std::int32_t>(widest_access(target)),
               element = static_cast<std::int32_t>(quern::bytes(p.dtype));
    const auto config_of = [](std::int32_t vector) {
      Config config;
      config[kVector] = vector;
      config[kUnroll] = std::min(4, 128 / vector);
      config[kThreads] = 256;
      return config;
    };
    int made = 0;
    if (element < widest) out[made++] = {"vector", config_of(widest)};
    if (element < 4) out[made++] = {"word", config_of(4)};
    out[made++] = {"element", config_of(element)};
    return made;
  }

  static std::uint32_t alignment(const MultiRowPad&, int, const Config& config) {
    return static_cast<std::uint32_t>(config[kVector]);
  }

  static void specialize(const MultiRowPad& p, const Target&, const Config& config, Spec& spec) {
    with_params(p, [&](const auto& params) {
      spec.integer("params_bytes", sizeof(params));
      spec.integer("most", std::extent_v<std::remove_reference_t<decltype(params.first)>>);
    });
    spec.integer("max_threads", common::kMaxThreads);
    spec.integer("vector", config[kVector]);
    spec.integer("element", quern::bytes(p.dtype));
    spec.integer("unroll", config[kUnroll]);
    spec.flag("store_stream", config[kStoreStream] == 1);
  }

  static void launch(const MultiRowPad& p, const Args& a, const DeviceModel& model, const Config& config,
                     Launch& launch) {
    launch.empty = all_written(p) == 0;
    if (launch.empty) return;
    const std::int64_t threads = threads_for(p, model, config);
    std::int64_t blocks = 0;
    with_params(p, [&](auto params) {
      blocks = fill(p, a, threads * config[kVector] * config[kUnroll], params);
      launch.set_params(params);
    });
    launch.block[0] = static_cast<std::uint32_t>(threads);
    launch.grid[0] =
        static_cast<std::uint32_t>(std::min<std::int64_t>(blocks, std::numeric_limits<std::uint32_t>::max()));
  }

  static void reference(const MultiRowPad& p, const Args& a) {
    parallel_for(matrices(p), 1, [&](std::int64_t begin, std::int64_t end) {
      for (int i = static_cast<int>(begin); i < end; ++i) {
        const auto moved = static_cast<std::size_t>(copied(p, i)), all = static_cast<std::size_t>(written(p, i));
        auto* const out = static_cast<std::byte*>(a.outs.entries[i].data);
        if (moved > 0) std::memcpy(out, a.sources.entries[i].data, moved);
        if (all > moved) std::memset(out + moved, 0, all - moved);
      }
    });
  }

  static Tolerance tolerance(const MultiRowPad&, int) { return {0, 0, true}; }

  // Padding is written but not read.
  static std::int64_t bytes(const MultiRowPad& p) {
    std::int64_t all = all_written(p);
    for (int i = 0; i < matrices(p); ++i) all += copied(p, i);
    return all;
  }

  static bool generate(const MultiRowPad&, int, std::uint64_t, void*) { return false; }
};

}  // namespace

const Family& MultiRowPad::family() {
  static const Family family = make_family<MultiRowPadFamily>();
  return family;
}

}  // namespace quern
