#include "moe_map/moe_map.h"

#include <algorithm>

#include "common/geometry.h"
#include "moe/choice_names.h"
#include "moe_map/geometry.h"
#include "moe_map/params.h"
#include "moe_map/rules.h"
#include "quern_embedded/moe_map.h"

namespace quern {
namespace {

using namespace moe_map;
using moe::kEmpty;
using moe::kMaps;
using moe::kTails;

constexpr DTypeSet kIndexTypes = only(DType::none) | only(u8) | only(i32) | only(i64);

// In the order of kParameters.
enum Parameters { kBlocks, kThreads, kRoutes, kVector };
constexpr std::int32_t kBlockCounts[] = {1, 8, 16, 32, 64, kMostBlocks, kNoMore};
constexpr std::int32_t kThreadCounts[] = {kLeastThreads, 256, 512, 1024, kNoMore};
constexpr std::int32_t kRouteCounts[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kVectors[] = {1, 2, 4, 8, 16, kNoMore};

Shape shape_of(const Config& c) { return {c[kThreads], c[kRoutes], c[kBlocks] == 1}; }

Layout map_layout(const MoeMap& p) { return Layout::matrix(index_of(p), map_height(p), map_width(p), map_width(p)); }
Layout expert_map_layout(const MoeMap& p) { return Layout::list(p.global > 0 ? i32 : DType::none, p.global); }
Layout counts_layout(const MoeMap& p) { return Layout::list(p.offset, p.experts); }
Layout offsets_layout(const MoeMap& p) { return Layout::list(p.offset, p.experts + 1); }
Layout sizes_layout(const MoeMap& p) { return Layout::list(has_counts(p) ? p.offset : DType::none, p.experts); }
Layout token_rows_layout(const MoeMap& p) { return Layout::matrix(i32, p.tokens, p.topk, p.topk); }
Layout token_experts_layout(const MoeMap& p) {
  return Layout::matrix(has_mask(p) ? i32 : DType::none, p.tokens, p.topk, p.topk);
}
Layout row_tokens_layout(const MoeMap& p) { return Layout::list(i32, capacity_of(p)); }
Layout pads_layout(const MoeMap& p) { return Layout::list(has_pads(p) ? i32 : DType::none, capacity_of(p)); }
Layout totals_layout(const MoeMap&) { return Layout::list(i32, 3); }
Layout row_id_map_layout(const MoeMap& p) {
  const std::int64_t width = 2 * p.experts + 1;
  return Layout::matrix(has_row_ids(p) ? i32 : DType::none, p.tokens, width, width);
}
Layout workspace_layout(const MoeMap& p) {
  if (has_counts(p)) return Layout::list(DType::none, 0);
  return Layout::list(i32, p.tokens == kOpen ? kOpen : table_words(p));
}

template <Layout (*F)(const MoeMap&)>
constexpr auto layout = &layout_of<MoeMap, F>;

bool threads_suffice(const MoeMap& p, const Target&, const Config& c) { return c[kThreads] >= p.experts; }

// Of a mask: a part of 16 experts is read in one or several accesses.
std::int64_t element_bytes(const MoeMap& p) { return quern::bytes(index_of(p)); }
std::int64_t natural_vector(const MoeMap& p) {
  return common::common_alignment({map_width(p) * element_bytes(p)}, p.map == MoeMapKind::bits ? 2 : 16);
}
bool is_mask(const MoeMap& p, const Config&) { return has_mask(p); }
bool keeps_routes(const MoeMap& p, const Config&) { return !has_counts(p); }
bool vector_fits(const MoeMap& p, const Target&, const Config& c) {
  return !has_mask(p) || (natural_vector(p) % c[kVector] == 0 && c[kVector] >= element_bytes(p));
}

// One thread block where the exchange of counts between several would take longer than their work saves: 32 tokens of 8
// routes take 2.6 us on an H200, in several blocks 3.2; 128 tokens 3.6 and 3.5.
constexpr std::int64_t kFewRoutes = 1024;
bool is_small(const MoeMap& p) { return p.tokens * p.topk < kFewRoutes; }

enum class Grid : std::uint8_t { one, many };

// Of counts: each block makes the table of them, in as many threads as write the rows of some thousand tokens.
constexpr std::int32_t kThreadsOfCounts = 256;

// Routes that a thread block keeps in registers, about. Some 32 blocks were fastest on an H200: with fewer, each counts
// for longer; with more, each reads more counts. A block of a mask has more to read for each route.
std::int64_t routes_of_block(const MoeMap& p) {
  constexpr std::int64_t kBlocks = 32, kLeast = 256, kMany = 1024, kMost = 4096;
  const std::int64_t routes = p.tokens == kOpen ? 2 * kBlocks * kMany : p.tokens * p.topk;
  if (routes > kBlocks * kMany)
    return has_mask(p) ? kMany : std::clamp<std::int64_t>(routes / kMostBlocks, kMany, kMost);
  return std::clamp<std::int64_t>(routes / kBlocks, kLeast, has_mask(p) ? kMany / 2 : kMany);
}

// With more than 512 experts a thread of 1024 has few registers, and few warps have routes.
constexpr std::int32_t kRoutesOfManyExperts = 2;

// A thread for each expert, at least.
std::int32_t thread_count(const MoeMap& p, std::int32_t wanted) {
  while (wanted < p.experts) wanted *= 2;
  return wanted;
}

// A block has as few threads as count so many routes in a few steps: fewer warps have fewer counters to add up.
std::int32_t threads_for(const MoeMap& p, std::int64_t routes) {
  const std::int64_t most = has_mask(p) ? 512 : 1024;  // routes of a block of 256 threads
  return thread_count(p, routes <= 256 ? 128 : routes <= most ? 256 : 512);
}

// Of the one block, which writes all rows: fewer threads are faster where there are few.
std::int64_t routes_of_one_block(const MoeMap& p) {
  const bool few = p.tokens != kOpen && p.tokens * p.topk <= 512 && capacity_of(p) <= 1024;
  return few ? 512 : kFewRoutes;
}

Config config_of_counts(const MoeMap& p) {
  Config config;
  config[kBlocks] = kMostBlocks;
  config[kThreads] = thread_count(p, kThreadsOfCounts);
  config[kRoutes] = 1;
  config[kVector] = 1;
  return config;
}

Config config_for(const MoeMap& p, Grid grid, std::int64_t vector) {
  const bool one = grid == Grid::one;
  const std::int64_t routes = one ? routes_of_one_block(p) : routes_of_block(p);
  Config config;
  config[kBlocks] = one ? 1 : kMostBlocks;
  config[kThreads] = one ? thread_count(p, static_cast<std::int32_t>(routes / 2)) : threads_for(p, routes);
  config[kRoutes] = p.experts > 512 ? kRoutesOfManyExperts
                                    : static_cast<std::int32_t>(std::clamp<std::int64_t>(
                                          common::power_of_two_from(routes) / config[kThreads], 1, 8));
  config[kVector] = static_cast<std::int32_t>(vector);
  return config;
}

struct MoeMapFamily {
  using Problem = MoeMap;
  using Args = MoeMapArgs;
  static constexpr const char* kName = "moe_map";
  static constexpr const char* kSentence = "rows for the tokens of each expert, from a routing of tokens to experts";

  static constexpr Field kFields[] = {
      extent_field("tokens", offsetof(MoeMap, tokens), true, "tokens"),
      extent_field("experts", offsetof(MoeMap, experts), false, "local experts, up to 1024"),
      extent_field("topk", offsetof(MoeMap, topk), false, "the most routes of a token; counts: 1"),
      choice_field("map", offsetof(MoeMap, map), kMaps, "form of the routing"),
      dtype_field("index", offsetof(MoeMap, index), kIndexTypes,
                  "element type of map; ids, counts: i32 or i64, mask: u8 or i32, bits: u8; none: the first one"),
      extent_field("global", offsetof(MoeMap, global), false,
                   "ids: experts on all devices, with expert_map; 0: ids are local"),
      extent_field("ranks", offsetof(MoeMap, ranks), false, "counts: ranks that the tokens come from"),
      integer_field("align", offsetof(MoeMap, align), 1, std::int64_t{1} << 30,
                    "the rows of an expert are a multiple of it"),
      choice_field("empty", offsetof(MoeMap, empty), kEmpty, "fill: an expert without routes has align rows"),
      extent_field("capacity", offsetof(MoeMap, capacity), false, "rows; 0: enough for any routing"),
      choice_field("tail", offsetof(MoeMap, tail), kTails, "list: unused rows after the last expert are in pads too"),
      dtype_field("offset", offsetof(MoeMap, offset), only(i32) | only(i64), "type of counts and offsets"),
      choice_field("row_id_map", offsetof(MoeMap, row_id_map), moe::kRowIdMaps, "write: TransformerEngine's map too"),
  };
  static constexpr Operand kOperands[] = {
      {"map", Role::input, offsetof(MoeMapArgs, map), true, layout<map_layout>,
       "[tokens, topk]; mask: [tokens, experts]; bits: [tokens, experts / 8]; counts: [ranks, experts]", "the routing"},
      {"expert_map", Role::input, offsetof(MoeMapArgs, expert_map), false, layout<expert_map_layout>, "[global]",
       "global > 0: local expert of each global id, or -1"},
      {"counts", Role::output, offsetof(MoeMapArgs, counts), false, layout<counts_layout>, "[experts]",
       "routes of each expert"},
      {"offsets", Role::output, offsetof(MoeMapArgs, offsets), false, layout<offsets_layout>, "[experts + 1]",
       "the first row of each expert"},
      {"sizes", Role::output, offsetof(MoeMapArgs, sizes), false, layout<sizes_layout>, "[experts]",
       "counts: rows of each expert, padding among them"},
      {"token_rows", Role::output, offsetof(MoeMapArgs, token_rows), false, layout<token_rows_layout>, "[tokens, topk]",
       "the row of each route, or -1"},
      {"token_experts", Role::output, offsetof(MoeMapArgs, token_experts), false, layout<token_experts_layout>,
       "[tokens, topk]", "mask and bits: the expert of each route, or -1"},
      {"row_tokens", Role::output, offsetof(MoeMapArgs, row_tokens), false, layout<row_tokens_layout>, "[capacity]",
       "the token of each row, or -1"},
      {"pads", Role::output, offsetof(MoeMapArgs, pads), false, layout<pads_layout>, "[capacity]",
       "padding rows, then -1"},
      {"totals", Role::output, offsetof(MoeMapArgs, totals), false, layout<totals_layout>, "[3]",
       "rows, padding rows, dropped routes"},
      {"row_id_map", Role::output, offsetof(MoeMapArgs, row_id_map), false, layout<row_id_map_layout>,
       "[tokens, 2 * experts + 1]", "row_id_map=write: TransformerEngine's"},
      {"workspace", Role::workspace, offsetof(MoeMapArgs, workspace), false, layout<workspace_layout>,
       "[blocks * (experts, to a multiple of 32, + 1) + 1]",
       "other than counts: scratch memory, zeros before the first launch"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"tokens", offsetof(MoeMapArgs, tokens), nullptr}};
  static constexpr Parameter kParameters[] = {
      {"blocks", kBlockCounts, true, "thread blocks, at most"},
      {"threads", kThreadCounts, true, "threads per block"},
      {"routes", kRouteCounts, true, "routes that a thread keeps in registers; fewer of them need more blocks",
       &applies_to<MoeMap, keeps_routes>, 1},
      {"vector", kVectors, true, "mask and bits: bytes per access of map", &applies_to<MoeMap, is_mask>, 1},
  };
  static constexpr Constraint kConstraints[] = {
      {"a thread block must have a thread for each expert", &holds_for<MoeMap, threads_suffice>},
      {"the vector must divide the bytes of a token, and hold whole elements; of bits, at most 2 bytes",
       &holds_for<MoeMap, vector_fits>},
  };
  static constexpr const char* kBenchCases[] = {
      "moe_map tokens=4096 experts=256 topk=8 map=mask",
      "moe_map tokens=16384 experts=128 topk=6 map=mask",
      "moe_map tokens=4096 experts=256 topk=8 align=128",
      "moe_map tokens=16384 experts=128 topk=6 align=128",
      "moe_map tokens=4096 experts=256 topk=8 map=mask row_id_map=write",
      "moe_map tokens=16384 experts=128 topk=6 map=mask row_id_map=write",
      "moe_map tokens=32 experts=128 topk=8",
      "moe_map tokens=512 experts=128 topk=8",
      "moe_map tokens=65536 experts=8 ranks=16 topk=1 map=counts align=128 empty=fill",
  };
  // Routings of models, of a decoding step and of a prompt.
  static constexpr const char* kDraws[] = {
      "tokens=1..65536",
      "experts=2..512",
      "topk=1..16",
      "map=ids | map=ids index=i64 | map=mask | map=bits",
      "align=1 | align=16 | align=128",
  };

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::moe_map_sources(); }
  static std::string check(const MoeMap& p) { return check_map(p); }

  // With tokens open, each form for one block and for many. The last ones take masks at any address.
  static int variants(const MoeMap& p, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    if (has_counts(p)) return out[0] = {"counts", config_of_counts(p), nullptr}, 1;
    int count = 0;
    const auto add = [&](std::int64_t vector, const char* one, const char* many) {
      const bool open = p.tokens == kOpen;
      if (open || is_small(p))
        out[count++] = {one, config_for(p, Grid::one, vector), open ? &is_so<MoeMap, is_small> : nullptr};
      if (open || !is_small(p)) out[count++] = {many, config_for(p, Grid::many, vector), nullptr};
    };
    const std::int64_t vector = has_mask(p) ? natural_vector(p) : 1, element = has_mask(p) ? element_bytes(p) : 1;
    add(vector, "one", "many");
    if (vector != element) add(element, "one_element", "many_element");
    return count;
  }

  static std::uint32_t alignment(const MoeMap&, int operand, const Config& config) {
    return operand == 0 ? static_cast<std::uint32_t>(config[kVector]) : 1;
  }

  static void specialize(const MoeMap& p, const Target&, const Config& config, Spec& spec) {
    spec.integer("params_bytes", sizeof(Params));
    spec.integer("max_threads", config[kThreads]);
    spec.integer("warp_experts", warp_experts(p, shape_of(config)));
    spec.flag("one_block", config[kBlocks] == 1);
    spec.flag("fill_empty", p.empty == MoeEmpty::fill);
    spec.flag("pads", has_pads(p));
    spec.flag("list_tail", p.tail == MoeTail::list);
    spec.flag("row_id_map", has_row_ids(p));
    spec.flag("sizes", has_counts(p));
    spec.type("Index", common::spec_type(index_of(p)));
    spec.type("Offset", common::spec_type(p.offset));
    if (has_counts(p)) return spec.part("moe_map/counts.cuh");
    specialize_routes(p, config, spec);
  }

  static void specialize_routes(const MoeMap& p, const Config& config, Spec& spec) {
    spec.integer("routes", config[kRoutes]);
    spec.integer("counters", counters_of(p, shape_of(config)));
    spec.integer("stride", stride_of(p, shape_of(config)));
    spec.integer("table_stride", table_stride(p));
    spec.flag("bits", p.map == MoeMapKind::bits);
    spec.flag("expert_map", p.global > 0);
    if (has_mask(p)) {
      spec.integer("vector", config[kVector]);
      spec.integer("lanes", std::min<std::int64_t>(32, pieces_of(p)));
      spec.integer("groups", std::max<std::int64_t>(32, pieces_of(p)) / 32);
    }
    spec.part(has_mask(p) ? "moe_map/mask.cuh" : "moe_map/ids.cuh");
    spec.part("moe_map/tokens.cuh");
  }

  static void launch(const MoeMap& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
    auto& params = launch.make_params<Params>();
    set_operands(a, params);
    const Shape shape = shape_of(config);
    const std::int64_t most = std::min<std::int64_t>(config[kBlocks], model.multiprocessors);
    const Blocks blocks = blocks_of(p, shape, std::min(most, most_blocks(p)));
    const Warps warps = warps_of(p, shape, config[kBlocks]);
    const Shared shared = shared_of(p, shape);
    params.tokens = p.tokens;
    params.block_tokens = static_cast<unsigned>(blocks.tokens);
    params.experts = static_cast<unsigned>(p.experts);
    params.valid = static_cast<unsigned>(p.global > 0 ? p.global : p.experts);
    params.batch = static_cast<unsigned>(std::max<std::int64_t>(1, shape.step() / p.topk) * p.topk);
    params.list = static_cast<unsigned>(shared.list);
    params.staged = shared.staged ? 1 : 0;
    params.topk = static_cast<unsigned>(p.topk);
    params.align = static_cast<unsigned>(p.align);
    params.capacity = static_cast<unsigned>(capacity_of(p));
    params.ranks = static_cast<unsigned>(p.ranks);
    params.runs = static_cast<unsigned>(p.ranks * p.experts);
    params.warp_tokens = static_cast<unsigned>(warps.tokens);
    params.places = shared.places;
    params.by_align = common::make_divisor32(static_cast<std::uint64_t>(p.align));
    params.by_topk = common::make_divisor32(static_cast<std::uint64_t>(p.topk));
    launch.block[0] = static_cast<std::uint32_t>(config[kThreads]);
    launch.grid[0] = static_cast<std::uint32_t>(has_counts(p) ? warps.blocks : blocks.count);
    launch.shared_bytes = static_cast<std::uint32_t>(shared.words) * 4;
    launch.cooperative = config[kBlocks] > 1 && !has_counts(p);
  }

  static void set_operands(const Args& a, Params& params) {
    params.map = a.map.data;
    params.expert_map = static_cast<const int*>(a.expert_map.data);
    params.counts = a.counts.data;
    params.offsets = a.offsets.data;
    params.sizes = a.sizes.data;
    params.token_rows = static_cast<int*>(a.token_rows.data);
    params.token_experts = static_cast<int*>(a.token_experts.data);
    params.row_tokens = static_cast<int*>(a.row_tokens.data);
    params.pads = static_cast<int*>(a.pads.data);
    params.totals = static_cast<int*>(a.totals.data);
    params.row_id_map = static_cast<int*>(a.row_id_map.data);
    params.table = static_cast<int*>(a.workspace.data);
  }

  static void reference(const MoeMap& p, const Args& a) { write_map(p, a); }
  static Tolerance tolerance(const MoeMap&, int) { return {0, 0, true}; }

  static std::int64_t bytes(const MoeMap& p) {
    const std::int64_t map = map_height(p) * map_width(p) * quern::bytes(index_of(p)) + p.global * 4;
    const std::int64_t routes = p.tokens * p.topk * (has_mask(p) ? 2 : 1);
    const std::int64_t rows = 4 * (routes + capacity_of(p) * (has_pads(p) ? 2 : 1));
    const std::int64_t row_ids = has_row_ids(p) ? p.tokens * (2 * p.experts + 1) * 4 : 0;
    const std::int64_t offsets = ((has_counts(p) ? 3 : 2) * p.experts + 1) * quern::bytes(p.offset);
    return map + rows + row_ids + offsets + 12;
  }

  static bool generate(const MoeMap& p, int operand, std::uint64_t seed, void* data) {
    return generate_map(p, kOperands[operand].name, seed, data);
  }
};

}  // namespace

const Family& MoeMap::family() {
  static const Family family = make_family<MoeMapFamily>();
  return family;
}

}  // namespace quern
