#include "gather/gather.h"

#include <limits>

#include "common/geometry.h"
#include "common/host_types.h"
#include "gather/operands.h"
#include "gather/params.h"
#include "quern/choice.h"
#include "quern_embedded/gather.h"
#include "rows/shape.h"

namespace quern {
namespace {

using common::widest_access;
using gather::all_rows;
using gather::allows_no_rows;
using gather::element_bytes;
using gather::needs_rows;
using gather::out_stride;
using gather::row_bytes;
using gather::source_stride;
using rows::kMaxRowBytes;
using rows::kMaxSlots;

constexpr DTypeSet kIndexTypes = only(i64) | only(i32) | only(i16) | only(i8) | only(u8);
constexpr DTypeSet kScaleTypes = only(DType::none) | only(f32) | only(f16) | only(bf16);
constexpr const char* kModes[] = {QUERN_GATHER_MODES(QUERN_CHOICE_NAME) nullptr};

// In the order of kOperands.
enum Operands { kSource, kIndex, kScale, kOut, kReport };
// In the order of kParameters.
enum Parameters { kForm, kVector, kUnroll, kThreads, kLoadOnce, kStoreStream, kPersistent, kBlocksPerSm, kRowThreads };
enum Forms { kWhole, kRagged };
constexpr const char* kFormNames[] = {"vector", "ragged"};
constexpr std::int32_t kForms[] = {kWhole, kRagged, kNoMore};
constexpr std::int32_t kVectors[] = {1, 2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};
constexpr std::int32_t kBlockCounts[] = {0, 1, 2, 4, 8, kNoMore};
constexpr std::int32_t kMostRowThreads = 2048;
constexpr std::int32_t kRowThreadCounts[] = {0, 8, 16, 32, 64, 128, 256, 512, 1024, kMostRowThreads, kNoMore};

bool needs_rows_erased(const void* p) { return needs_rows(*static_cast<const Gather*>(p)); }

rows::Shape shape_of(const Gather& p) {
  const std::int64_t size = element_bytes(p);
  return {row_bytes(p), size, source_stride(p) * size, out_stride(p) * size};
}
std::int64_t natural_vector(const Gather& p, std::int64_t limit) { return rows::natural_vector(shape_of(p), limit); }

bool vector_divides(const Gather& p, const Target&, const Config& c) {
  return c[kForm] == kRagged || natural_vector(p, 32) % c[kVector] == 0;
}
bool vector_exists(const Gather&, const Target& t, const Config& c) { return c[kVector] <= widest_access(t); }
bool vector_holds_elements(const Gather& p, const Target&, const Config& c) {
  return p.scale == DType::none || c[kVector] >= element_bytes(p);
}
bool ragged_has_small_elements(const Gather& p, const Target&, const Config& c) {
  return c[kForm] != kRagged || element_bytes(p) < 16;
}
bool is_whole(const Gather&, const Config& c) { return c[kForm] == kWhole; }
bool row_has_few_slots(const Gather& p, const Target&, const Config& c) {
  return row_bytes(p) / c[kVector] < kMaxSlots;
}
bool registers_suffice(const Gather&, const Target&, const Config& c) {
  return c[kVector] * c[kUnroll] <= (c[kForm] == kRagged ? 64 : 128);
}

// Whether adjacent threads have a row, instead of accesses that are numbered through all rows.
bool is_by_row(const Config& c) { return c[kRowThreads] != 0; }
bool is_persistent(const Gather&, const Config& c) { return c[kPersistent] == 1; }
bool is_not_persistent(const Gather&, const Config& c) { return c[kPersistent] == 0; }
bool blocks_are_resident(const Gather&, const Target& t, const Config& c) {
  return c[kBlocksPerSm] * c[kThreads] <= common::resident_threads(t);
}

// Whether the windows of the ragged form are of out as a whole, where they may hold parts of two rows, not of one row:
// short rows have too many ends (on an H200, 70 bytes: 6.6 us, window by row 11.2; 198 bytes: 5.3 and 5.0). The smaller
// an element, the longer is an end.
bool is_packed(const Gather& p, const Config& c) {
  const std::int64_t row = row_bytes(p), element = element_bytes(p);
  return c[kForm] == kRagged && !is_by_row(c) && out_stride(p) == p.width && row >= 16 - element && row * element < 256;
}

std::int64_t slots_per_row(const Gather& p, const Config& c) {
  return rows::slots_per_row(shape_of(p), c[kForm] == kRagged, c[kVector]);
}

// Lanes that would have nothing to do in any form make a config no faster.
bool lanes_have_elements(const Gather& p, const Target&, const Config& c) {
  return c[kRowThreads] <= 8 || c[kRowThreads] < 2 * p.width;
}

common::Slots make_slots(const Gather& p, const Config& c) {
  const bool empty = all_rows(p) == 0 || p.width == 0;
  return common::make_slots(empty ? 0 : static_cast<std::uint64_t>(all_rows(p)),
                            static_cast<std::uint64_t>(std::max<std::int64_t>(1, slots_per_row(p, c))));
}

// Of so many windows, in parts of as many rows each; 16 rows more hold what the first window has before out. A slot's
// column is its number in the part.
common::Slots packed_slots(const Gather& p, std::uint64_t windows) {
  const std::int64_t rows = all_rows(p) + 16, parts = common::divide_up(rows, gather::kMostPackedRows),
                     groups = common::divide_up(parts == 1 ? rows : common::divide_up(rows, parts), 16);
  common::Slots slots = common::slots_in_parts(windows, static_cast<std::uint64_t>(row_bytes(p)),
                                               static_cast<std::uint32_t>(groups * row_bytes(p)),
                                               static_cast<std::uint32_t>(groups * 16));
  slots.per_row = 0;
  return slots;
}

// One matrix, or several.
Layout rows_layout(const Gather& p, std::int64_t rows, std::int64_t stride) {
  if (p.outer == 1) return Layout::matrix(p.dtype, rows, p.width, stride);
  return Layout::matrices(p.dtype, p.outer, rows, p.width, rows == kOpen ? 0 : rows * stride, stride);
}
Layout source_layout(const Gather& p) { return rows_layout(p, p.rows, source_stride(p)); }
Layout index_layout(const Gather& p) { return Layout::list(p.index, p.count); }
Layout scale_layout(const Gather& p) { return Layout::list(p.scale, p.count); }
Layout out_layout(const Gather& p) { return rows_layout(p, p.count, out_stride(p)); }
Layout report_layout(const Gather& p) { return Layout::list(p.mode == GatherMode::report ? i64 : DType::none, 1); }

template <Layout (*F)(const Gather&)>
constexpr auto layout = &layout_of<Gather, F>;
template <bool (*F)(const Gather&, const Target&, const Config&)>
constexpr auto holds = &holds_for<Gather, F>;
template <bool (*F)(const Gather&, const Config&)>
constexpr auto applies = &applies_to<Gather, F>;

struct GatherFamily {
  using Problem = Gather;
  using Args = GatherArgs;
  static constexpr const char* kName = "gather";
  static constexpr const char* kSentence = "rows picked by index: out[i, :] = source[index[i], :]";

