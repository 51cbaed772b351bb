// What follows from a problem of rope. Host code.
#ifndef QUERN_ROPE_PROBLEM_H_
#define QUERN_ROPE_PROBLEM_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "rope/rope.h"

namespace quern::rope {

inline std::int64_t rotary_dim(const Rope& p) {
  return p.rotary_dim == 0 ? p.head_dim - p.rotary_offset : p.rotary_dim;
}
inline bool is_interleaved(const Rope& p) { return p.style == RopeStyle::interleaved; }
// Whether a token's number here is not that in the whole sequence.
inline bool has_chunks(const Rope& p) { return p.cp_size > 1; }
// Tokens of a whole sequence, of which `seq` are here.
inline std::int64_t whole_seq(const Rope& p) { return p.seq == kOpen ? kOpen : p.seq * p.cp_size; }
// Positions of a token.
inline std::int64_t axes(const Rope& p) { return std::max<std::int64_t>(1, p.sections.count); }
// The pairs that have the same axis as pair j. rope/sections.cpp
struct Section {
  int axis;
  std::int64_t begin;  // the first of them, where they are adjacent
  std::int64_t pairs;
};
Section section_of(const Rope& p, std::int64_t j);
// Adjacent pairs that have the same axis, from multiples of it on: a power of two. rope/sections.cpp
std::int64_t axis_run(const Rope& p);
// Whether each section has entries of the table from 0 on.
inline bool restarts(const Rope& p) {
  return p.section_style == RopeSectionStyle::restarted || p.section_style == RopeSectionStyle::apart;
}
inline bool is_apart(const Rope& p) { return p.section_style == RopeSectionStyle::apart; }
// The entry of the table that pair j has.
inline std::int64_t entry_of(const Rope& p, std::int64_t j) { return restarts(p) ? j - section_of(p, j).begin : j; }
// Of pair j among the rotated elements. rope/sections.cpp
struct Elements {
  std::int64_t first, second;
};
Elements elements_of(const Rope& p, std::int64_t j);
// Cosines of a position.
inline std::int64_t entries(const Rope& p) {
  return restarts(p) ? *std::max_element(p.sections.values, p.sections.values + 4) : rotary_dim(p) / 2;
}
inline std::int64_t table_stride(const Rope& p) { return entries(p) * (p.table == RopeTable::separate ? 1 : 2); }
inline bool has_table(const Rope& p) { return p.table != RopeTable::computed; }
inline bool has_angles(const Rope& p) { return p.table == RopeTable::angles; }
// Whether the table has cosines and sines, so that the kernel computes none.
inline bool has_cosines(const Rope& p) { return has_table(p) && !has_angles(p); }
// Whether sequences of different lengths lie one after the other, as one batch.
inline bool is_packed(const Rope& p) { return p.layout == RopeLayout::thd; }
inline std::int64_t batches(const Rope& p) { return is_packed(p) ? 1 : p.batch; }
inline bool is_open(const Rope& p) { return batches(p) == kOpen || p.seq == kOpen; }
inline std::int64_t table_rows(const Rope& p) {
  if (p.position == RopePosition::tokens) return is_open(p) ? kOpen : axes(p) * batches(p) * p.seq;
  return p.table_rows == 0 ? whole_seq(p) : p.table_rows;
}
// Of q.
inline bool is_in_place(const Rope& p) { return p.place == RopePlace::in_place; }
inline bool has_values(const Rope& p) { return p.values == RopeValues::copied; }
inline bool has_cache(const Rope& p) { return p.cache != RopeCache::none; }
inline bool is_placed_by_position(const Rope& p) { return has_cache(p) && p.cache != RopeCache::slots; }
// Every element: not in place, where the other elements of a head stay, nor tokens outside all sequences or the cache.
inline bool writes_queries_whole(const Rope& p) { return !is_in_place(p) && !is_packed(p); }
inline bool writes_keys_whole(const Rope& p) { return writes_queries_whole(p) && !has_cache(p); }
// What rope_scaling divides by.
inline double scaling_factor(const Rope& p) { return p.factor == 0 ? 8 : p.factor; }
inline bool is_quantized(const Rope& p) { return p.element != DType::none; }
inline bool makes_scales(const Rope& p) { return p.scaling != RopeScales::tensor; }
inline bool has_fp32_scales(const Rope& p) { return p.scaling != RopeScales::mx; }
// Elements that share a scale.
inline std::int64_t block_length(const Rope& p) {
  return p.scaling == RopeScales::mx ? 32 : p.scaling == RopeScales::block128 ? 128 : p.head_dim;
}
// Of a head.
inline std::int64_t scales_of_head(const Rope& p) { return (p.head_dim + block_length(p) - 1) / block_length(p); }
inline std::int64_t all_heads(const Rope& p) { return p.heads + p.kv_heads * (has_values(p) ? 2 : 1); }
// Elements of a head that are copied, where q and k are not all there is and both in place.
inline std::int64_t copies(const Rope& p) {
  return is_in_place(p) && !has_values(p) && !has_cache(p) ? 0 : p.head_dim - rotary_dim(p);
}
// Whether no element is read or written, so that nothing is launched.
inline bool is_idle(const Rope& p) { return all_heads(p) == 0 || rotary_dim(p) + copies(p) == 0; }

// Of pair j, table=computed: turns a position, in units of 2^-64. rope/frequency.cpp
std::uint64_t frequency(const Rope& p, std::int64_t j);
// All of them, as a source. rope/frequency.cpp
std::string frequencies_source(const Rope& p);
// Random positions, angles, sequences and places in a cache. rope/generate.cpp
bool generate(const Rope& p, const RopeArgs& a, int operand, std::uint64_t seed, void* data);
// rope/check.cpp
std::string check(const Rope& p);
std::string check_extents(const Rope& p);
// Of the numbers of a launch, whose extents are closed: which it refuses. rope/check.cpp
std::string check_launch(const Rope& p, const RopeArgs& a);
// rope/reference.cpp
void run_reference(const Rope& p, const RopeArgs& a);

}  // namespace quern::rope

#endif  // QUERN_ROPE_PROBLEM_H_
