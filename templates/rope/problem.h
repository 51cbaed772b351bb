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
// Whether a token's number here is not that in the whole sequence.
inline bool has_chunks(const Rope& p) { return p.cp_size > 1; }
// Tokens of a whole sequence, of which `seq` are here.
inline std::int64_t whole_seq(const Rope& p) { return p.seq == kOpen ? kOpen : p.seq * p.cp_size; }
// Positions of a token.
inline std::int64_t axes(const Rope& p) { return std::max<std::int64_t>(1, p.sections.count); }
// The axis that pair j has.
int axis_of(const Rope& p, std::int64_t j);
// Adjacent pairs that have the same axis, from multiples of it on: a power of two.
std::int64_t axis_run(const Rope& p);
inline std::int64_t table_stride(const Rope& p) {
  return p.table == RopeTable::separate ? rotary_dim(p) / 2 : rotary_dim(p);
}
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
inline bool is_in_place(const Rope& p) { return p.place == RopePlace::in_place; }
inline bool is_interleaved(const Rope& p) { return p.style == RopeStyle::interleaved; }
inline std::int64_t all_heads(const Rope& p) { return p.heads + p.kv_heads; }
// Elements of a head that are copied.
inline std::int64_t copies(const Rope& p) { return is_in_place(p) ? 0 : p.head_dim - rotary_dim(p); }

// The axes of a tensor in the order of its fields, which is that of `strides`.
enum Axis { kBatch, kToken, kHead };
// Which of the axes varies fastest in memory, and so on. Strides do not change it.
struct AxisOrder {
  Axis axis[3];
  int number(Axis a) const { return axis[0] == a ? 0 : axis[1] == a ? 1 : 2; }
};
inline AxisOrder axis_order(const Rope& p) {
  if (p.layout == RopeLayout::sbhd) return {{kHead, kBatch, kToken}};
  if (p.layout == RopeLayout::bhsd) return {{kToken, kHead, kBatch}};
  return {{kHead, kToken, kBatch}};
}

// Of q or k, in elements, by Axis.
struct Strides {
  std::int64_t of[3];
};
inline Strides strides_of(const Rope& p, std::int64_t heads, const List<3>& given) {
  if (given.count != 0) return {{given[0], given[1], given[2]}};
  const std::int64_t extents[] = {batches(p), p.seq, heads};
  const AxisOrder order = axis_order(p);
  Strides strides{};
  std::int64_t next = p.head_dim;
  for (const Axis a : order.axis) {
    strides.of[a] = next;
    next *= extents[a];
  }
  return strides;
}

// Of pair j, table=computed: turns a position, in units of 2^-64. rope/frequency.cpp
std::uint64_t frequency(const Rope& p, std::int64_t j);
// All of them, as a source. rope/frequency.cpp
std::string frequencies_source(const Rope& p);
// rope/check.cpp
std::string check(const Rope& p);
// rope/reference.cpp
void run_reference(const Rope& p, const RopeArgs& a);

}  // namespace quern::rope

#endif  // QUERN_ROPE_PROBLEM_H_
