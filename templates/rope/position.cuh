// The position of a token.
#ifndef QUERN_ROPE_POSITION_CUH_
#define QUERN_ROPE_POSITION_CUH_

#include "rope/unit.cuh"

namespace quern::rope {

struct Position {
  i64 number;
  bool rotates;  // the table has it, or the problem says that it has all
  bool exists;   // the token is of a sequence
};

// The last sequence that begins at a token or before it: -1 for one before the first, p.sequences for one after the
// last.
QUERN_DEVICE i32 sequence_of(const Params& p, i64 token) {
  i32 low = -1, high = p.sequences;
  while (low < high) {
    const i32 middle = low + (high - low + 1) / 2;
    const i64 begin = bit_cast<i32>(load<4, LoadHint::keep>(p.cu_seqlens + middle));
    if (begin <= token)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// Of a token.
QUERN_DEVICE Position position_of(const Params& p, i64 batch, i64 token) {
  i64 position = p.offset;
  if constexpr (spec::packed) {
    batch = sequence_of(p, token);
    if (batch < 0 || batch == p.sequences) return {0, false, false};
    position -= bit_cast<i32>(load<4, LoadHint::keep>(p.cu_seqlens + batch));
  }
  if constexpr (spec::position != RopePosition::ids) position += token;
  if constexpr (spec::position != RopePosition::sequence) {
    const i64 at = spec::position == RopePosition::ids ? batch * p.seq + token : batch;
    using Index = spec::Index;
    position += bit_cast<Index>(load<sizeof(Index), LoadHint::keep>(static_cast<const Index*>(p.positions) + at));
  }
  // cu_seqlens with a number below 0 must not make it read outside of the table.
  constexpr bool kAll = spec::beyond == RopeBeyond::assume_valid && !(spec::packed && spec::has_table);
  const bool rotates = kAll || (position >= 0 && position < p.table_rows);
  if constexpr (spec::beyond == RopeBeyond::report) {
    if (!rotates) atomicMin(p.report, static_cast<u64>(spec::packed ? token : batch * p.seq + token));
  }
  return {position, rotates, true};
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_POSITION_CUH_
