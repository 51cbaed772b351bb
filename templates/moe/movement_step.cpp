#include "moe/movement_step.h"

#include <algorithm>
#include <limits>

#include "common/geometry.h"
#include "common/host_types.h"
#include "moe/choice_names.h"
#include "moe/movement_rows.h"

namespace quern::moe {
namespace {

using common::divide_up;
using common::power_of_two_from;

// Reorder: the parts of a group of lanes. Each block makes a table of the chunks first, which is to take little of its
// time. While it is made, others move rows.
constexpr std::int64_t kGroupParts = 4;
constexpr std::int64_t kGroupPartsOfManyChunks = 8;  // more than kFewChunks
// With fewer threads of a multiprocessor, or with one block of it, more parts of a group would only be more that it has
// to do one after the other.
constexpr std::int64_t kBusyThreads = 1024;
// Blocks that a multiprocessor of any architecture has room for.
constexpr std::int64_t kMostResidentBlocks = 16;

// Vectors of a row; ragged, the last may be cut.
std::int64_t vectors_of(const Movement& m, const Config& c) { return divide_up(row_bytes(m), c[kVector]); }
// Whether accesses of routes and scales are of an element, at any address.
bool takes_any_address(const Movement& m, const Config& c) { return c[kVector] == element_bytes(m) || c[kRagged] == 1; }

// Vectors of a thread.
std::int64_t unroll_of(const Movement& m, const Config& c) {
  return has_gradient(m) ? kChunkBytes / c[kVector] * c[kUnroll] : c[kUnroll];
}
std::int64_t parts_of(const Movement& m, const Config& c) {
  const std::int64_t of_part = c[kLanes] * unroll_of(m, c);
  return std::max<std::int64_t>(1, divide_up(vectors_of(m, c), of_part));
}
// Bytes of an access to the scales of a row.
std::int64_t scale_access(const Movement& m, const Config& c) {
  const std::int64_t element = bytes(scale_type(m));
  return takes_any_address(m, c) ? element : common::common_alignment({scales_of_row(m) * element}, 16);
}
// And whether they are stored so: a part needs the four blocks of a word.
bool stores_scale_words(const Movement& m, const Config& c) {
  return scales_fill_words(m, c[kVector]) && std::int64_t{c[kLanes]} * c[kUnroll] >= 4 * block_vectors(m, c[kVector]);
}
// Bytes of an access to the plain scales of a token, of blocked ones, and to those. Accesses of an element allow any
// address.
std::int64_t token_access(const Movement& m, const Config& c) {
  return c[kVector] == element_bytes(m) ? 1 : common::common_alignment({made_scales_of_row(m)}, 16);
}
std::int64_t atom_access(const Movement& m, const Config& c) { return c[kVector] == element_bytes(m) ? 1 : 16; }
bool moves_scales(const Movement& m) { return m.scaling != MoeScaling::none && !quantizes(m); }
// Rows of a token whose numbers are read at once. Where rows are only written that takes a register for each, with
// probabilities or factors two: on an H200, 300 x 4096 to sixteen with probabilities take 12.6 us with eight at
// once, 13.3 with all; without, 885 x 320 to fourteen 3.49 and 2.99.
std::int64_t batch_of(const Movement& m, const Config& c) {
  const std::int64_t most = !moves_bits(m) ? c[kBatch] : has_probs(m) || has_factors(m) ? 8 : 16;
  return std::min<std::int64_t>(most, m.topk);
}

// Bytes of an access to entries of a token's routes, as in moe/rows.cuh.
std::int64_t entries_access(const Movement& m, const Config& c, std::int64_t entry_bytes) {
  if (c[kVector] < 16 || c[kRagged] == 1) return entry_bytes;
  return common::common_alignment({m.topk * entry_bytes, batch_of(m, c) * entry_bytes}, 16);
}

// ---- The launch

// Blocks, of which the last may have fewer groups than it has room for.
std::int64_t blocks_for(std::int64_t groups, std::int64_t threads, std::int64_t lanes) {
  return divide_up(groups, threads / lanes);
}

std::int64_t shared_bytes_of(const Movement& m, const Config& c, std::int64_t threads) {
  if (m.form == Form::reorder) return (m.chunks + 1 + 32) * 8;  // see chunks.cuh and many_chunks.cuh
  if (scales_rows(m)) return c[kWarps] > 1 ? std::int64_t{4} * c[kWarps] : 0;
  return has_gradient(m) ? threads / c[kLanes] / c[kWarps] * parts_of(m, c) * m.topk * 4 : 0;
}

// Ragged rows take 64 to 110 registers, and sums of many rows that are looked up first up to 60. For larger blocks
// ptxas spills some bytes of kernels that need a few more than let one more of them fit a multiprocessor.
std::int64_t most_threads(const Config& c) {
  const bool takes_registers = c[kRagged] == 1 || (c[kLookupsFirst] == 1 && c[kBatch] > 8);
  return takes_registers ? std::max(128, 32 * c[kWarps]) : common::kMaxThreads;
}

// Chunks of a thread that makes a table of many: as many as a block of 512 needs. Four take 16 registers fewer.
std::int64_t thread_chunks(const Movement& m) { return m.chunks > std::int64_t{4} * common::kMaxThreads ? 8 : 4; }

// Each thread of a block has a part in making the table of chunks.
std::int64_t least_threads(const Movement& m) {
  if (m.form != Form::reorder) return 32;
  return std::max<std::int64_t>(power_of_two_from(divide_up(m.chunks, thread_chunks(m))), 32);
}

// Smaller blocks where a problem would leave multiprocessors idle. Several warps of a team are a block.
std::int64_t threads_for(const Movement& m, const Config& c, const DeviceModel& model, std::int64_t groups) {
  if (c[kWarps] > 1) return std::int64_t{32} * c[kWarps];
  const std::int64_t least = least_threads(m);
  std::int64_t threads = std::max(std::min<std::int64_t>(c[kThreads], most_threads(c)), least);
  while (threads > least && (blocks_for(groups, threads, c[kLanes]) < std::int64_t{2} * model.multiprocessors ||
                             (has_gradient(m) && shared_bytes_of(m, c, threads) > kMostSumBytes)))
    threads /= 2;
  return threads;
}

// `groups`: as if each had one part.
std::int64_t group_parts_of(const Movement& m, const Config& c, const DeviceModel& model, std::int64_t groups,
                            std::int64_t threads) {
  if (m.form != Form::reorder) return 1;
  const std::int64_t least_blocks = std::max<std::int64_t>(2, kBusyThreads / threads) * model.multiprocessors;
  const std::int64_t most = m.chunks > kFewChunks ? kGroupPartsOfManyChunks : kGroupParts;
  return std::clamp<std::int64_t>(groups / (threads / c[kLanes]) / least_blocks, 1, most);
}

std::int64_t routes_of_team(const Movement& m, const Config& c, const DeviceModel& model) {
  return routes_of_team(m, {c[kLanes], c[kUnroll], c[kWarps]}, batch_of(m, c), model);
}

// Blocks for padding rows, until they have 512 threads of each multiprocessor; half of that beside teams of several
// warps, for which there would be no room until they are done.
std::int64_t list_blocks_of(const Movement& m, const Config& c, const DeviceModel& model, std::int64_t threads) {
  if (!clears_pads(m)) return 0;
  const std::int64_t rows = most_pads(m);
  const std::int64_t most = (c[kWarps] > 1 ? std::int64_t{256} : 512) * model.multiprocessors / threads;
  return std::clamp<std::int64_t>(blocks_for(rows * parts_of(m, c), threads, c[kLanes]), 1,
                                  std::max<std::int64_t>(most, 1));
}

// Blocked scales: all blocks are co-resident. Each has rows of tokens, padding rows and then tiles of 128 rows.
std::int64_t co_resident_blocks(const Movement& m, const Config& c, const DeviceModel& model, std::int64_t groups,
                                std::int64_t threads) {
  const std::int64_t room =
      std::min(kMostResidentBlocks, std::int64_t{c[kResident]} * common::kMaxThreads / threads) * model.multiprocessors;
  const std::int64_t work = std::max(blocks_for(groups, threads, c[kLanes]), capacity_of(m) / 128);
  return std::min(work, room);
}

// Whether `pads` has more entries than a map of the problem's fields lists.
bool list_may_go_on(const Movement& m) { return clears_pads(m) && most_pads(m) < capacity_of(m); }

// The last of several blocks looks whether the list goes on.
void set_pads(const Movement& m, std::int64_t parts, std::int64_t pad_blocks, Params& params) {
  const bool goes_on = list_may_go_on(m) && pad_blocks > 1;
  const std::int64_t entries = clears_pads(m) ? capacity_of(m) : 0;
  params.pad_blocks = static_cast<unsigned>(pad_blocks);
  params.list_blocks = static_cast<unsigned>(goes_on ? pad_blocks - 1 : pad_blocks);
  params.pad_parts = static_cast<std::uint64_t>(entries * parts);
  params.listed_parts = static_cast<std::uint64_t>((goes_on ? most_pads(m) : entries) * parts);
}

void set_blocked_scales(const Movement& m, const Operands& o, Params& params) {
  auto* const words = static_cast<unsigned*>(o.workspace);
  params.token_scales = o.token_scales;
  params.tiles = static_cast<unsigned>(capacity_of(m) / 128);
  if (words == nullptr) return;  // of a launch without work
  params.barrier = words;
  params.ended = words + 1;
  params.row_sources = words + kCountWords;
}

void set_operands(const Operands& o, Params& params) {
  params.source = o.source;
  params.rows = o.rows;
  params.residual = o.residual;
  params.probs = o.probs;
  params.token_rows = static_cast<const int*>(o.token_rows);
  params.token_experts = static_cast<const int*>(o.token_experts);
  params.pads = static_cast<const int*>(o.pads);
  params.out = o.out;
  params.out_probs = o.out_probs;
  params.scales = o.scales;
  params.out_scales = o.out_scales;
  params.sizes = o.sizes;
  params.order = o.order;
  params.factors = o.factors;
  params.out_factors = o.out_factors;
}

// What a null pointer would begin is not read.
const void* end_of(const void* begin, std::int64_t bytes) {
  return begin == nullptr ? nullptr : static_cast<const std::byte*>(begin) + bytes;
}

void set_ends(const Movement& m, const Operands& o, Params& params) {
  const bool of_gradient = m.form == Form::factor_gradient;
  const std::int64_t rows = m.form == Form::combine || of_gradient ? capacity_of(m) : m.tokens;
  params.source_end = end_of(o.source, rows * row_bytes(m));
  params.rows_end = end_of(o.rows, (of_gradient ? m.tokens : capacity_of(m)) * row_bytes(m));
}

void specialize_quantization(const Movement& m, const Config& c, Spec& spec) {
  spec.type("Quantized", common::spec_type(m.element));
  spec.choice("common::ScaleMode", "mode", kScaleModes[static_cast<int>(m.mode)]);
  spec.choice("common::ScalePolicy", "policy", kScalePolicies[static_cast<int>(m.policy)]);
  spec.choice("common::ScaleFormat", "scale_format", m.scaling == MoeScaling::mx ? "e8m0" : "fp32");
  if (scales_rows(m)) return;
  spec.integer("block_length", block_length(m));
  spec.flag("blocked", m.blocked);
  spec.flag("scale_words", stores_scale_words(m, c));
  if (!m.blocked) return;
  spec.integer("token_access", token_access(m, c));
  spec.integer("atom_access", atom_access(m, c));
  spec.integer("resident_blocks", c[kResident]);
}

const char* part_of(const Movement& m) {
  static constexpr const char* kParts[] = {"moe/dispatch.cuh", "moe/combine.cuh", "moe/combine_gradient.cuh",
                                           "moe/reorder.cuh", "moe/factor_gradient.cuh"};
  if (scales_rows(m)) return "moe/dispatch_row.cuh";
  return m.blocked ? "moe/dispatch_blocked.cuh" : kParts[static_cast<int>(m.form)];
}

}  // namespace

bool may_be_ragged(const Movement& m) { return m.form != Form::reorder && !quantizes(m); }
bool vector_divides(const Movement& m, const Config& c) {
  return c[kRagged] == 1 ? c[kVector] == 16 && may_be_ragged(m) : row_bytes(m) % c[kVector] == 0;
}
bool vector_holds_elements(const Movement& m, const Config& c) { return c[kVector] >= element_bytes(m); }
bool registers_suffice(const Movement& m, const Config& c) {
  if (m.form == Form::factor_gradient) return c[kBatch] == 1;
  if (has_gradient(m)) return c[kBatch] <= (c[kVector] >= 8 && c[kRagged] == 0 ? 2 : 1);
  return std::int64_t{c[kVector]} * c[kUnroll] * (m.form == Form::combine ? batch_of(m, c) : 1) <=
         (c[kRagged] == 1 ? 64 : 128);
}
// Whole blocks of a row in each part: see moe/quantize.cuh.
bool part_has_blocks(const Movement& m, const Config& c) {
  const std::int64_t vectors = block_length(m) * element_bytes(m) / c[kVector];
  return !quantizes(m) || vectors <= c[kLanes] || vectors <= std::int64_t{c[kLanes]} * c[kUnroll];
}
bool batch_has_routes(const Movement& m, const Config& c) { return moves_bits(m) || c[kBatch] / 2 < m.topk; }
bool lanes_have_a_row(const Movement& m, const Config& c) {
  const std::int64_t chunks = std::int64_t{c[kLanes]} * c[kUnroll];
  return !has_gradient(m) || c[kLanes] == 32 ||
         (c[kWarps] == 1 && chunks <= 32 && row_bytes(m) <= kChunkBytes * chunks);
}
bool sums_fit(const Movement& m, const Config& c) {
  return !has_gradient(m) || (c[kUnroll] <= 4 && parts_of(m, c) * m.topk * 4 <= kMostSumBytes);
}
// Fewer look-ups are never apart.
bool may_look_up_first(const Movement& m) { return m.form == Form::combine && m.topk > 4; }
bool warps_are_whole(const Movement& m, const Config& c) {
  return !scales_rows(m) || c[kLanes] == 32 || c[kWarps] == 1;
}
bool row_has_few_vectors(const Movement& m, const Config& c) { return vectors_of(m, c) < std::int64_t{1} << 30; }

std::uint32_t rows_alignment(const Movement& m, const Config& c) {
  return static_cast<std::uint32_t>(c[kRagged] == 1 ? element_bytes(m) : c[kVector]);
}
std::uint32_t scales_alignment(const Movement& m, const Config& c) {
  if (m.scaling == MoeScaling::none) return 1;
  if (moves_scales(m)) return static_cast<std::uint32_t>(scale_access(m, c));
  if (m.blocked) return static_cast<std::uint32_t>(atom_access(m, c));
  return static_cast<std::uint32_t>(stores_scale_words(m, c) ? 4 : bytes(scale_type(m)));
}
std::uint32_t token_scales_alignment(const Movement& m, const Config& c) {
  return static_cast<std::uint32_t>(m.blocked ? token_access(m, c) : 1);
}
std::uint32_t routes_alignment(const Movement& m, const Config& c, std::int64_t entry_bytes) {
  return static_cast<std::uint32_t>(entries_access(m, c, entry_bytes));
}

void specialize_movement(const Movement& m, const Config& c, Spec& spec) {
  spec.integer("params_bytes", sizeof(Params));
  spec.integer("max_threads", most_threads(c));
  spec.integer("vector", c[kVector]);
  spec.flag("ragged", c[kRagged] == 1);
  spec.integer("element_bytes", element_bytes(m));
  spec.integer("unroll", unroll_of(m, c));
  spec.integer("lanes", c[kLanes]);
  spec.integer("warps", c[kWarps]);
  spec.integer("topk", m.topk);
  spec.integer("batch", batch_of(m, c));
  spec.integer("prob_bytes", bytes(m.probs));
  spec.flag("dense_probs", m.dense);
  spec.flag("weighted", m.weighted && has_probs(m));
  spec.integer("scale_vector", moves_scales(m) ? scale_access(m, c) : 0);
  spec.flag("residual", m.residual);
  spec.flag("lookups_first", c[kLookupsFirst] == 1);
  spec.flag("pads", clears_pads(m));
  spec.flag("load_once", c[kLoadOnce] == 1);
  spec.flag("store_stream", c[kStoreStream] == 1);
  if (m.form == Form::reorder) {
    spec.flag("backward", m.backward);
    spec.type("Index", common::spec_type(m.index));
    if (m.chunks > kFewChunks) spec.integer("thread_chunks", thread_chunks(m));
    spec.part(m.chunks > kFewChunks ? "moe/many_chunks.cuh" : "moe/few_chunks.cuh");
  }
  if (!moves_bits(m) || quantizes(m) || has_factors(m)) {
    spec.header(quantizes(m) ? "common/scaling.cuh" : "common/numbers.cuh");
    spec.type("Element", common::spec_type(m.dtype));
    spec.type("Prob", common::spec_type(has_probs(m) ? m.probs : f32));
  }
  if (quantizes(m)) specialize_quantization(m, c, spec);
  if (has_factors(m)) {
    spec.type("Factor", common::spec_type(m.factors));
    spec.flag("route_factors", m.route_factors);
  }
  if (m.form == Form::dispatch || m.form == Form::factor_gradient)
    spec.part(has_factors(m) ? "moe/factors.cuh" : "moe/no_factors.cuh");
  if (m.form == Form::dispatch || m.form == Form::combine_gradient)
    spec.part(scales_rows(m) ? "moe/quantize_row.cuh" : quantizes(m) ? "moe/quantize.cuh" : "moe/keep.cuh");
  spec.part(part_of(m));
}

void launch_movement(const Movement& m, const Operands& o, const DeviceModel& model, const Config& c, Launch& launch) {
  const std::int64_t parts = parts_of(m, c), of_team = routes_of_team(m, c, model);
  const std::int64_t teams = divide_up(m.topk, of_team);
  const std::int64_t groups = m.tokens * (has_teams(m) ? teams * c[kWarps] : parts);
  const std::int64_t all_groups = groups + (m.blocked || clears_pads(m) ? most_pads(m) * parts : 0);
  const std::int64_t threads = threads_for(m, c, model, all_groups);
  const std::int64_t pad_blocks = m.blocked ? co_resident_blocks(m, c, model, all_groups, threads)
                                            : list_blocks_of(m, c, model, threads) + (list_may_go_on(m) ? 1 : 0);
  const std::int64_t group_parts = group_parts_of(m, c, model, groups, threads);
  auto& params = launch.make_params<Params>();
  set_operands(o, params);
  set_ends(m, o, params);
  params.tokens = static_cast<std::uint64_t>(m.tokens);
  params.row_bytes = static_cast<unsigned>(row_bytes(m));
  params.out_row_bytes = static_cast<unsigned>(out_row_bytes(m));
  if (has_given_scale(m)) params.scales = o.given_scale;
  if (quantizes(m)) params.blocks = static_cast<unsigned>(scales_of_row(m));
  params.vectors = static_cast<unsigned>(vectors_of(m, c));
  params.parts = static_cast<unsigned>(parts);
  params.by_parts = common::make_divisor(static_cast<std::uint64_t>(parts));
  set_pads(m, parts, pad_blocks, params);
  if (moves_scales(m)) {
    const std::int64_t vectors = scales_of_row(m) * bytes(scale_type(m)) / scale_access(m, c);
    params.scale_vectors = static_cast<unsigned>(vectors);
    params.part_scales = static_cast<unsigned>(divide_up(vectors, parts));
  }
  params.all_parts = static_cast<std::uint64_t>(groups);
  params.capacity = static_cast<unsigned>(capacity_of(m));
  params.experts = static_cast<unsigned>(m.rules.experts);
  params.chunks = static_cast<unsigned>(m.chunks);
  params.group_parts = static_cast<unsigned>(group_parts);
  params.teams = static_cast<unsigned>(teams);
  params.by_teams = common::make_divisor(static_cast<std::uint64_t>(teams));
  params.routes_of_team = static_cast<unsigned>(of_team);
  if (m.blocked) set_blocked_scales(m, o, params);
  launch.block[0] = static_cast<std::uint32_t>(threads);
  const std::int64_t blocks =
      pad_blocks + (m.blocked ? 0 : blocks_for(divide_up(groups, group_parts), threads, c[kLanes]));
  launch.grid[0] =
      static_cast<std::uint32_t>(std::min<std::int64_t>(blocks, std::numeric_limits<std::uint32_t>::max()));
  launch.shared_bytes = static_cast<std::uint32_t>(shared_bytes_of(m, c, threads));
  launch.cooperative = m.blocked && blocks > 1;
  launch.empty = blocks == 0 ||
                 (m.hidden == 0 && !has_probs(m) && m.scaling == MoeScaling::none && m.form != Form::factor_gradient);
}

}  // namespace quern::moe