  static constexpr Field kFields[] = {
      extent_field("rows", offsetof(Gather, rows), true,
                   "rows of source; needed by the modes that check, and by outer"),
      extent_field("count", offsetof(Gather, count), true, "indices, and rows of out"),
      extent_field("width", offsetof(Gather, width), false, "elements in a row"),
      dtype_field("dtype", offsetof(Gather, dtype), kAnyElement, "element type of source and out"),
      dtype_field("index", offsetof(Gather, index), kIndexTypes, "type of the indices"),
      choice_field("mode", offsetof(Gather, mode), kModes, "meaning of an index outside of source"),
      dtype_field("scale", offsetof(Gather, scale), kScaleTypes,
                  "type of a factor for each row of out; none: no scale"),
      integer_field("source_stride", offsetof(Gather, source_stride), 0, kMaxExtent,
                    "elements between rows of source; 0: width"),
      integer_field("out_stride", offsetof(Gather, out_stride), 0, kMaxExtent,
                    "elements between rows of out; 0: width"),
      extent_field("outer", offsetof(Gather, outer), true, "matrices whose rows the index picks"),
  };
  static constexpr Operand kOperands[] = {
      {"source", Role::input, offsetof(GatherArgs, source), true, layout<source_layout>, "[outer, rows, width]",
       "the rows to pick from"},
      {"index", Role::input, offsetof(GatherArgs, index), false, layout<index_layout>, "[count]", "which row to pick"},
      {"scale", Role::input, offsetof(GatherArgs, scale), false, layout<scale_layout>, "[count]",
       "a factor for each picked row"},
      {"out", Role::output, offsetof(GatherArgs, out), true, layout<out_layout>, "[outer, count, width]",
       "the picked rows"},
      {"report", Role::update, offsetof(GatherArgs, report), false, layout<report_layout>, "[1]",
       "mode report: -1, or the first position with a bad index", nullptr, nullptr, -1},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {
      {"rows", offsetof(GatherArgs, rows), &needs_rows_erased},
      {"count", offsetof(GatherArgs, count), nullptr},
      {"outer", offsetof(GatherArgs, outer), nullptr},
  };
  static constexpr Parameter kParameters[] = {
      {"form", kForms, true, "0: whole vectors; 1: ragged, for rows that no vector divides"},
      {"vector", kVectors, true, "bytes per access; the ragged form has 16", applies<is_whole>, 16},
      {"unroll", kUnrolls, true, "accesses in flight per thread"},
      {"threads", kThreadCounts, false, "threads per block; fewer where a problem is small"},
      {"load_once", kSwitch, true, "1: loads of source are evict-first, for indices without repeats"},
      {"store_stream", kSwitch, true, "1: stores of out are evict-first"},
      {"persistent", kSwitch, true, "1: persistent (grid-stride) kernel"},
      {"blocks_per_sm", kBlockCounts, false, "blocks per SM, at most, of a persistent kernel; 0: no limit",
       applies<is_persistent>},
      {"row_threads", kRowThreadCounts, true,
       "adjacent threads that have a row; 0: accesses are numbered through all rows", applies<is_not_persistent>},
  };
  static constexpr Constraint kConstraints[] = {
      {"the vector must divide the row length and both strides", holds<vector_divides>},
      {"32-byte accesses exist on sm_100 and sm_103 only", holds<vector_exists>},
      {"with a scale a vector must hold whole elements", holds<vector_holds_elements>},
      {"the ragged form works on elements below 16 bytes", holds<ragged_has_small_elements>},
      {"a row must have fewer than 2^30 vectors", holds<row_has_few_slots>},
      {"vector times unroll must fit the registers: 128 bytes, 64 in the ragged form", holds<registers_suffice>},
      {"row_threads must be below twice the elements of a row, or 8", holds<lanes_have_elements>},
      {"blocks_per_sm blocks must fit a multiprocessor's threads", holds<blocks_are_resident>},
  };
  static constexpr const char* kBenchCases[] = {
      "gather rows=1024 count=512 width=4096 dtype=f16",      "gather rows=4096 count=4096 width=4096 dtype=f16",
      "gather rows=8192 count=8192 width=4096 dtype=f16",     "gather rows=131072 count=131072 width=2048 dtype=f16",
      "gather rows=4096 count=4096 width=5120 dtype=bf16",    "gather rows=8192 count=8192 width=8192 dtype=bf16",
      "gather rows=65536 count=65536 width=7168 dtype=bf16",  "gather rows=16384 count=16384 width=2880 dtype=bf16",
      "gather rows=65536 count=65536 width=1000 dtype=bf16",  "gather rows=16384 count=16384 width=4097 dtype=bf16",
      "gather rows=1048576 count=1048576 width=64 dtype=f32", "gather rows=64 count=64 width=7168 dtype=bf16",
  };
  // Permutes of tokens: rows of models, mostly of whole sectors, and of any length.
  static constexpr const char* kDraws[] = {
      "rows=16..262144",
      "count=16..262144",
      "width=64..16384/64 | width=64..16384/64 | width=8..16384/8 | width=8..8192",
      "dtype=bf16 | dtype=bf16 | dtype=f16 | dtype=f32 | dtype=u8",
      "index=i64 | index=i32",
      "mode=assume_valid | mode=assume_valid | mode=minus_one_is_zero",
  };

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::gather_sources(); }

