// The position of a token.
#ifndef QUERN_ROPE_POSITION_CUH_
#define QUERN_ROPE_POSITION_CUH_

#include "rope/unit.cuh"

namespace quern::rope {

struct Position {
  i64 number;
  bool rotates;  // the table has it, or the problem says that it has all
};

// Of a token.
QUERN_DEVICE Position position_of(const Params& p, i64 batch, i64 token) {
  i64 position = p.offset;
  if constexpr (spec::position != RopePosition::ids) position += token;
  if constexpr (spec::position != RopePosition::sequence) {
    const i64 at = spec::position == RopePosition::ids ? batch * p.seq + token : batch;
    using Index = spec::Index;
    position += bit_cast<Index>(load<sizeof(Index), LoadHint::keep>(static_cast<const Index*>(p.positions) + at));
  }
  const bool rotates = spec::beyond == RopeBeyond::assume_valid || (position >= 0 && position < p.table_rows);
  if constexpr (spec::beyond == RopeBeyond::report) {
    if (!rotates) atomicMin(p.report, static_cast<u64>(batch * p.seq + token));
  }
  return {position, rotates};
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_POSITION_CUH_
