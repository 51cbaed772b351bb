#include "scatter/step.h"

#include <algorithm>
#include <limits>

#include "common/host_types.h"
#include "scatter/params.h"

namespace quern::scatter {
namespace {

using common::divide_up;
using common::power_of_two_from;

// A thread that adds rows up has half of them in flight, and what it knows of two segments: over 64 registers.
constexpr int kMaxThreadsOfSums = 256;
int max_threads(const Scatter& p) { return has_sums(p) || is_backward(p) ? kMaxThreadsOfSums : common::kMaxThreads; }
// With unique indices, of common::kMaxThreads on a multiprocessor: 64 registers of a thread, and 64 KB in flight.
constexpr std::int64_t kResidentBlocks = 2;
// Blocks that a multiprocessor of any architecture has room for.
constexpr std::int64_t kMostResidentBlocks = 16;
constexpr const char* kFormNames[] = {"vector", "ragged"};

bool is_ragged(const Config& c) { return c[kForm] == kRagged; }

// The accesses of a row.
std::int64_t columns_of(const Scatter& p, const Config& c) {
  return rows::slots_per_row(shape_of(p), is_ragged(c), c[kVector]);
}

// With order: parts of a row, each for a group of lanes.
std::int64_t parts_of(const Scatter& p, const Config& c) {
  const std::int64_t of_part = std::int64_t{c[kLanes]} * c[kUnroll];
  return std::max<std::int64_t>(1, divide_up(columns_of(p, c), of_part));
}

// Rows that are cleared as one where none of them has an index: some more of short ones.
std::int64_t rows_of_block(const Config& c) { return 1024 / c[kLanes]; }

// Windows of positions. Rows after the last index are cleared by the window of the place after it.
std::int64_t windows_of(const Scatter& p, const Config& c) {
  return divide_up(p.count + (zeroes(p) ? 1 : 0), c[kPositions]);
}
std::int64_t blocks_of_rows(const Scatter& p, const Config& c) {
  return zeroes(p) ? divide_up(p.rows, rows_of_block(c)) : 0;
}

// ---- The default config

// Whether all rows are fewer than `each` accesses for each multiprocessor. Open extents count as large.
bool few_slots(const Scatter& p, const DeviceModel& model, const Config& c, std::int64_t each) {
  return all_rows(p) != kOpen && all_rows(p) * columns_of(p, c) < each * model.multiprocessors;
}

// As gather's: two accesses in flight for each thread, one where few threads would be left. What out has is read too.
std::int32_t unroll_without_order(const Scatter& p, const DeviceModel& model, const Config& c) {
  return few_slots(p, model, c, 1024) || (is_ragged(c) && adds(p)) ? 1 : 2;
}

// Of rows that nearly all are cleared, fewer accesses of a lane where the end of a row would leave more than an eighth
// of the lanes without any: on an H200 152764 rows of 2064 bytes with 221 indices take 99.9 us with one, 115.1 with
// four. Of rows that are read four stay better: 65536 of as many bytes 84.2 us, with one 92.0.
std::int64_t accesses_of_cleared(const Scatter& p, const Config& c, std::int64_t most) {
  const std::int64_t columns = columns_of(p, c);
  const auto taken = [&](std::int64_t unroll) { return divide_up(columns, c[kLanes] * unroll) * c[kLanes] * unroll; };
  std::int64_t unroll = most;
  for (std::int64_t fewer = most / 2; fewer >= 1; fewer /= 2) {
    if (8 * taken(fewer) < 7 * taken(unroll)) unroll = fewer;
  }
  return unroll;
}

bool clears_most(const Scatter& p) {
  return zeroes(p) && p.rows != kOpen && p.count != kOpen && 16 * p.count <= p.rows;
}

// Copies read several vectors of a row at once (of a ragged one fewer: each is two), sums several rows.
std::int32_t unroll_with_order(const Scatter& p, const Config& c) {
  if (adds(p)) return 1;
  const std::int64_t of_lane = divide_up(columns_of(p, c), c[kLanes]);
  const std::int64_t unroll = std::clamp<std::int64_t>(power_of_two_from(of_lane), 1, is_ragged(c) ? 2 : 4);
  return static_cast<std::int32_t>(clears_most(p) ? accesses_of_cleared(p, c, unroll) : unroll);
}

// Enough positions for a warp that it reads its neighbors' rarely, but so few that all multiprocessors have work.
std::int32_t positions_of(const Scatter& p, const DeviceModel& model, const Config& c) {
  if (all_rows(p) == kOpen) return 8;
  std::int32_t positions = 32;
  while (positions > 2 && all_rows(p) * parts_of(p, c) / positions < std::int64_t{32} * model.multiprocessors)
    positions /= 4;
  return positions;
}

// Rows that a sum reads at once. Where most rows have one index or two, more have nothing to read and cost registers:
// 65536 rows of 1024 with one each take 85.3 us on an H200 with two, 97.0 with eight; 8192 rows of 2048 with eight each
// 78.0 with four, 80.7 with eight, 81.7 with two.
std::int32_t batch_of_sums(const Scatter& p) {
  if (p.rows == kOpen || p.count == kOpen) return 4;
  return p.count <= 2 * p.rows ? 2 : 4;
}

void set_order(const Scatter& p, const DeviceModel& model, Config& c) {
  c[kLanes] = static_cast<std::int32_t>(std::clamp<std::int64_t>(power_of_two_from(columns_of(p, c)), 4, 32));
  c[kUnroll] = unroll_with_order(p, c);
  c[kBatch] = adds(p) ? batch_of_sums(p) : 1;
  c[kPositions] = positions_of(p, model, c);
}

void set_unique(const Scatter& p, Config& c) {
  c[kLanes] = static_cast<std::int32_t>(std::clamp<std::int64_t>(power_of_two_from(columns_of(p, c)), 4, 32));
  const std::int64_t of_lane = divide_up(columns_of(p, c), c[kLanes]);
  const std::int64_t most = (is_ragged(c) ? 2 : 4) / (adds(p) ? 2 : 1);
  c[kUnroll] = static_cast<std::int32_t>(std::clamp<std::int64_t>(power_of_two_from(of_lane), 1, most));
}

// Two or three operands of a row are in flight at once, of four rows; of dot products, of one.
void set_backward(const Scatter& p, std::int64_t vector, Config& c) {
  const std::int64_t elements = vector / element_bytes(p);
  if (has_dots(p)) {
    c[kUnroll] = static_cast<std::int32_t>(std::max<std::int64_t>(8 / elements, 4));
    return;
  }
  c[kLanes] = static_cast<std::int32_t>(std::clamp<std::int64_t>(power_of_two_from(columns_of(p, c)), 4, 32));
  const std::int64_t of_lane = divide_up(columns_of(p, c), c[kLanes]);
  c[kUnroll] = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(power_of_two_from(of_lane), 1, std::clamp<std::int64_t>(16 / vector, 1, 4)));
  c[kBatch] = 4;
}

Config config_for(const Scatter& p, const DeviceModel& model, Forms form, std::int64_t vector) {
  const std::int32_t once = form == kWhole && vector >= 8 && row_bytes(p) >= 256 ? 1 : 0;
  Config c;
  c[kForm] = form;
  c[kVector] = static_cast<std::int32_t>(vector);
  c[kBatch] = 1;
  c[kLanes] = 32;
  c[kPositions] = 1;
  c[kThreads] = 128;
  c[kLoadOnce] = once;
  c[kStoreStream] = once;
  c[kUnroll] = unroll_without_order(p, model, c);
  if (is_ordered(p)) set_order(p, model, c);
  if (is_unique(p)) set_unique(p, c);
  if (is_backward(p)) set_backward(p, vector, c);
  return c;
}

std::int64_t widest_vector(const Scatter& p, const Target& target) {
  return is_ordered(p) || is_unique(p) || is_backward(p) ? 16 : common::widest_access(target);
}

Config preferred(const Scatter& p, const Target& target, const DeviceModel& model) {
  const std::int64_t widest = widest_vector(p, target);
  const std::int64_t natural = rows::natural_vector(shape_of(p), widest);
  const std::int64_t whole = std::max(natural, element_bytes(p));
  const bool narrow = natural < 8 || row_bytes(p) / natural >= rows::kMaxSlots;
  if (!narrow || element_bytes(p) >= 16 || row_bytes(p) < 64 || is_backward(p))
    return config_for(p, model, kWhole, whole);
  return config_for(p, model, kRagged, 16);
}

// ---- The launch

void set_order(const Scatter& p, const Config& c, Params& params) {
  const std::int64_t parts = parts_of(p, c), windows = windows_of(p, c);
  const std::int64_t numbers = windows + blocks_of_rows(p, c);
  params.windows = static_cast<std::uint64_t>(windows);
  params.numbers = static_cast<std::uint64_t>(numbers);
  params.by_numbers = common::make_divisor(std::max<std::uint64_t>(1, params.numbers));
  params.items = static_cast<std::uint64_t>(p.outer * numbers * parts);
  params.by_parts = common::make_divisor(static_cast<std::uint64_t>(parts));
  params.parts = static_cast<std::uint32_t>(parts);
  params.columns = static_cast<std::uint32_t>(columns_of(p, c));
}

// Rows of source in groups, for parts of a row each; with dot products, rows for a warp each. Without rows the one
// group writes the gradient of a scale of columns.
void set_gradients(const Scatter& p, const ScatterArgs& a, const Config& c, Params& params) {
  const std::int64_t parts = parts_of(p, c);
  const std::int64_t groups =
      has_dots(p) ? p.count : std::max<std::int64_t>(has_sums(p) ? 1 : 0, divide_up(all_rows(p), kRowsOfGroup));
  params.outer = p.outer;
  params.gradient = a.gradient.data;
  params.source_gradient = a.source_gradient.data;
  params.scale_gradient = a.scale_gradient.data;
  params.items = static_cast<std::uint64_t>(has_dots(p) ? groups : groups * parts);
  params.by_parts = common::make_divisor(static_cast<std::uint64_t>(parts));
  params.parts = static_cast<std::uint32_t>(parts);
  params.columns = static_cast<std::uint32_t>(columns_of(p, c));
}

// Groups of lanes for each row, so many where rows are few that all multiprocessors have work.
void set_named(const Scatter& p, const ScatterArgs& a, const Config& c, Params& params) {
  const std::int64_t parts = parts_of(p, c), pieces = p.outer * parts;
  const std::int64_t groups = std::clamp<std::int64_t>(most_groups_of_row(p), 1, std::max<std::int64_t>(1, pieces));
  params.parts = static_cast<std::uint32_t>(parts);
  params.by_parts = common::make_divisor(static_cast<std::uint64_t>(parts));
  params.named.pieces = static_cast<std::uint64_t>(pieces);
  params.named.all = static_cast<std::uint64_t>(p.rows * groups);
  params.named.by_groups = common::make_divisor(static_cast<std::uint64_t>(groups));
  params.named.groups = static_cast<std::uint32_t>(groups);
  if (a.workspace.data == nullptr) return;  // of a launch without work
  auto* const words = static_cast<unsigned*>(a.workspace.data);
  params.named.barrier = words;
  params.named.ended = words + 1;
  params.named.positions = words + kCountWords;
}

void set_workspace(const Scatter& p, const ScatterArgs& a, Params& params) {
  if (!has_sums(p) || a.workspace.data == nullptr) return;  // null: of a launch without work
  const Workspace w = workspace_of(p);
  auto* const words = static_cast<unsigned*>(a.workspace.data);
  auto* const counters = words + (w.groups + w.chunks) * w.stride;
  params.sums = {words, words + w.groups * w.stride, counters, counters + w.groups * w.parts,
                 static_cast<std::uint64_t>(w.stride)};
  params.words = static_cast<std::uint64_t>(w.words());
}

// `lanes` threads for each item; smaller blocks where a problem would leave multiprocessors idle.
void launch_items(std::uint64_t items, int lanes, std::int32_t threads, const DeviceModel& model, Launch& launch) {
  common::launch_slots(items * static_cast<std::uint64_t>(lanes), 1, threads, model, launch);
}

// All blocks are co-resident, and each goes through rows.
void launch_unique(const Scatter& p, const Params& params, const Config& c, const DeviceModel& model, Launch& launch) {
  launch_items(params.named.all, c[kLanes], c[kThreads], model, launch);
  const std::int64_t threads = launch.block[0];
  const std::int64_t resident = std::min(kMostResidentBlocks, kResidentBlocks * common::kMaxThreads / threads);
  common::limit_grid(static_cast<int>(resident), model, launch);
  launch.cooperative = launch.grid[0] > 1;
  launch.empty = launch.empty || p.outer == 0;
}

}  // namespace