  static std::string check(const Gather& p) {
    if (row_bytes(p) > kMaxRowBytes) return "width is too large: a row may have 32 bytes less than 16 GiB";
    if (std::string why = rows::check_sizes(p.outer, p.rows, source_stride(p), p.count, out_stride(p)); !why.empty())
      return why;
    if (p.out_stride != 0 && p.out_stride < p.width) return "out_stride is below width, so rows of out would overlap";
    if (p.scale != DType::none && !info(p.dtype).is_float)
      return "scale needs a floating dtype: f64, f32, f16, bf16, e4m3 or e5m2";
    if (p.rows == 0 && p.count > 0 && p.outer > 0 && !allows_no_rows(p))
      return "rows=0 has no row to pick, so count must be 0; with mode=zero, report or minus_one_is_zero it may be "
             "more";
    return {};
  }

  static Config config_for(const Gather& p, Forms form, std::int64_t vector) {
    Config config;
    config[kForm] = form;
    config[kVector] = static_cast<std::int32_t>(vector);
    config[kUnroll] = is_packed(p, config) ? 1 : 2;  // two packed windows take too many registers
    config[kThreads] = 128;
    return config;
  }

  // Whether all rows are fewer than `each` slots of `bytes` for each multiprocessor. Open extents count as large.
  static bool few_slots(const Gather& p, const DeviceModel& model, std::int64_t bytes, std::int64_t each) {
    if (p.count == kOpen || p.rows == kOpen || p.outer == kOpen) return false;
    return all_rows(p) * row_bytes(p) / bytes < each * model.multiprocessors;
  }

