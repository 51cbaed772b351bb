#include "pointwise/reductions.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "common/geometry.h"
#include "common/host_types.h"
#include "expression/stages.h"
#include "pointwise/params.h"
#include "pointwise/program_launch.h"
#include "pointwise/scaled.h"
#include "pointwise/space.h"

namespace quern::pointwise::reductions {
namespace {

using common::divide_up;
using program::Entry;
using program::Summary;

constexpr std::int64_t kWidest = std::int64_t{1} << 29;
constexpr int kOfLane = 8;            // elements of a segment
constexpr int kMostChunks = 256;      // of rows: 16 times 16, as the kernel adds them up
constexpr int kMostWarps = 32;        // of a row
constexpr int kFewWarps = 16;         // of which a multiprocessor has several blocks
constexpr int kWarpsOfLongRows = 16;  // of a row that is not held

// Of the inputs that have elements of their own in a row: how many, and the bytes of one of each.
struct Elements {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};
Elements elements_of(const Pointwise& p, bool with_rows) {
  const Summary& s = program::summary(p);
  Elements all;
  for (int i = 0; i < s.inputs; ++i) {
    if (s.entries[i].spread != Spread::full && (s.entries[i].spread != Spread::row || !with_rows)) continue;
    ++all.count;
    all.bytes += bytes(program::dtype_of(p, s.entries[i]));
  }
  return all;
}

// Bytes of a row that a thread may have in registers; of each of two rows beside sums of columns.
std::int64_t most_bytes(const Pointwise& p) { return program::summary(p).sums == 0 ? 128 : 96; }
// What it has of each element: the inputs, and the kept values instead of them or beside them. Operands of which each
// row has the same are in registers only where a thread has several rows.
std::int64_t held_bytes(const Pointwise& p, bool keeps) {
  const Summary& s = program::summary(p);
  const std::int64_t inputs = elements_of(p, s.sums != 0).bytes, kept = keeps ? std::int64_t{4} * s.kept : 0;
  return s.needs_inputs_beside_kept ? inputs + kept : std::max(inputs, kept);
}

// Segments of a thread that fit its registers, with 32 sums of columns; at least one, which may not fit.
int most_segments(const Pointwise& p, bool keeps) {
  const int sums = program::summary(p).sums;
  int most = 8;
  while (most > 1 && (held_bytes(p, keeps) * most * kOfLane > most_bytes(p) || most * sums > 4)) most /= 2;
  return most;
}

// Whether something of a row is known only when all of it was read.
bool needs_whole_rows(const Pointwise& p) { return program::summary(p).rounds != 0 || scaled::has_whole_rows(p); }

// The most warps of a row that do not take more segments each instead. Beside a scale of a whole row its outputs take
// registers, so a thread has no more than four.
int enough_warps(const Pointwise& p) { return scaled::has_whole_rows(p) ? kMostWarps : kFewWarps; }

// Of a row that is needed whole, how many warps have it in registers.
void share_among_warps(const Pointwise& p, bool keeps, Team& team) {
  const int most = most_segments(p, keeps);
  team.keeps = keeps;
  team.warps = 1;
  team.fits = kOfLane * held_bytes(p, keeps) <= most_bytes(p);
  team.segments = 1;
  while (team.segments < most && team.segments < 4 && team.segments < team.all) team.segments *= 2;
  if (team.all <= team.segments) return;
  team.segments = std::min(4, most);
  while (team.segments < most && divide_up(team.all, team.segments) > enough_warps(p)) team.segments *= 2;
  team.fits = team.fits && divide_up(team.all, team.segments) <= kMostWarps;
  if (!team.fits) team.segments = std::min(2, most);
  const std::int64_t warps = divide_up(team.all, team.segments);
  team.warps = static_cast<int>(team.fits ? warps : std::min<std::int64_t>(kWarpsOfLongRows, warps));
}

}  // namespace

// A warp has a row that fits its registers, so that no round waits at a barrier. Else each warp has four segments,
// since addresses, shuffles and scales cost a thread as much as two of them, and more where a block would have so many
// warps that a multiprocessor has one. Kept values are the first to go.
Team team_of(const Pointwise& p) {
  const Summary& s = program::summary(p);
  Team team{1, 1, 1, 0, 1, true, false};
  const std::int64_t width = scaled::columns_to_do(p);
  while (team.lanes < 32 && team.columns() < width) team.lanes *= 2;
  team.all = divide_up(width, team.columns());
  if (!needs_whole_rows(p)) {
    const bool makes_elements = s.column_outputs < s.outputs;
    if (makes_elements) team.groups = std::max<std::int64_t>(1, team.all);
    return team;
  }
  share_among_warps(p, s.kept != 0, team);
  if (team.keeps && (!team.fits || team.warps > enough_warps(p))) share_among_warps(p, false, team);
  if (s.sums != 0)
    team.groups = std::max<std::int64_t>(1, divide_up(team.all, std::int64_t{team.segments} * team.warps));
  return team;
}

namespace {

int threads_of(const Team& team, int of_lanes) { return team.warps == 1 ? of_lanes : 32 * team.warps; }
std::int64_t teams_of(const Team& team, int threads) { return team.warps == 1 ? threads / team.lanes : 1; }

// Words of ReductionShape's lists, one after the other: for as many chunks as these rows or fewer may have, so that one
// workspace serves both.
struct Workspace {
  std::int64_t totals;
  std::int64_t arrived;
  std::int64_t words;
};
Workspace workspace_of(const Pointwise& p, const Summary& s, const Team& team) {
  const std::int64_t of_rows = divide_up(scaled::rows_to_do(p), teams_of(team, kThreadsOfSums)),
                     chunks = std::clamp<std::int64_t>(of_rows, 1, kMostChunks), groups = divide_up(chunks, 16);
  Workspace w{};
  if (s.sums > s.totals && chunks > 1) w.totals = (s.sums - s.totals) * (chunks + groups) * p.width;
  w.arrived = w.totals + s.totals * chunks * team.groups;
  w.words = w.arrived + (s.sums > s.totals ? team.groups * (groups + 1) : 0) + (s.totals > 0 ? 1 : 0);
  return w;
}

}  // namespace

std::int64_t rows_of_block(const Pointwise& p, const Team& team) {
  const std::int64_t teams = teams_of(team, kThreadsOfSums);
  return teams * std::max<std::int64_t>(1, divide_up(divide_up(scaled::rows_to_do(p), kMostChunks), teams));
}

bool may_be_in_place(const Pointwise& p) { return !needs_whole_rows(p) || team_of(p).groups == 1; }

Layout workspace_layout(const Pointwise& p) {
  if (!has_program(p) || !has_sums(p)) return {};
  return Layout::list(i32, p.rows == kOpen ? kOpen : workspace_of(p, program::summary(p), team_of(p)).words);
}

std::string check(const Pointwise& p) {
  if (p.width > kWidest)
    return "width is too large: with reductions in expr, or a scaling, a row may have 2^29 elements";
  return {};
}

// ---- Configs

namespace {

std::int64_t elements_at_once(const Pointwise& p, const Config& c) {
  return c[kForm] == kRows ? slot_elements(p, c) : 1;
}

// Whether a row stays in registers until the outputs; else each round reads it again, in the same order. One by one
// each element takes a register, of those that so many threads leave.
bool is_held(const Pointwise& p, const Team& team, const Config& c) {
  constexpr int kOfMultiprocessor = 65536, kMost = 128;
  const Summary& s = program::summary(p);
  const int others = 40 + 16 * (s.rounds + scaled::count(p)),
            registers = std::min(kMost, kOfMultiprocessor / (32 * team.warps)) - others;
  const std::int64_t of_element = elements_of(p, true).count + (team.keeps ? s.kept : 0);
  return team.fits && (c[kForm] == kRows || of_element * team.segments * kOfLane <= registers);
}

}  // namespace

bool has_few_elements(const Pointwise& p, const Config& c) {
  return elements_at_once(p, c) <= kOfLane && c[kUnroll] <= 2;
}

int variants(const Pointwise& p, const Target& target, Variant (&out)[kMaxVariants]) {
  const Team team = team_of(p);
  Config config;
  config[kThreads] = chooses_threads(p) ? 128 : 256;
  config[kUnroll] = has_sums(p) && team.fits && team.warps <= 16 ? 2 : 1;
  config[kLoadStream] = team.fits ? 1 : 0;
  config[kStoreStream] = 1;
  int count = 0;
  for (std::int32_t vector = 16; vector >= 4 && count == 0; vector /= 2) {
    config[kVector] = vector;
    if (elements_at_once(p, config) > 1 && elements_at_once(p, config) <= kOfLane && form_fits(p, target, config))
      out[count++] = {"rows", config};
  }
  config[kForm] = kRagged;
  config[kVector] = 16;
  config[kUnroll] = 1;
  config[kLoadStream] = is_held(p, team, config) ? 1 : 0;
  out[count++] = {"ragged", config};
  return count;
}

std::uint32_t alignment(const Pointwise& p, const Config& config) {
  if (config[kForm] != kRows) return 1;
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(config[kVector], widest_vector_element(p, config) * elements_at_once(p, config)));
}