bool vector_divides(const Scatter& p, const Target&, const Config& c) {
  return is_ragged(c) || rows::natural_vector(shape_of(p), 32) % c[kVector] == 0;
}
bool vector_exists(const Scatter& p, const Target& t, const Config& c) { return c[kVector] <= widest_vector(p, t); }
bool vector_holds_elements(const Scatter& p, const Target&, const Config& c) {
  return !adds(p) || c[kVector] >= element_bytes(p);
}
bool ragged_has_small_elements(const Scatter& p, const Target&, const Config& c) {
  return !is_ragged(c) || element_bytes(p) < 16;
}
bool row_has_few_slots(const Scatter& p, const Target&, const Config& c) {
  return row_bytes(p) / c[kVector] < rows::kMaxSlots;
}
bool registers_suffice(const Scatter& p, const Target&, const Config& c) {
  const int bytes = c[kVector] * c[kUnroll] * c[kBatch];
  const int most = 128 / (is_ragged(c) ? 2 : 1) / (is_unique(p) || (adds(p) && !is_ordered(p)) ? 2 : 1);
  return bytes <= most && (!has_sums(p) || c[kVector] * c[kUnroll] <= 32);
}
bool threads_have_registers(const Scatter& p, const Target&, const Config& c) {
  return max_threads(p) == common::kMaxThreads || c[kThreads] <= max_threads(p);
}
bool lanes_have_a_row(const Scatter& p, const Target&, const Config& c) {
  return c[kLanes] == 32 || parts_of(p, c) == 1;
}
bool dots_have_whole_steps(const Scatter& p, const Target&, const Config& c) {
  return !has_dots(p) || std::int64_t{c[kUnroll]} * c[kVector] >= 8 * element_bytes(p);
}

