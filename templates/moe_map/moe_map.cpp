#include "moe_map/moe_map.h"

#include <algorithm>

#include "common/geometry.h"
#include "moe/choice_names.h"
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
enum Parameters { kBlocks, kThreads };
enum Blocks { kMany, kOne };
constexpr std::int32_t kBlockCounts[] = {kMany, kOne, kNoMore};
constexpr std::int32_t kThreadCounts[] = {128, 256, 512, 1024, kNoMore};

// Each block reads the counts of all: 64 KB for 256 experts.
constexpr std::int64_t kMostBlocks = 64;
constexpr std::int64_t kFewRoutes = 4096;

// Of each of at most `blocks` thread blocks, a multiple of 32.
std::int64_t block_tokens(const MoeMap& p, std::int64_t blocks) {
  return std::max<std::int64_t>(1, (p.tokens + 32 * blocks - 1) / (32 * blocks)) * 32;
}
// All of them run at once, so a device has at most one for each multiprocessor.
std::int64_t blocks_of(const MoeMap& p, std::int64_t most) {
  return std::max<std::int64_t>(1, (p.tokens + block_tokens(p, most) - 1) / block_tokens(p, most));
}

Layout map_layout(const MoeMap& p) { return Layout::matrix(index_of(p), p.tokens, map_width(p), map_width(p)); }
Layout expert_map_layout(const MoeMap& p) { return Layout::list(p.global > 0 ? i32 : DType::none, p.global); }
Layout counts_layout(const MoeMap& p) { return Layout::list(p.offset, p.experts); }
Layout offsets_layout(const MoeMap& p) { return Layout::list(p.offset, p.experts + 1); }
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
  return Layout::list(i32, p.tokens == kOpen ? kOpen : blocks_of(p, kMostBlocks) * (p.experts + 1) + 1);
}

template <Layout (*F)(const MoeMap&)>
constexpr auto layout = &layout_of<MoeMap, F>;

bool threads_suffice(const MoeMap& p, const Target&, const Config& c) { return c[kThreads] >= p.experts; }
bool is_small(const MoeMap& p) { return p.tokens * p.topk <= kFewRoutes; }

struct MoeMapFamily {
  using Problem = MoeMap;
  using Args = MoeMapArgs;
  static constexpr const char* kName = "moe_map";
  static constexpr const char* kSentence = "rows for the tokens of each expert, from a routing of tokens to experts";