// ---- The image

namespace {

constexpr std::size_t kOperandsAt = sizeof(ReductionShape);
std::size_t scales_at(const Summary& s) { return kOperandsAt + static_cast<std::size_t>(s.operands()) * sizeof(void*); }
std::size_t numbers_at(const Pointwise& p, const Summary& s) {
  return scales_at(s) + static_cast<std::size_t>(scaled::count(p)) * sizeof(void*);
}

// A function of a number that gives one of these. Loops that call it are unrolled.
std::string table_text(const char* type, const char* name, const std::vector<std::string>& values) {
  return cat("QUERN_DEVICE constexpr ", type, " ", name, "([[maybe_unused]] int number) {\n  const ", type, " of[] = {",
             values.empty() ? "0" : join(values, ", "), "};\n  return of[number];\n}\n");
}

// Sums over rows come first.
std::string outputs_text(const Pointwise& p, const Summary& s) {
  std::string text;
  std::vector<std::string> sums, columns;
  int rows = 0, totals = s.sums - s.totals;
  for (int i = 0; i < s.outputs; ++i) {
    const Entry& entry = s.entries[s.inputs + i];
    text +=
        cat("template <>\nstruct Output<", i, "> {\n  using Type = ", common::spec_type(program::dtype_of(p, entry)),
            ";\n  static constexpr pointwise::Spread kSpread = pointwise::Spread::",
            kBiasSpreads[static_cast<int>(entry.spread)], ";\n};\n");
    sums.push_back(cat(entry.spread == Spread::row ? rows++ : entry.spread == Spread::scalar ? totals++ : -1));
    columns.emplace_back(entry.spread == Spread::column ? "true" : "false");
  }
  return text + table_text("int", "sum_of", sums) + table_text("bool", "is_column", columns) +
         table_text("int", "place_of_scales", scaled::places(p));
}

// What calls an emitted function with the arguments that it takes, of those that any takes.
std::string caller_text(const std::string& type, const std::string& function, const expression::Stages& stages) {
  return cat(type,
             " {\n  template <class N, class I, class R, class K, class O>\n"
             "  static QUERN_DEVICE void of(N& numbers, I& in, [[maybe_unused]] R& reduced, [[maybe_unused]] K& kept, "
             "O& out) {\n    ",
             function, "(numbers, in, ", stages.rounds.empty() ? "" : "reduced, ",
             stages.kept.empty() ? "" : "kept, spec::keeps, ", "out);\n  }\n};\n");
}

std::string reductions_text(const expression::Program& program) {
  const expression::Stages stages = expression::stages(program);
  std::vector<std::string> rounds, maximums, means;
  for (const expression::Id id : stages.reductions()) {
    const expression::Node& node = program.tree[id];
    rounds.push_back(cat(stages.needs[static_cast<std::size_t>(id)] - 1));
    maximums.emplace_back(node.is(expression::kRowMax) ? "true" : "false");
    means.emplace_back(node.is(expression::kMean) ? "true" : "false");
  }
  std::string text = table_text("int", "round_of", rounds) + table_text("bool", "is_maximum", maximums) +
                     table_text("bool", "is_mean", means);
  text += cat("template <int Round>\nstruct Terms;\n", caller_text("struct Element", "compute", stages));
  for (std::size_t round = 0; round < stages.rounds.size(); ++round)
    text += cat("template <>\n", caller_text(cat("struct Terms<", round, ">"), cat("terms_", round), stages));
  return text;
}

// Of a multiprocessor, at least: each of 1024 threads has 64 registers, enough for vectors of one row.
int resident_threads(const Pointwise& p, const Config& c) {
  return elements_at_once(p, c) > 1 && !has_sums(p) ? 1024 : 512;
}

}  // namespace