  // Rows that a vector of 8 bytes or more divides are moved in vectors, others in the ragged form: unless they are so
  // short that element by element is as fast, or so few that its longer code costs more than it saves (on an H200, 320
  // rows of 6428 bytes take 2.38 us, in elements of four bytes 2.23; 480 of them 2.59 and 2.72; 218 rows of 5542 bytes
  // 2.85 us, in elements of two bytes 2.31; 436 of them 2.99 and 3.24).
  static Config shape_for(const Gather& p, std::int64_t vector, const DeviceModel& model) {
    const std::int64_t whole = std::max(vector, element_bytes(p));
    const bool narrow = vector < 8 || row_bytes(p) / vector >= kMaxSlots;
    const Config ragged = config_for(p, kRagged, 16);
    const bool is_short = is_packed(p, ragged);
    const bool few = few_slots(p, model, whole, !is_short ? 5120 : whole >= 4 ? 65536 : 12288);
    const bool few_bytes = row_bytes(p) < 64 && !is_packed(p, ragged);
    return !narrow || element_bytes(p) >= 16 || few || few_bytes ? config_for(p, kWhole, whole) : ragged;
  }

  // 2 accesses of 16 bytes in flight per thread, at full occupancy, are 64 KB per multiprocessor: three times what the
  // latency needs, since an index must be loaded before its row. One where few threads would be left, more of narrower
  // ones. Windows share their reads through L1, the better the fewer are in flight.
  static std::int32_t in_flight(const Gather& p, const Config& config, const DeviceModel& model) {
    const auto few = [&](std::int64_t each) { return few_slots(p, model, config[kVector], each); };
    if (few(1024)) return 1;
    if (config[kForm] == kRagged) return few(16384) ? 1 : config[kUnroll];
    return config[kVector] >= 8 || few(5120) ? 2 : 4;
  }

