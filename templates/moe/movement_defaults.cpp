// The default config of the kernels that move rows. Times are of an H200.
#include <algorithm>

#include "moe/movement_rows.h"
#include "moe/movement_step.h"

namespace quern::moe {
namespace {

using common::divide_up;
using common::power_of_two_from;

// A token has a row of each expert at most.
std::int64_t most_routes(const Movement& m) { return std::min(m.topk, m.rules.experts); }

constexpr std::int64_t kFewWarps = 16;  // of a multiprocessor

// Whether a multiprocessor would have at most so many warps, with `warps` for each token.
bool are_few(const Movement& m, const DeviceModel& model, std::int64_t warps) {
  return m.tokens != kOpen && m.tokens * warps <= kFewWarps * model.multiprocessors;
}

// The rows of a token that are summed: of few bytes all routes at once, also those that have no row for want of
// experts. With more of them, threads would have turns without a row: on an H200 158 tokens of 15104 bytes, of ten
// routes to two experts, take 4.14 us, with eight rows at once 5.58; 1379 of 31 KB, of six to two, 32.4 and 34.4.
std::int64_t summed_rows(const Movement& m, const DeviceModel& model) {
  const bool few = are_few(m, model, 1) && m.tokens * row_bytes(m) <= std::int64_t{256} << 10;
  return few ? m.topk : most_routes(m);
}

// Whether sums of more than eight rows are of narrower vectors, so that a thread has up to sixteen in flight: of
// sixteen or more while L2 has room for all that is read. On an H200 981 rows of 3584 bytes from thirteen 13.9 us
// for 14.2, 4724 of 640 bytes from eleven 10.8 for 11.1, 300 of 14336 bytes from eleven 14.2 for 15.2; but 1500 of them
// from sixteen 89.4 for 86.3. Of fewer than sixteen up to five times as much, since the other way leaves a turn half
// empty: from ten of 10752 bytes 525 rows 16.5 for 17.7 with two at once, 18.4 with eight; 2000 rows 55.9 for 56.9.
bool sums_many_at_once(const Movement& m) {
  const std::int64_t most = m.topk < 16 ? 256 : 48;
  return most_routes(m) > 8 && m.tokens != kOpen && m.tokens * m.topk * row_bytes(m) <= most << 20;
}

// Sums of more than eight rows have accesses of 4 bytes up to so many bytes of all sums; from a quarter of it a thread
// has two, so that there are no more threads than there would be with 8: on an H200 45 of 3968 bytes from fifteen 2.89
// us for 3.04, 60 of 4096 bytes from twelve 2.78 for 2.96.
constexpr std::int64_t kNarrowSums = std::int64_t{512} << 10;
bool has_two_narrow(const Movement& m, std::int64_t vector) {
  const std::int64_t sums = m.tokens * row_bytes(m);
  return m.form == Form::combine && vector == 4 && m.topk > 8 && sums > kNarrowSums / 4 && sums <= kNarrowSums;
}

// The most vectors for each thread. Without the number of tokens: as for many of them.
std::int64_t vectors_per_thread(const Movement& m, const DeviceModel& model, std::int64_t vector) {
  if (m.form == Form::combine) return summed_rows(m, model) >= 3 && !has_two_narrow(m, vector) ? 1 : 2;
  if (m.tokens == kOpen) return 4;
  const std::int64_t of_multiprocessor = m.tokens * row_bytes(m) / vector / model.multiprocessors;
  return of_multiprocessor < 1024 ? 1 : of_multiprocessor < 4096 ? 2 : 4;
}

// Of `most` and half of it, that with which fewer lanes have no vector at the end of a row.
std::int64_t better_unroll(std::int64_t vectors, std::int64_t lanes, std::int64_t most) {
  const auto idle = [&](std::int64_t unroll) {
    return (lanes * unroll - vectors % (lanes * unroll)) % (lanes * unroll);
  };
  return most > 1 && idle(most / 2) < idle(most) ? most / 2 : most;
}

// Where a row ends inside a part of a sum, lanes have nothing to do: fewer of them where that is more than an eighth,
// and helps. On an H200, 4724 rows of 640 bytes from eleven: 12.1 us with 32 lanes, 10.9 with eight.
std::int64_t lanes_of_sum(std::int64_t vectors, std::int64_t lanes) {
  const auto idle = [&](std::int64_t of) { return divide_up(vectors, of) * of - vectors; };
  while (lanes > 4 && idle(lanes) > vectors / 8 && idle(lanes / 2) < idle(lanes)) lanes /= 2;
  return lanes;
}

// A row of few chunks has fewer lanes: on an H200 40000 rows of 384 bytes from two take 22.2 us with eight, 26.9 with
// 32, 9000 of 256 bytes from six 10.1 and 13.5. Else a warp for each segment of a row, as a power of two: its loads are
// all in flight at once. Where rows are few, of half as many chunks: 232 x 1472 from one 3.10 us and 3.25, 42 x 1536
// from seven 2.99 and 3.14, 1200 x 1024 from four 7.99 and 9.29; 3000 x 2048 from six 42.2 and 42.5. But not where only
// whole segments have all warps on the device at once: 660 x 2880 from sixteen 36.2 us, of half as many 39.8. Of large
// ones, 4096 x 7168 from eight: one warp 266 us, four 262, eight 259; 16384 x 4096, two segments a warp 441, one 437,
// half of one 450.
// Of 9 to 32 chunks and few tokens that have few routes, a warp: 1147 of 512 bytes from three take 3.31 us with a row
// at once, with two 3.52, with eight lanes of four chunks 3.72.
constexpr DotShape kWarpPerToken = {32, 1, 1};

DotShape shape_of_dot(const Movement& m, const DeviceModel& model) {
  const std::int64_t chunks = std::max<std::int64_t>(1, divide_up(row_bytes(m), kChunkBytes));
  const bool few_routes = m.form == Form::combine_gradient && m.topk <= 4 && are_few(m, model, 1);
  if (chunks > 8 && chunks <= 32 && few_routes) return kWarpPerToken;
  if (chunks <= 32) {
    const std::int64_t lanes = chunks <= 4 ? 4 : 8;
    return {lanes, power_of_two_from(divide_up(chunks, lanes)), 1};
  }
  const auto of_lane = [&](std::int64_t unroll) -> DotShape {
    return {32, unroll, std::min<std::int64_t>(8, power_of_two_from(divide_up(chunks, 32 * unroll)))};
  };
  const auto fit = [&](const DotShape& dot) { return m.tokens * dot.warps <= 2 * kFewWarps * model.multiprocessors; };
  const bool many = m.tokens == kOpen || m.tokens * m.topk * row_bytes(m) > std::int64_t{96} << 20;
  const DotShape two = of_lane(2), four = of_lane(4);
  return many || chunks > 512 || (fit(four) && !fit(two)) ? four : two;
}

// With a scale for each row: warps that have four vectors a thread, which are in flight at once.
std::int64_t warps_of_row(std::int64_t vectors) {
  return std::clamp<std::int64_t>(power_of_two_from(divide_up(vectors, std::int64_t{32} * 4)), 1, 8);
}

// Up to eight, of 8 bytes sixteen. Where eight and what is left would be two turns of many tokens, two.
std::int64_t summed_at_once(const Movement& m, const DeviceModel& model, std::int64_t vector) {
  const bool sixteen = vector <= 8 && (are_few(m, model, 1) || sums_many_at_once(m));
  if (m.topk > 8 && m.topk < 16 && !sixteen && !are_few(m, model, 1)) return 2;
  return power_of_two_from(std::min<std::int64_t>(summed_rows(m, model), sixteen ? 16 : 8));
}

// Whether of several teams one has more routes with two at once: on an H200 897 tokens of 1152 bytes from five rows,
// two teams, take 7.82 us with four and one, 6.61 with three and two.
bool two_are_uneven(const Movement& m, const DeviceModel& model, const DotShape& dot) {
  if (m.tokens == kOpen) return false;
  const std::int64_t one = routes_of_team(m, dot, 1, model), two = routes_of_team(m, dot, 2, model);
  return one < two && divide_up(m.topk, one) == divide_up(m.topk, two) && one < m.topk;
}

// Rows of a token at once for the gradient of probs. With four chunks of a lane one takes 64 registers, which is enough
// where 32 warps wait for theirs; with half of them the second row no longer waits for the first. With a quarter
// another team has it, but for dense probabilities. With fewer chunks two take as many: on an H200 1497 x 3520 from
// eight 28.7 us, with one 31.2; 9000 x 128 from six 10.1 and 11.4.
std::int64_t rows_of_dot(const Movement& m, const DeviceModel& model, const DotShape& dot) {
  const std::int64_t warps = std::max<std::int64_t>(1, dot.warps * dot.lanes / 32);
  const bool shares_routes = !m.dense && are_few(m, model, 2 * warps);
  const bool is_warp_per_token = dot.lanes == 32 && dot.unroll == 1;
  if (shares_routes || m.topk == 1 || is_warp_per_token || two_are_uneven(m, model, dot)) return 1;
  return are_few(m, model, warps) || (dot.unroll < 4 && m.topk > 2) || dot.lanes < 32 ? 2 : 1;
}

std::int64_t rows_at_once(const Movement& m, const DeviceModel& model, std::int64_t vector) {
  return m.form == Form::combine ? summed_at_once(m, model, vector) : 8;
}

// Each is two accesses.
std::int64_t ragged_rows_at_once(const Movement& m, const DeviceModel& model) {
  return m.form == Form::combine ? power_of_two_from(std::min<std::int64_t>(summed_rows(m, model), 4)) : 8;
}

// Whether rows move as they are, in vectors. Scales would leave the lanes of a small group much to do.
bool moves_vectors(const Movement& m, std::int64_t vector, bool ragged) {
  return !ragged && m.form == Form::dispatch && !quantizes(m) && m.scaling == MoeScaling::none && vector == 16;
}

// Of the rows of routes and padding.
std::int64_t written_bytes(const Movement& m) {
  return std::min(m.tokens * m.topk + most_pads(m), capacity_of(m)) * row_bytes(m);
}
bool are_mostly_pads(const Movement& m) { return most_pads(m) >= 7 * m.tokens * m.topk; }

// Lanes of a group that moves rows, and vectors of each lane.
struct GroupShape {
  std::int64_t lanes;
  std::int64_t unroll;
  std::int64_t threads;
};

// Where many rows are padding: as much for each group as 512 threads of each multiprocessor need to clear all of them
// at once, since a group first looks its row up. On an H200, 357 rows of 1152 bytes to 27 experts that each have a
// multiple of 128 take 2.59 us with four vectors a thread, 2.92 with two; 48 of 256 bytes to eight of 185 experts 1.78
// with one, 1.89 with two. Groups of eight lanes are better for long rows: 3 of 23808 bytes to seven 2.64 us, with four
// lanes more than 3; of four for shorter ones: the 357 rows of before 2.73 with eight. A thread that has many routes
// writes their rows one after the other, so it has one vector: 25 of 640 bytes to thirteen 1.85 us for 1.92. Of what L2
// has no room for, larger blocks: 128 rows of 14336 bytes to eight of 256 experts 111.7 us with 256 threads, with 64 of
// them 126.4.
GroupShape clear_at_once(const Movement& m, const DeviceModel& model, std::int64_t vectors) {
  constexpr std::int64_t kLong = 256;
  const std::int64_t threads = std::int64_t{512} * model.multiprocessors;
  const std::int64_t of_thread = divide_up(most_pads(m) * vectors, threads), of_row = divide_up(vectors, 8);
  if (of_row == 1) return {4, 2, 128};
  if (written_bytes(m) > std::int64_t{256} << 20) return {8, 4, 256};
  const std::int64_t most = m.topk > 8 && vectors < kLong ? 1 : 4;
  const std::int64_t unroll = power_of_two_from(std::min({of_thread, of_row, most}));
  if (unroll == 1) return {8, 1, 128};
  return vectors < kLong ? GroupShape{4, unroll, 128} : GroupShape{8, unroll, 64};
}

// Of many bytes a line of 128 for each row: then as many groups as there can be are on their way through the rows of a
// token. On an H200, 4096 x 7168 to eight take 144.2 us, with 2 KB for each group 148.9, 1 KB 149.0, 512 bytes 149.4,
// 256 bytes 159.1, with a line of eight lanes 146.7. While L2 has room for what is written, a thread has one vector
// where it writes many rows or all is little: 885 tokens of 640 bytes to fourteen 2.76 us for 2.84, 574 of 5376 bytes
// to nine 8.60 for 8.87, 419 of 128 bytes to sixteen 2.05 for 2.40, 57 of 4096 bytes to seven 2.22 for 2.50; and four
// where it writes few and long ones: 1930 of 5120 bytes to one 6.43 us for 6.64, 4096 of 2560 bytes to two 9.05 for
// 9.65.
GroupShape shape_of_group(const Movement& m, const DeviceModel& model, std::int64_t vectors) {
  const GroupShape line{4, 2, 128};
  if (m.tokens == kOpen) return line;
  const std::int64_t written = written_bytes(m);
  const bool many_pads = most_pads(m) >= 2 * m.tokens * m.topk && written <= std::int64_t{24} << 20;
  if (many_pads || are_mostly_pads(m)) return clear_at_once(m, model, vectors);
  if (row_bytes(m) <= 256 && written <= std::int64_t{2} << 20) return {4, 1, 64};
  const std::int64_t most = m.topk > 8 ? 32 : 8;
  if (m.topk > 4 && written <= most << 20) return {4, 1, 128};
  if (m.topk <= 2 && row_bytes(m) >= 1024 && written <= std::int64_t{24} << 20) return {8, 4, 128};
  return line;
}

// Chunks that are moved: rows of few bytes in all, which L2 keeps with what is written.
bool are_few_chunk_bytes(const Movement& m) {
  return m.form == Form::reorder && m.tokens != kOpen && m.tokens * row_bytes(m) <= std::int64_t{12} << 20;
}

// A line of each row for a group of four lanes. On an H200, 1338 rows of 2432 bytes in 54 chunks, backward, take 3.97
// us, with 32 lanes 4.75; 7661 of 24576 bytes 97.0 us for 99.4. Of many short rows a whole one: 107956 of 512
// bytes 33.7 us, of two vectors a lane 37.8. Each block has a table of the chunks: fewer blocks where it is long. 1206
// rows of 4224 bytes in 473 chunks take 6.6 us with 256 threads, 7.2 with 128, and with four vectors a lane 5.1; 10000
// of 4096 bytes in 1500 chunks 26.4 us for 30.7. Backward, where the table is waited for first, 5000 of them take 14.9
// for 14.3, and many bytes forward 93.0 for 92.0.
GroupShape shape_of_chunks(const Movement& m, std::int64_t vectors) {
  const std::int64_t of_lane = power_of_two_from(divide_up(vectors, 4));
  const bool hides_table =
      m.chunks > kFewChunks && !m.backward && m.tokens != kOpen && m.tokens * row_bytes(m) <= std::int64_t{48} << 20;
  const std::int64_t most = of_lane <= 8 && !are_few_chunk_bytes(m) ? 8 : hides_table ? 4 : 2;
  return {4, std::clamp<std::int64_t>(of_lane, 1, most), m.chunks > 1024 ? 512 : m.chunks > 128 ? 256 : 128};
}

// Sums of few bytes: more threads with half as much each. On an H200, 14296 tokens of 128 bytes from six rows 5.05 us
// and 5.30, twelve of 4352 bytes from four 2.13 and 2.24; 40 of 14336 bytes from eight would take 3.47 for 3.43. And of
// many rows at once. Tokens of few bytes that have several rows take 4 bytes at a time: 7 of 1152 bytes from eight 1.98
// us and 2.16, one of 8576 bytes from nine 2.07 and 2.23, 78 of 256 bytes from eleven 2.34 and 2.41. Of more than eight
// rows, all of which are in flight: 40 of 6272 bytes from fourteen 3.18 us and 3.25, 45 of 10752 from sixteen 4.14 and
// 4.51, but 100 of 8192 bytes from eight 3.87 and 3.63.
std::int64_t default_vector(const Movement& m) {
  const std::int64_t natural = natural_vector(m);
  if (m.form != Form::combine) return natural;
  const bool open = m.tokens == kOpen;
  const std::int64_t sums = m.tokens * row_bytes(m);
  const std::int64_t most = m.topk > 8 ? kNarrowSums : m.topk > 4 ? std::int64_t{64} << 10 : 0;
  if (!open && sums <= most) return std::min<std::int64_t>(natural, 4);
  const bool few = !open && sums <= std::int64_t{256} << 10;
  return few || row_bytes(m) <= 128 || sums_many_at_once(m) ? std::min<std::int64_t>(natural, 8) : natural;
}

// The gradient of probs: whether both accesses are evict-first. Of few and short rows that gains 2 to 5 %, else it
// loses up to 1 %.
bool are_few_short_rows(const Movement& m) {
  return m.form == Form::combine_gradient && m.tokens != kOpen && row_bytes(m) <= 512 &&
         m.tokens * m.topk * row_bytes(m) <= std::int64_t{4} << 20;
}

// Evict-first loads. They gain 1 to 4 % where L2 has room for all rows that a token is summed from, and cost as much
// where it has not and a token has several: 20000 x 3000 from four rows 142.4 us, without 136.6. Short rows that are
// read once and stored several times gain up to 5 %, long ones lose 1 %. Sums of short rows gain if stores are
// evict-first too: on an H200 2324 tokens of 128 bytes from one row take 1.84 us, 2.12 without, 2.07 to 2.13 with one
// of the two; 60000 from eight 18.8 us for 19.2.
bool loads_once(const Movement& m) {
  if (m.form == Form::reorder) return are_few_chunk_bytes(m);
  if (m.form == Form::dispatch) return !quantizes(m) && row_bytes(m) < 512;
  if (m.form == Form::combine_gradient) return are_few_short_rows(m);
  if (m.form != Form::combine) return false;
  if (row_bytes(m) < 256) return true;
  const bool many = m.tokens == kOpen || m.tokens * m.topk * row_bytes(m) > std::int64_t{48} << 20;
  return !many || most_routes(m) < 3;
}

// Evict-first stores gain 1.5 % where a row is written several times, and up to a third where most rows are padding.
bool streams_stores(const Movement& m) {
  return m.form == Form::dispatch || m.form == Form::combine || are_few_short_rows(m) || are_few_chunk_bytes(m);
}

// Whether all rows of a sum are looked up before the first is read. Without it ptxas reads the first rows, and waits,
// before the last numbers of rows are asked for, if that saves registers: on an H200 40 sums of fourteen rows of 6272
// bytes 3.27 us for 3.60, 78 of eleven of 256 bytes 2.41 for 2.69, 7 of eight of 1152 bytes 2.16 for 2.49, 45 of
// sixteen of 10752 bytes 4.01 for 4.12. Many sums hide the wait, and lose by the registers: 4724 of eleven rows of 640
// bytes 9.36 us for 9.11.
bool looks_up_first(const Movement& m) {
  return may_look_up_first(m) && m.tokens != kOpen && m.tokens * m.topk * row_bytes(m) <= std::int64_t{8} << 20;
}

// Of quantized rows, whether groups are shaped for the padding, of which each would otherwise clear many parts, one
// after the other: on an H200 300 rows of 2048 numbers to four of 64 experts, each with a multiple of 128, take 6.7 us
// with four vectors a thread in groups of four lanes, 12.2 with one in groups of 32. With less it is the tokens that
// take longer so: 29 of 448 numbers to 2 of 455 experts 2.79 us, 1.85 with one.
bool are_shaped_for_pads(const Movement& m, const DeviceModel& model, std::int64_t vectors) {
  if (!quantizes(m) || scales_rows(m) || m.blocked || m.tokens == kOpen) return false;
  return most_pads(m) >= 2 * m.tokens * m.topk &&
         most_pads(m) * vectors > std::int64_t{16} * 512 * model.multiprocessors;
}

Config config_for(const Movement& m, const DeviceModel& model, std::int64_t vector, bool ragged = false) {
  const std::int64_t vectors = divide_up(row_bytes(m), vector);
  const std::int64_t of_block = block_vectors(m, vector),
                     of_part = scales_fill_words(m, vector) ? 4 * of_block : of_block;
  std::int64_t lanes = std::clamp<std::int64_t>(std::max(power_of_two_from(vectors), of_block), 4, 32);
  if (m.form == Form::combine) lanes = has_two_narrow(m, vector) ? 8 : lanes_of_sum(vectors, lanes);
  Config config;
  const auto set = [&](MovementParameter parameter, std::int64_t value) {
    config[parameter] = static_cast<std::int32_t>(value);
  };
  set(kVector, vector);
  const std::int64_t most = std::min<std::int64_t>(vectors_per_thread(m, model, vector), !ragged                 ? 4
                                                                                         : element_bytes(m) == 1 ? 1
                                                                                                                 : 2);
  const std::int64_t unroll = better_unroll(vectors, lanes, most);
  set(kUnroll, std::max(unroll, of_part / lanes));
  const std::int64_t warps = scales_rows(m) ? warps_of_row(vectors) : 1;
  set(kLanes, warps > 1 ? 32 : lanes);
  if (scales_rows(m))
    set(kUnroll, std::clamp<std::int64_t>(power_of_two_from(divide_up(vectors, lanes * warps)), 1, 8));
  set(kWarps, warps);
  set(kBatch, ragged ? ragged_rows_at_once(m, model) : rows_at_once(m, model, vector));
  if (are_shaped_for_pads(m, model, vectors)) {
    set(kLanes, std::clamp<std::int64_t>(of_part / 4, 4, 32));
    set(kUnroll, 4);
  }
  if (has_gradient(m)) {
    const DotShape dot = shape_of_dot(m, model);
    set(kLanes, dot.lanes);
    set(kUnroll, dot.unroll);
    set(kWarps, dot.warps);
    const bool one = ragged || vector < 16 || m.form == Form::factor_gradient;
    set(kBatch, one ? 1 : rows_of_dot(m, model, dot));
  }
  set(kThreads, m.blocked ? 512 : 128);  // each has a part in a barrier of the grid
  // With blocked scales three would fit, but 56 registers let a thread read further ahead: 4096 tokens of 7168 to eight
  // of 256 experts take 116 us on an H200, with three 119.
  set(kResident, m.blocked ? 2 : 1);
  const bool of_chunks = m.form == Form::reorder && vector == 16 && !ragged;
  if (of_chunks || moves_vectors(m, vector, ragged)) {
    const GroupShape group = of_chunks ? shape_of_chunks(m, vectors) : shape_of_group(m, model, vectors);
    set(kLanes, group.lanes);
    set(kUnroll, group.unroll);
    set(kThreads, group.threads);
  }
  set(kRagged, ragged);
  set(kLoadOnce, !ragged && loads_once(m));
  set(kStoreStream, !ragged && streams_stores(m));
  set(kLookupsFirst, looks_up_first(m));
  return config;
}

}  // namespace

// Rows shorter than a few windows are read in elements: most of them would be ends.
int movement_variants(const Movement& m, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
  constexpr std::int64_t kShort = 64;
  const std::int64_t vector = default_vector(m);
  const bool ragged = may_be_ragged(m) && row_bytes(m) >= kShort;
  if (ragged && natural_vector(m) < 8) {
    out[0] = {"ragged", config_for(m, model, 16, true)};
    return 1;
  }
  out[0] = {natural_vector(m) == 16 ? "vector" : "narrow", config_for(m, model, vector)};
  if (vector == element_bytes(m)) return 1;
  out[1] = {"element", config_for(m, model, element_bytes(m))};
  if (ragged) out[1] = {"ragged", config_for(m, model, 16, true)};
  return 2;
}

}  // namespace quern::moe