void specialize(const Pointwise& p, const Config& config, Spec& spec) {
  const Summary& s = program::summary(p);
  const Team team = team_of(p);
  const int threads = threads_of(team, kThreadsOfSums);
  spec.header("common/reduce.cuh");
  spec.integer("max_threads", chooses_threads(p) ? common::kMaxThreads : threads);
  spec.integer("resident_blocks", chooses_threads(p) ? 0 : std::max(1, resident_threads(p, config) / threads));
  spec.flag("vectors", true);  // of one element in the ragged form
  spec.integer("elements", elements_at_once(p, config));
  spec.integer("access", config[kVector]);
  spec.integer("unroll", config[kUnroll]);
  spec.flag("load_stream", config[kLoadStream] == 1);
  spec.flag("store_stream", config[kStoreStream] == 1);
  spec.integer("lanes", team.lanes);
  spec.integer("warps", team.warps);
  spec.integer("segments", team.segments);
  spec.flag("held", is_held(p, team, config));
  spec.integer("threads", threads);
  spec.integer("reductions", s.reductions);
  spec.integer("rounds", s.rounds);
  spec.integer("sums", s.sums);
  spec.integer("totals", s.totals);
  spec.flag("has_columns", s.column_outputs != 0);
  spec.integer("kept", s.kept);
  spec.flag("keeps", team.keeps && is_held(p, team, config));
  spec.flag("whole", p.width != 0 && p.width == team.columns() * team.all &&
                         team.all % (std::int64_t{team.segments} * team.warps) == 0);
  scaled::specialize(p, spec);
  program::specialize_operands(p, numbers_at(p, s), outputs_text(p, s) + reductions_text(program::parsed(p)), spec);
  spec.part("pointwise/reduction.cuh");
}