  // Whether each row is read many times, so mostly from L2.
  static bool are_read_often(const Gather& p) { return p.count != kOpen && p.rows != kOpen && p.count > 16 * p.rows; }

  static bool are_narrow_and_long(const Config& config, std::int64_t accesses) {
    return config[kForm] == kWhole && config[kVector] < 8 && accesses > 512;
  }

  // By row wherever that was faster on an H200: rows of up to 512 accesses in the ragged form, whose ends a lane each
  // has (60351 rows of 846 bytes 19 us, through all rows 46; 65536 of 2046 bytes 71.6 and 72.1), and few rows of 8 to
  // 4096 accesses (1491 of 2304 bytes 2.6 and 2.8 us; 30000 of 512 bytes 9.7 and 9.4; 172 of 64 KB 6.3 and 6.7), but
  // not short ones where more than a quarter of the lanes has nothing to do (35542 of 144 bytes 5.14 and 4.55; 15000 of
  // 528 bytes 6.26 and 5.78), unless there is next to nothing to do, nor long ones in narrow accesses (200 of 6428
  // bytes 2.27 and 2.02). Four accesses in flight, fewer where that leaves less than 512 threads per multiprocessor.
  static void choose_row_threads(const Gather& p, const DeviceModel& model, Config& config) {
    const std::int64_t accesses = common::divide_up(row_bytes(p), config[kVector]);
    const bool few = few_slots(p, model, config[kVector], 6144), ragged = config[kForm] == kRagged;
    const std::int64_t most = !few ? 512 : ragged ? kMostRowThreads : 2 * kMostRowThreads;
    if (is_packed(p, config) || accesses > most || accesses < (ragged ? 4 : 8) || (!ragged && !few)) return;
    if (are_narrow_and_long(config, accesses)) return;
    const std::int64_t lanes = common::power_of_two_from(accesses, 8),
                       enough = std::int64_t{512} * model.multiprocessors;
    const bool idles = 4 * accesses < 3 * lanes && lanes <= 128;
    if (!ragged && idles && !few_slots(p, model, config[kVector], 256)) return;
    const bool is_known = p.count != kOpen && p.outer != kOpen;
    std::int64_t unroll = std::min<std::int64_t>(4, lanes / 8);
    const auto wants_lanes = [&] {
      return is_known && all_rows(p) * (lanes / unroll) < enough && !(ragged && lanes / unroll >= 128) &&
             2 * lanes / unroll <= kMostRowThreads;
    };
    while (unroll > 1 && wants_lanes()) unroll /= 2;
    config[kUnroll] = static_cast<std::int32_t>(unroll);
    config[kRowThreads] = static_cast<std::int32_t>(lanes / unroll);
  }

  // Few short rows in accesses so narrow that each has 64 lanes: on an H200 203 of 264 bytes take 1.95 us in 4 bytes,
  // 2.02 in 8; 135 of 1024 bytes 1.99 in 8, 2.04 in 16.
  static std::int64_t few_rows_vector(const Gather& p, std::int64_t vector, const DeviceModel& model) {
    const std::int64_t narrowest = std::max<std::int64_t>(4, p.scale == DType::none ? 1 : element_bytes(p));
    if (vector < 8 || p.width == 0 || !few_slots(p, model, row_bytes(p), 4)) return vector;
    while (vector > narrowest && row_bytes(p) / vector <= 64) vector /= 2;
    return vector;
  }