  static constexpr Field kFields[] = {
      extent_field("tokens", offsetof(MoeMap, tokens), true, "tokens"),
      extent_field("experts", offsetof(MoeMap, experts), false, "local experts, up to 1024"),
      extent_field("topk", offsetof(MoeMap, topk), false, "the most routes of a token"),
      choice_field("map", offsetof(MoeMap, map), kMaps, "form of the routing"),
      dtype_field("index", offsetof(MoeMap, index), kIndexTypes,
                  "element type of map; ids: i32 or i64, mask: u8 or i32, bits: u8; none: the first one"),
      extent_field("global", offsetof(MoeMap, global), false,
                   "ids: experts on all devices, with expert_map; 0: ids are local"),
      integer_field("align", offsetof(MoeMap, align), 1, std::int64_t{1} << 30,
                    "the rows of an expert are a multiple of it"),
      choice_field("empty", offsetof(MoeMap, empty), kEmpty, "fill: an expert without routes has align rows"),
      extent_field("capacity", offsetof(MoeMap, capacity), false, "rows; 0: enough for any routing"),
      choice_field("tail", offsetof(MoeMap, tail), kTails, "list: unused rows after the last expert are in pads too"),
      dtype_field("offset", offsetof(MoeMap, offset), only(i32) | only(i64), "type of counts and offsets"),
      choice_field("row_id_map", offsetof(MoeMap, row_id_map), moe::kRowIdMaps, "write: TransformerEngine's map too"),
  };
  static constexpr Operand kOperands[] = {
      {"map", Role::input, offsetof(MoeMapArgs, map), false, layout<map_layout>,
       "[tokens, topk]; mask: [tokens, experts]; bits: [tokens, experts / 8]", "the routing"},
      {"expert_map", Role::input, offsetof(MoeMapArgs, expert_map), false, layout<expert_map_layout>, "[global]",
       "global > 0: local expert of each global id, or -1"},
      {"counts", Role::output, offsetof(MoeMapArgs, counts), false, layout<counts_layout>, "[experts]",
       "routes of each expert"},
      {"offsets", Role::output, offsetof(MoeMapArgs, offsets), false, layout<offsets_layout>, "[experts + 1]",
       "the first row of each expert"},
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
       "[blocks * (experts + 1) + 1]", "scratch memory, zeros before the first launch"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"tokens", offsetof(MoeMapArgs, tokens), nullptr}};
  static constexpr Parameter kParameters[] = {
      {"blocks", kBlockCounts, true, "0: up to 64 thread blocks; 1: one"},
      {"threads", kThreadCounts, true, "threads per block"},
  };
  static constexpr Constraint kConstraints[] = {
      {"a thread block must have a thread for each expert", &holds_for<MoeMap, threads_suffice>},
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

  static Config config_for(const MoeMap& p, Blocks blocks) {
    Config config;
    config[kBlocks] = blocks;
    config[kThreads] = blocks == kOne ? 1024 : 512;
    while (config[kThreads] < p.experts) config[kThreads] *= 2;
    return config;
  }

  // One thread block where the exchange of counts between several would take longer than their work saves.
  static int variants(const MoeMap& p, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    out[0] = {"one", config_for(p, kOne), &is_so<MoeMap, is_small>};
    out[1] = {"many", config_for(p, kMany)};
    if (p.tokens == kOpen) return 2;
    if (!is_small(p)) out[0] = out[1];
    out[0].fits = nullptr;
    return 1;
  }

  static std::uint32_t alignment(const MoeMap&, int, const Config&) { return 1; }

  static void specialize(const MoeMap& p, const Target&, const Config& config, Spec& spec) {
    spec.integer("params_bytes", sizeof(Params));
    spec.integer("max_threads", config[kThreads]);
    spec.flag("one_block", config[kBlocks] == kOne);
    spec.flag("bits", p.map == MoeMapKind::bits);
    spec.flag("expert_map", p.global > 0);
    spec.flag("fill_empty", p.empty == MoeEmpty::fill);
    spec.flag("pads", has_pads(p));
    spec.flag("list_tail", p.tail == MoeTail::list);
    spec.flag("row_id_map", has_row_ids(p));
    spec.type("Index", common::spec_type(index_of(p)));
    spec.type("Offset", common::spec_type(p.offset));
    spec.part(has_mask(p) ? "moe_map/mask.cuh" : "moe_map/ids.cuh");
  }

  static void launch(const MoeMap& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
    Params params{};
    set_operands(a, params);
    const std::int64_t most = config[kBlocks] == kOne ? 1 : std::min<std::int64_t>(kMostBlocks, model.multiprocessors);
    const std::int64_t blocks = blocks_of(p, most);
    params.tokens = p.tokens;
    params.block_tokens = static_cast<unsigned>(block_tokens(p, most));
    params.experts = static_cast<unsigned>(p.experts);
    params.valid = static_cast<unsigned>(p.global > 0 ? p.global : p.experts);
    params.counters = static_cast<unsigned>(counters_of(p, config));
    params.topk = static_cast<unsigned>(p.topk);
    params.align = static_cast<unsigned>(p.align);
    params.capacity = static_cast<unsigned>(capacity_of(p));
    params.by_align = common::make_divisor(static_cast<std::uint64_t>(p.align));
    params.by_topk = common::make_divisor(static_cast<std::uint64_t>(p.topk));
    launch.set_params(params);
    launch.block[0] = static_cast<std::uint32_t>(config[kThreads]);
    launch.grid[0] = static_cast<std::uint32_t>(blocks);
    launch.shared_bytes = shared_words(p, config) * 4;
    launch.cooperative = config[kBlocks] == kMany;
  }

  static void set_operands(const Args& a, Params& params) {
    params.map = a.map.data;
    params.expert_map = static_cast<const int*>(a.expert_map.data);
    params.counts = a.counts.data;
    params.offsets = a.offsets.data;
    params.token_rows = static_cast<int*>(a.token_rows.data);
    params.token_experts = static_cast<int*>(a.token_experts.data);
    params.row_tokens = static_cast<int*>(a.row_tokens.data);
    params.pads = static_cast<int*>(a.pads.data);
    params.totals = static_cast<int*>(a.totals.data);
    params.row_id_map = static_cast<int*>(a.row_id_map.data);
    params.table = static_cast<unsigned*>(a.workspace.data);
  }

  // Warps that have a counter for each expert, of 64 KB in all: any architecture has these.
  static std::int64_t counters_of(const MoeMap& p, const Config& config) {
    return std::min<std::int64_t>(config[kThreads] / 32, 16384 / p.experts);
  }

  // Arranged in block.cuh, ids.cuh and mask.cuh.
  static std::uint32_t shared_words(const MoeMap& p, const Config& config) {
    const std::int64_t groups = (p.experts + 31) / 32, at_once = config[kThreads] / 32 / groups;
    const std::int64_t part = has_mask(p) ? at_once * (p.experts + 32 * groups) : counters_of(p, config) * p.experts;
    return static_cast<std::uint32_t>(2 * p.experts + 1 + 64 + part);
  }

  static void reference(const MoeMap& p, const Args& a) { write_map(p, a); }
  static Tolerance tolerance(const MoeMap&, int) { return {0, 0, true}; }

  static std::int64_t bytes(const MoeMap& p) {
    const std::int64_t map = p.tokens * map_width(p) * quern::bytes(index_of(p)) + p.global * 4;
    const std::int64_t routes = p.tokens * p.topk * (has_mask(p) ? 2 : 1);
    const std::int64_t rows = 4 * (routes + capacity_of(p) * (has_pads(p) ? 2 : 1));
    const std::int64_t row_ids = has_row_ids(p) ? p.tokens * (2 * p.experts + 1) * 4 : 0;
    return map + rows + row_ids + (2 * p.experts + 1) * quern::bytes(p.offset) + 12;
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