// ---- The launch

void launch(const Pointwise& p, const PointwiseArgs& a, const Config& config, Launch& launch) {
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 31;
  const Summary& s = program::summary(p);
  const Team team = team_of(p);
  const bool sums = s.sums != 0;
  const int threads = threads_of(team, sums ? kThreadsOfSums : config[kThreads]);
  const std::int64_t rows = sums ? rows_of_block(p, team) : teams_of(team, threads) * config[kUnroll];
  const std::int64_t chunks = std::max<std::int64_t>(sums ? 1 : 0, divide_up(scaled::rows_to_do(p), rows));
  program::write_operands(p, a, kOperandsAt, numbers_at(p, s), launch);
  for (int i = 0; i < scaled::count(p); ++i)
    std::memcpy(launch.params + scales_at(s) + static_cast<std::size_t>(i) * sizeof(void*), &a.scales.entries[i].data,
                sizeof(void*));
  ReductionShape shape{};
  shape.rows = p.rows;
  shape.rows_with_scales = scaled::rows_to_do(p);
  shape.width = static_cast<int>(p.width);
  shape.segments = static_cast<int>(team.all);
  shape.groups = static_cast<unsigned>(team.groups);
  shape.by_groups = common::make_divisor32(static_cast<std::uint64_t>(team.groups));
  shape.rows_of_block = rows;
  shape.chunks = static_cast<unsigned>(std::min(chunks, kMostBlocks));
  if (sums) {
    const Workspace w = workspace_of(p, s, team);
    shape.columns = static_cast<unsigned*>(a.workspace.data);
    shape.totals = shape.columns + w.totals;
    shape.arrived = shape.columns + w.arrived;
  }
  std::memcpy(launch.params, &shape, sizeof(shape));
  launch.empty = !sums && (p.rows == 0 || (p.width == 0 && s.column_outputs == 0 && !scaled::has_whole_rows(p)));
  launch.block[0] = static_cast<std::uint32_t>(threads);
  launch.grid[0] = chunks >= kMostBlocks / team.groups ? std::numeric_limits<std::uint32_t>::max()
                                                       : static_cast<std::uint32_t>(chunks * team.groups);
}

}  // namespace quern::pointwise::reductions