  // A row length has few configs, so that a change of an extent is rarely a new image. The hints:
  // - rows that are read again: evict-first stores leave room for them in L2, up to 19 % faster on an H200. Not where
  //   they are few (172 of 31 KB 3.90 us, with both hints 3.74; 4000 of 2 KB 3.31 and 3.54). Where each is read many
  //   times, few or not, in the same image: 10177 of 432 bytes from 63 rows take 2.48 us, by row with both hints 3.40;
  //   1277 of 576 bytes from 21 rows 1.46 and 1.67;
  // - others: both hints, which gain 1 to 3 % up to 20 MB and up to 12 % in small problems. Not for short rows, where
  //   adjacent rows share fetched sectors, unless they are few (2687 of 192 bytes 1.90 us, without hints 2.15; 4000 of
  //   160 bytes 2.05 and 2.33; 10000 of 144 bytes 2.37 and 2.58; 10000 of 64 bytes 2.21 and 2.32; 22000 of 72
  //   bytes 2.41 and 2.53, but 150000 of them 8.19 and 7.45), nor for windows and narrow elements, which share their
  //   reads through L1;
  // - but few long rows in narrow elements have both, and larger blocks (320 of 6428 bytes 2.26 us; reads without the
  //   hint 2.38, blocks of 128 threads 2.55).
  static Config preferred(const Gather& p, const Target& target, const DeviceModel& model) {
    const std::int64_t widest = natural_vector(p, widest_access(target));
    Config config = shape_for(p, few_rows_vector(p, widest, model), model);
    const bool repeats = p.count != kOpen && p.rows != kOpen && p.count > p.rows + p.rows / 4;
    const bool few = few_slots(p, model, config[kVector], 3072);
    const std::int64_t least = !few ? 256 : are_read_often(p) ? 128 : 64;
    const bool long_rows = config[kForm] == kWhole && widest >= 8 && row_bytes(p) >= least;
    const bool often = config[kForm] == kWhole && widest >= 8 && row_bytes(p) >= 128 && are_read_often(p) &&
                       !few_slots(p, model, row_bytes(p), 4);
    const bool narrow = are_narrow_and_long(config, row_bytes(p) / config[kVector]);
    const bool once = narrow || (long_rows && (!repeats || (few && !often)));
    if (narrow) config[kThreads] = 256;
    config[kUnroll] = often ? 2 : in_flight(p, config, model);
    config[kLoadOnce] = once ? 1 : 0;
    config[kStoreStream] = once || repeats ? 1 : 0;
    if (!often) choose_row_threads(p, model, config);
    return config;
  }

  static int variants(const Gather& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
    const Config first = preferred(p, target, model);
    out[0] = {kFormNames[first[kForm]], first};
    if (alignment(p, 0, first) <= element_bytes(p)) return 1;
    Config any = config_for(p, element_bytes(p) < 16 ? kRagged : kWhole, 16);
    if (any[kForm] == kRagged) choose_row_threads(p, model, any);
    out[1] = {kFormNames[any[kForm]], any};
    return 2;
  }

  static std::uint32_t alignment(const Gather& p, int, const Config& config) {
    const std::int64_t needed = config[kForm] == kRagged ? 1 : config[kVector];
    return static_cast<std::uint32_t>(std::max(needed, element_bytes(p)));
  }