int scatter_variants(const Scatter& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
  const Config first = preferred(p, target, model);
  out[0] = {kFormNames[first[kForm]], first};
  if (is_ragged(first) || first[kVector] <= element_bytes(p)) return 1;
  if (is_backward(p)) {
    out[1] = {"element", config_for(p, model, kWhole, element_bytes(p))};
    return 2;
  }
  const Forms form = element_bytes(p) < 16 ? kRagged : kWhole;
  out[1] = {kFormNames[form], config_for(p, model, form, 16)};
  return 2;
}

std::uint32_t operand_alignment(const Scatter& p, int operand, const Config& c) {
  const std::int64_t vector = is_ragged(c) ? 1 : c[kVector];
  if (operand != kScale) return static_cast<std::uint32_t>(std::max(vector, element_bytes(p)));
  const std::int64_t size = bytes(p.scale), elements = std::max<std::int64_t>(1, vector / element_bytes(p));
  return static_cast<std::uint32_t>(has_column_scale(p) ? std::min<std::int64_t>(32, elements * size) : size);
}

void specialize_scatter(const Scatter& p, const Config& c, Spec& spec) {
  spec.integer("params_bytes", sizeof(Params));
  spec.integer("max_threads", max_threads(p));
  spec.flag("ragged", is_ragged(c));
  spec.integer("vector", c[kVector]);
  spec.integer("unroll", c[kUnroll]);
  spec.integer("element_bytes", element_bytes(p));
  spec.flag("load_once", c[kLoadOnce] == 1);
  spec.flag("store_stream", c[kStoreStream] == 1);
  spec.type("Index", common::spec_type(p.index));
  spec.flag("adds", adds(p));
  spec.flag("skips", skips(p));
  spec.flag("zeroes", zeroes(p));
  spec.flag("outer", p.outer != 1);
  spec.flag("ordered", is_ordered(p) || is_unique(p));
  if (adds(p)) {
    spec.header("common/numbers.cuh");
    spec.type("Element", common::spec_type(p.dtype));
    spec.type("Scale", common::spec_type(has_scale(p) ? p.scale : f32));
    spec.flag("alpha", has_alpha(p));
    spec.flag("column_scale", has_column_scale(p));
    spec.flag("row_scale", has_row_scale(p));
  }
  if (is_backward(p)) {
    spec.integer("batch", c[kBatch]);
    spec.integer("lanes", c[kLanes]);
    spec.part(has_dots(p) ? "scatter/dots.cuh" : "scatter/gradients.cuh");
    return;
  }
  if (is_ordered(p)) {
    spec.integer("batch", c[kBatch]);
    spec.integer("lanes", c[kLanes]);
    spec.integer("positions", c[kPositions]);
    spec.integer("rows_of_block", rows_of_block(c));
    spec.part(adds(p) ? "scatter/sums.cuh" : "scatter/copies.cuh");
    spec.part("scatter/ordered.cuh");
    return;
  }
  if (is_unique(p)) {
    spec.integer("lanes", c[kLanes]);
    spec.integer("resident_blocks", kResidentBlocks);
    spec.part(adds(p) ? "scatter/added.cuh" : "scatter/placed.cuh");
    spec.part("scatter/unique.cuh");
    return;
  }
  spec.flag("persistent", false);
  spec.part(adds(p) ? "scatter/added.cuh" : "scatter/placed.cuh");
  spec.part(is_ragged(c) ? "rows/windows.cuh" : "rows/vectors.cuh");
  spec.part("scatter/rows.cuh");
}

