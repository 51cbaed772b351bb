#include "concat/concat.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "common/geometry.h"
#include "common/host_types.h"
#include "concat/params.h"
#include "concat/problem.h"
#include "concat/shape.h"
#include "quern_embedded/concat.h"

namespace quern {
namespace {

using namespace concat;

constexpr const char* kLayouts[] = {QUERN_CONCAT_LAYOUTS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kModes[] = {QUERN_CONCAT_MODES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kPasses[] = {QUERN_CONCAT_PASSES(QUERN_CHOICE_NAME) nullptr};

// In the order of kOperands.
enum OperandNumber { kSources, kIndex, kOut, kSource, kOuts };
// In the order of kParameters.
enum Parameters { kForm, kVector, kUnroll, kThreads, kLoadOnce, kStoreStream };
enum Forms { kWhole, kRagged };
constexpr std::int32_t kForms[] = {kWhole, kRagged, kNoMore};
constexpr std::int32_t kVectors[] = {1, 2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, 16, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};

constexpr std::int64_t kSharedBytes = std::int64_t{48} * 1024;  // without asking the driver

using common::widest_access;
Cut cut_of(const Config& c) { return {c[kVector], c[kUnroll], c[kThreads]}; }

bool vector_divides(const Concat& p, const Target&, const Config& c) { return natural_vector(p, 32) % c[kVector] == 0; }
bool vector_exists(const Concat&, const Target& t, const Config& c) { return c[kVector] <= widest_access(t); }
bool vector_holds_elements(const Concat& p, const Target&, const Config& c) { return c[kVector] >= element_bytes(p); }
bool ragged_is_narrow(const Concat&, const Target&, const Config& c) { return c[kForm] == kWhole || c[kVector] <= 8; }
bool registers_suffice(const Concat&, const Target&, const Config& c) { return c[kVector] * c[kUnroll] <= 128; }
bool tile_fits(const Concat& p, const Target&, const Config& c) {
  return c[kForm] == kWhole || shared_bytes(p, cut_of(c)) <= kSharedBytes;
}

Layout piece_layout(const Concat& p, int i, std::int64_t rows) {
  return Layout::matrix(p.dtype, rows, p.widths[i], stride_of(p, i));
}
// Of sources, and of outs.
Layout entry_layout(const Concat& p, int i) {
  return piece_layout(p, i, is_indexed(p) ? p.source_rows[i] : rows_of(p, i));
}
bool takes_all_rows(const Concat& p) { return !is_indexed(p); }
Layout index_layout(const Concat& p, int i) { return Layout::list(p.index, rows_of(p, i)); }
Layout matrix_layout(const Concat& p, bool present) {
  const DType dtype = present ? p.dtype : DType::none;
  if (!is_flat(p)) return Layout::matrix(dtype, p.rows, all_widths(p), matrix_stride(p));
  const bool open = p.counts.count == 0 && p.rows == kOpen;
  return Layout::list(dtype, open ? kOpen : flat_elements(p, sources(p)));
}
Layout out_layout(const Concat& p) { return matrix_layout(p, !splits(p)); }
Layout source_layout(const Concat& p) { return matrix_layout(p, splits(p)); }

int source_count(const void* p) {
  const auto& concat = *static_cast<const Concat*>(p);
  return splits(concat) ? 0 : sources(concat);
}
int out_count(const void* p) {
  const auto& concat = *static_cast<const Concat*>(p);
  return splits(concat) ? sources(concat) : 0;
}
int index_count(const void* p) {
  const auto& concat = *static_cast<const Concat*>(p);
  return is_indexed(concat) ? sources(concat) : 0;
}
bool needs_rows(const Concat& p) { return !is_flat(p) || p.counts.count == 0; }

template <bool (*F)(const Concat&, const Target&, const Config&)>
constexpr auto holds = &holds_for<Concat, F>;

// ---- The parameters of a launch

unsigned long long address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// Fills the tables; returns the number of tiles.
template <class Params>
std::int64_t fill(const Concat& p, const ConcatArgs& a, const Cut& cut, Params& params) {
  constexpr bool kIndexed = std::extent_v<decltype(params.picks)> != 1;
  constexpr bool kFlat = std::extent_v<decltype(params.blocks)> != 1;
  const std::int64_t size = element_bytes(p);
  const auto matrix = address(splits(p) ? a.source.data : a.out.data);
  params.matrix_stride = matrix_stride(p) * size;
  params.blocks[0] = block_of(p, 0, cut);
  params.blocks[0].matrix = matrix;
  std::int64_t tiles = is_flat(p) ? 0 : tiles_of(params.blocks[0], cut), elements = 0, before = 0;
  std::fill(std::begin(params.first), std::end(params.first), std::numeric_limits<unsigned>::max());
  for (int i = 0; i < sources(p); ++i) {
    Source& source = params.sources[i];
    source.at = address(splits(p) ? a.outs.entries[i].data : a.sources.entries[i].data);
    source.stride = stride_of(p, i) * size;
    params.first[i] = static_cast<unsigned>(before);
    if constexpr (kIndexed) params.picks[i] = {a.index.entries[i].data, p.source_rows[i]};
    if constexpr (kFlat) {
      Block& block = params.blocks[i];
      block = block_of(p, i, cut);
      block.matrix = matrix + static_cast<unsigned long long>(elements * size);
      if (is_run(p, i)) source.stride = static_cast<std::int64_t>(block.columns) * cut.vector;
      elements += rows_of(p, i) * p.widths[i];
      before = tiles += tiles_of(block, cut);
    } else {
      source.at -= static_cast<unsigned long long>(before * cut.vector);
      before += p.widths[i] * size / cut.vector;
    }
  }
  return tiles;
}

// Calls f with the parameter struct of a problem.
template <class F>
auto with_params(const Concat& p, F f) {
  const auto with_most = [&](auto most) {
    constexpr int kMost = decltype(most)::value;
    if (is_flat(p)) return is_indexed(p) ? f(ParamsOf<kMost, true, true>{}) : f(ParamsOf<kMost, true, false>{});
    return is_indexed(p) ? f(ParamsOf<kMost, false, true>{}) : f(ParamsOf<kMost, false, false>{});
  };
  if (sources(p) <= 8) return with_most(std::integral_constant<int, 8>());
  if (sources(p) <= 32) return with_most(std::integral_constant<int, 32>());
  return with_most(std::integral_constant<int, 64>());
}

// Fewer threads where a small problem would leave multiprocessors idle: two blocks for each are enough.
Cut cut_for(const Concat& p, const DeviceModel& model, const Config& config) {
  Cut cut = cut_of(config);
  const std::int64_t slots = all_slots(p, cut.vector);
  while (cut.threads > 32 && slots < std::int64_t{2} * model.multiprocessors * cut.threads * cut.unroll)
    cut.threads /= 2;
  return cut;
}

struct ConcatFamily {
  using Problem = Concat;
  using Args = ConcatArgs;
  static constexpr const char* kName = "concat";
  static constexpr const char* kSentence = "matrices side by side, or picked rows one after the other, and the inverse";

  static constexpr Field kFields[] = {
      choice_field("layout", offsetof(Concat, layout), kLayouts,
                   "columns: side by side; flat: the rows of a source after those of the one before it"),
      extent_field("rows", offsetof(Concat, rows), true, "rows of out; flat: of each source, unless there are counts"),
      list_field("widths", offsetof(Concat, widths), Concat{}.widths, 0, kMaxExtent,
                 "elements in a row of each source"),
      dtype_field("dtype", offsetof(Concat, dtype), kAnyElement, "element type"),
      list_field("strides", offsetof(Concat, strides), Concat{}.strides, 0, kMaxExtent,
                 "elements between the rows of each source; none, or 0: its width"),
      integer_field("out_stride", offsetof(Concat, out_stride), 0, kMaxExtent,
                    "columns: elements between rows of out; 0: all widths"),
      list_field("counts", offsetof(Concat, counts), Concat{}.counts, 0, kMaxExtent,
                 "flat: rows that each source gives; none: `rows` each"),
      dtype_field("index", offsetof(Concat, index), only(DType::none) | only(i64) | only(i32),
                  "type of the indices that pick rows of each source; none: all rows in their order"),
      list_field("source_rows", offsetof(Concat, source_rows), Concat{}.source_rows, 0, kMaxExtent,
                 "with an index: rows of each source"),
      choice_field("mode", offsetof(Concat, mode), kModes, "meaning of an index outside of its source"),
      choice_field("pass", offsetof(Concat, pass), kPasses, "backward: source is split to outs"),
  };
  static constexpr Operand kOperands[] = {
      {"sources", Role::input, offsetof(ConcatArgs, sources), true, &layout_of<Concat, entry_layout>,
       "[rows, widths[i]]; with an index [source_rows[i], widths[i]]", "forward: what is put together", &source_count},
      {"index", Role::input, offsetof(ConcatArgs, index), false, &layout_of<Concat, index_layout>, "[rows]",
       "the row of each source to pick", &index_count},
      {"out", Role::output, offsetof(ConcatArgs, out), true, &layout_of<Concat, out_layout>,
       "[rows, all widths]; flat: [all elements]", "forward: all of them"},
      {"source", Role::input, offsetof(ConcatArgs, source), true, &layout_of<Concat, source_layout>,
       "[rows, all widths]; flat: [all elements]", "backward: what is split"},
      {"outs", Role::update, offsetof(ConcatArgs, outs), true, &layout_of<Concat, entry_layout>,
       "[rows, widths[i]]; with an index [source_rows[i], widths[i]]",
       "backward: its parts; rows that no index names stay as they are", &out_count, &is_so<Concat, takes_all_rows>},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"rows", offsetof(ConcatArgs, rows), &is_so<Concat, needs_rows>}};
  static constexpr Parameter kParameters[] = {
      {"form", kForms, true, "0: whole vectors; 1: ragged, through shared memory, with 16-byte accesses of the matrix"},
      {"vector", kVectors, true, "bytes per access; of the sources in the ragged form"},
      {"unroll", kUnrolls, true, "rows in flight per thread"},
      {"threads", kThreadCounts, false, "threads per block; fewer where a problem is small"},
      {"load_once", kSwitch, true, "1: loads are evict-first"},
      {"store_stream", kSwitch, true, "1: stores are evict-first"},
  };
  static constexpr Constraint kConstraints[] = {
      {"the vector must divide all widths and strides", holds<vector_divides>},
      {"32-byte accesses exist on sm_100 and sm_103 only", holds<vector_exists>},
      {"a vector must hold whole elements", holds<vector_holds_elements>},
      {"the ragged form takes vectors up to 8 bytes", holds<ragged_is_narrow>},
      {"vector times unroll must fit the registers: 128 bytes", holds<registers_suffice>},
      {"a tile of the ragged form must fit 48 KiB of shared memory", holds<tile_fits>},
  };
  // A DLRM's dense part and 26 embeddings of 16 numbers, at the batch sizes of serving and of training; regrouped
  // embeddings; odd widths; heads of a projection; picked rows; and their inverses.
#define QUERN_DLRM_WIDTHS \
  " widths=16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16 dtype=f32"
  static constexpr const char* kBenchCases[] = {
      "concat rows=128" QUERN_DLRM_WIDTHS,
      "concat rows=2048" QUERN_DLRM_WIDTHS,
      "concat rows=65536" QUERN_DLRM_WIDTHS,
      "concat rows=65536" QUERN_DLRM_WIDTHS " pass=backward",
      "concat rows=65536 widths=64,128,64,32,256,128,64,64",
      "concat rows=262144 widths=13,64,1,33",
      "concat rows=262144 widths=13,64,1,33 pass=backward",
      "concat rows=65536 widths=333,100 dtype=f32",
      "concat rows=16384 widths=4096,1024,1024",
      "concat rows=16384 widths=4095,1025,1024",
      "concat rows=16384 widths=4096,1024,1024 pass=backward",
      "concat layout=flat rows=16384 widths=4096,4096",
      "concat layout=flat rows=8191 widths=4095,1025",
      "concat layout=flat rows=16384 widths=1536,4608 index=i64 source_rows=32768,16384",
      "concat layout=flat rows=16384 widths=1536,4608 index=i64 source_rows=32768,16384 pass=backward",
      "concat rows=65536 widths=64,64,64,64 index=i32 source_rows=100000,1000,100,1000000",
  };
#undef QUERN_DLRM_WIDTHS
  // Features of recommenders, and parts of hidden states.
  static constexpr const char* kDraws[] = {
      "rows=16..262144",
      "widths=16,16,16,16,16,16,16,16,16,16,16,16,16,16 | widths=64,128,32,64 | widths=1,64,13,33,7 | widths=128,64 | "
      "widths=2048,1024,1024 | widths=1000,24,0,511 | widths=5,4091 | "
      "widths=64,16,33 index=i64 source_rows=100000,100,5000 mode=zero",
      "dtype=bf16 | dtype=f32 | dtype=u8",
      "layout=columns | layout=columns | layout=columns pass=backward | layout=flat | layout=flat pass=backward",
  };

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::concat_sources(); }
  static std::string check(const Concat& p) { return concat::check(p); }

  // Long pieces are read and written once from memory; of short ones neighbours share sectors.
  static bool has_long_pieces(const Concat& p) {
    for (int i = 0; i < concat::sources(p); ++i) {
      if (p.widths[i] != 0 && p.widths[i] * element_bytes(p) < 256) return false;
    }
    return true;
  }

  // Twice as many blocks as multiprocessors, where the rows are known.
  static std::int32_t in_flight(const Concat& p, const DeviceModel& model, const Cut& cut) {
    if (needs_rows(p) && p.rows == kOpen) return static_cast<std::int32_t>(cut.unroll);
    std::int64_t unroll = cut.unroll;
    while (unroll > 1 && all_slots(p, cut.vector) < std::int64_t{2} * model.multiprocessors * cut.threads * unroll)
      unroll /= 2;
    return static_cast<std::int32_t>(unroll);
  }

  // 64 bytes of a thread in flight, but at most 16 slots. Narrow slots are in the ragged form, if its tile fits and the
  // problem is not so small that a thread has one slot anyway.
  static Config config_for(const Concat& p, std::int64_t vector, const DeviceModel& model) {
    Config config;
    config[kForm] = vector < 8 ? kRagged : kWhole;
    config[kVector] = static_cast<std::int32_t>(vector);
    config[kThreads] = splits(p) && vector < 8 ? 128 : 256;
    config[kUnroll] = static_cast<std::int32_t>(std::clamp<std::int64_t>(64 / vector, 2, 16));
    if (!tile_fits(p, {}, config)) config[kForm] = kWhole, config[kUnroll] = 8;
    config[kUnroll] = in_flight(p, model, cut_of(config));
    if (config[kUnroll] == 1) config[kForm] = kWhole;
    const bool once = vector >= 8 && has_long_pieces(p);
    config[kLoadOnce] = once && (!is_indexed(p) || splits(p)) ? 1 : 0;
    config[kStoreStream] = once ? 1 : 0;
    return config;
  }

  static int variants(const Concat& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
    const std::int64_t natural = std::max(natural_vector(p, widest_access(target)), element_bytes(p));
    out[0].config = config_for(p, natural, model);
    out[0].name = out[0].config[kForm] == kRagged ? "ragged" : "vector";
    // Addresses that are not aligned to the widest vector take the widest that divides them all.
    static constexpr const char* kNarrower[] = {"half", "quarter"};
    int count = 1;
    for (std::int64_t vector = natural / 2; count <= 2 && vector > element_bytes(p); vector /= 2, ++count)
      out[count] = {kNarrower[count - 1], config_for(p, vector, model)};
    if (natural > element_bytes(p)) out[count++] = {"element", config_for(p, element_bytes(p), model)};
    return count;
  }

  static std::uint32_t alignment(const Concat&, int, const Config& config) {
    return static_cast<std::uint32_t>(config[kVector]);
  }

  static void specialize(const Concat& p, const Target&, const Config& config, Spec& spec) {
    with_params(p, [&](const auto& params) {
      spec.integer("params_bytes", sizeof(params));
      spec.integer("most", std::extent_v<decltype(params.first)>);
    });
    spec.integer("max_threads", common::kMaxThreads);
    spec.integer("vector", config[kVector]);
    spec.integer("unroll", config[kUnroll]);
    spec.flag("load_once", config[kLoadOnce] == 1);
    spec.flag("store_stream", config[kStoreStream] == 1);
    spec.flag("flat", is_flat(p));
    spec.flag("splits", splits(p));
    spec.flag("indexed", is_indexed(p));
    spec.type("Index", common::spec_type(is_indexed(p) ? p.index : i64));
    spec.flag("zeros", p.mode != ConcatMode::assume_valid);
    spec.flag("checked", p.mode == ConcatMode::zero);
    spec.part(config[kForm] == kRagged ? "concat/staged.cuh" : "concat/direct.cuh");
  }

  static void launch(const Concat& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
    launch.empty = all_slots(p, config[kVector]) == 0;
    if (launch.empty) return;
    const Cut cut = cut_for(p, model, config);
    std::int64_t tiles = 0;
    with_params(p, [&](auto params) {
      tiles = fill(p, a, cut, params);
      launch.set_params(params);
    });
    launch.block[0] = static_cast<std::uint32_t>(cut.threads);
    launch.grid[0] =
        static_cast<std::uint32_t>(std::min<std::int64_t>(tiles, std::numeric_limits<std::uint32_t>::max()));
    if (config[kForm] == kRagged) launch.shared_bytes = static_cast<std::uint32_t>(shared_bytes(p, cut));
  }

  static void reference(const Concat& p, const Args& a) { concat::reference(p, a); }
  static Tolerance tolerance(const Concat&, int) { return {0, 0, true}; }
  static std::int64_t bytes(const Concat& p) {
    std::int64_t picks = 0;
    for (int i = 0; i < index_count(&p); ++i) picks += rows_of(p, i) * quern::bytes(p.index);
    return 2 * all_slots(p, 1) + picks;
  }
  static bool generate(const Concat& p, int operand, int entry, std::uint64_t seed, void* data) {
    if (operand != kIndex) return false;
    generate_index(p, entry, seed, data);
    return true;
  }
};

}  // namespace

const Family& Concat::family() {
  static const Family family = make_family<ConcatFamily>();
  return family;
}

}  // namespace quern