  static void specialize(const Gather& p, const Target&, const Config& config, Spec& spec) {
    static constexpr const char* kFormParts[][2] = {{"rows/vectors.cuh", "rows/windows.cuh"},
                                                    {"gather/row_vectors.cuh", "gather/row_windows.cuh"}};
    spec.integer("params_bytes", sizeof(gather::Params));
    spec.integer("max_threads", common::kMaxThreads);
    spec.integer("vector", config[kVector]);
    spec.integer("unroll", config[kUnroll]);
    spec.flag("persistent", config[kPersistent] == 1);
    spec.flag("outer", p.outer != 1);
    spec.flag("short_rows", std::max(source_stride(p), out_stride(p)) * element_bytes(p) < std::int64_t{1} << 32);
    spec.integer("element_bytes", element_bytes(p));
    spec.flag("load_once", config[kLoadOnce] == 1);
    spec.flag("store_stream", config[kStoreStream] == 1);
    spec.type("Index", common::spec_type(p.index));
    spec.choice("gather::Mode", "mode", kModes[static_cast<int>(p.mode)]);
    if (p.scale != DType::none) {
      spec.header("common/numbers.cuh");
      spec.type("Element", common::spec_type(p.dtype));
      spec.type("Scale", common::spec_type(p.scale));
    }
    spec.part(p.scale != DType::none ? "gather/scale.cuh" : "gather/no_scale.cuh");
    if (is_by_row(config)) spec.integer("row_threads", config[kRowThreads]);
    spec.part(is_packed(p, config) ? "gather/packed.cuh" : kFormParts[is_by_row(config)][config[kForm]]);
    spec.part("gather/rows.cuh");
  }

  static void launch(const Gather& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
    const std::int64_t size = element_bytes(p);
    auto& params = launch.make_params<gather::Params>();
    params.source = a.source.data;
    params.index = a.index.data;
    params.scale = a.scale.data;
    params.out = a.out.data;
    params.report = static_cast<unsigned long long*>(a.report.data);
    params.rows = p.rows;
    params.count = p.count;
    params.by_count = common::make_divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, p.count)));
    params.source_stride = source_stride(p) * size;
    params.out_stride = out_stride(p) * size;
    params.row_bytes = row_bytes(p);
    if (is_packed(p, config))
      set_packed(p, a, params);
    else
      params.slots = make_slots(p, config);
    if (is_by_row(config))
      launch_rows(p, config, model, params, launch);
    else
      common::launch_slots(params.slots, config[kUnroll], config[kThreads], model, launch);
    common::limit_grid(config[kBlocksPerSm], model, launch);
  }

  static void launch_rows(const Gather& p, const Config& config, const DeviceModel& model, gather::Params& params,
                          Launch& launch) {
    params.out_rows = static_cast<std::uint64_t>(p.width == 0 ? 0 : all_rows(p));
    common::launch_slots(params.out_rows * static_cast<std::uint64_t>(config[kRowThreads]), 1, config[kThreads], model,
                         launch);
    params.slots.threads = launch.block[0];
  }

  static void set_packed(const Gather& p, const Args& a, gather::Params& params) {
    const auto lead = reinterpret_cast<std::uintptr_t>(a.out.data) % 16;
    const auto end = lead + static_cast<std::uint64_t>(all_rows(p) * params.row_bytes);
    params.end_of_last = static_cast<int>((end + 15) % 16 + 1);
    params.slots = packed_slots(p, all_rows(p) == 0 ? 0 : (end + 15) / 16);
    const std::byte* const source_end =
        rows::end_of_source(shape_of(p), a.source.data, p.rows == kOpen ? kOpen : p.outer * p.rows);
    params.source_end = source_end;
    const std::int64_t bytes = source_end == nullptr ? 0 : source_end - static_cast<const std::byte*>(a.source.data);
    params.inner_bytes = static_cast<unsigned long long>(std::max<std::int64_t>(0, bytes - params.row_bytes - 63));
  }

  static void reference(const Gather& p, const Args& a) { gather::reference(p, a); }

  static Tolerance tolerance(const Gather& p, int) { return {0, 0, p.scale == DType::none}; }

  static std::int64_t bytes(const Gather& p) {
    return 2 * all_rows(p) * row_bytes(p) + p.count * (quern::bytes(p.index) + quern::bytes(p.scale));
  }

  static bool generate(const Gather& p, int operand, std::uint64_t seed, void* data) {
    if (operand == kReport) return common::write_integer(i64, data, 0, -1), true;
    if (operand != kIndex) return false;
    gather::fill_indices(p, seed, data);
    return true;
  }
};

}  // namespace

const Family& Gather::family() {
  static const Family family = make_family<GatherFamily>();
  return family;
}

}  // namespace quern