void launch_scatter(const Scatter& p, const ScatterArgs& a, const DeviceModel& model, const Config& c, Launch& launch) {
  const rows::Shape shape = shape_of(p);
  auto& params = launch.make_params<Params>();
  params.source = a.source.data;
  params.source_end = rows::end_of_source(shape, a.source.data, all_rows(p));
  params.index = a.index.data;
  params.order = static_cast<const int*>(a.order.data);
  params.scale = a.scale.data;
  params.out = a.out.data;
  params.rows = p.rows;
  params.count = p.count;
  params.by_count = common::make_divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, p.count)));
  params.source_stride = shape.source_stride;
  params.out_stride = shape.out_stride;
  params.row_bytes = shape.row;
  params.alpha = a.alpha;
  set_workspace(p, a, params);
  if (is_ordered(p)) {
    set_order(p, c, params);
    launch_items(params.items, 32, c[kThreads], model, launch);
  } else if (is_unique(p)) {
    set_named(p, a, c, params);
    launch_unique(p, params, c, model, launch);
  } else if (is_backward(p)) {
    set_gradients(p, a, c, params);
    launch_items(params.items, c[kLanes], c[kThreads], model, launch);
  } else {
    const std::int64_t columns = std::max<std::int64_t>(1, columns_of(p, c));
    params.slots = common::make_slots(static_cast<std::uint64_t>(all_rows(p)), static_cast<std::uint64_t>(columns));
    common::launch_slots(params.slots, c[kUnroll], c[kThreads], model, launch);
  }
  launch.empty = launch.empty || (p.width == 0 && !has_dots(p));
}

}  // namespace quern::scatter
