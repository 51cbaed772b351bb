// The position of a token.
#ifndef QUERN_ROPE_POSITION_CUH_
#define QUERN_ROPE_POSITION_CUH_

#include "rope/unit.cuh"

namespace quern::rope {

// A token's positions, of which a pair has one.
struct Position {
  i64 numbers[kAxes];
  i64 batch;     // or sequence
  bool rotates;  // the table has them, or the problem says that it has all
  bool exists;   // the token is of a sequence
};

QUERN_DEVICE i32 begin_of(const Params& p, i64 sequence) {
  return bit_cast<i32>(load<4, LoadHint::keep>(p.cu_seqlens + sequence));
}

// Of as many tokens of whole sequences, those that this rank has.
QUERN_DEVICE i32 here(const Params& p, i32 tokens) { return spec::has_chunks ? tokens / p.cp_size : tokens; }

// The last sequence that begins at a token of this rank or before it: -1 for one before the first, p.sequences for one
// after the last.
QUERN_DEVICE i32 sequence_of(const Params& p, i64 token) {
  i32 low = -1, high = p.sequences;
  while (low < high) {
    const i32 middle = low + (high - low + 1) / 2;
    if (here(p, begin_of(p, middle)) <= token)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// Where token `token` of the `length` that this rank has of a sequence is in the whole sequence: in the chunk cp_rank
// of 2 cp_size chunks, or in the one that is as far from the end.
QUERN_DEVICE i64 place_in_chunks(const Params& p, i64 token, i64 length) {
  const i64 chunk = length / 2;
  return token < chunk ? token + p.cp_rank * chunk : token + (2 * (p.cp_size - 1) - p.cp_rank) * chunk;
}

// That of a pair.
QUERN_DEVICE i64 number_of(const Position& position, u32 pair) {
  i64 number = position.numbers[0];
  if constexpr (kAxes > 1) {
    const int axis = section_of(pair).axis;
    QUERN_UNROLL for (int i = 1; i < kAxes; ++i) number = axis == i ? position.numbers[i] : number;
  }
  return number;
}

QUERN_DEVICE i64 read_integer(const void* list, i64 at) {
  using Index = spec::Index;
  return bit_cast<Index>(load<sizeof(Index), LoadHint::keep>(static_cast<const Index*>(list) + at));
}

// Of a token whose number in its sequence is `in_sequence`, and in all batches `in_all`.
QUERN_DEVICE i64 position_on_axis(const Params& p, int axis, i64 batch, i64 in_sequence, i64 in_all) {
  if constexpr (spec::position == RopePosition::ids)
    return p.offset + read_integer(p.positions, axis * p.tokens + in_all);
  if constexpr (spec::position == RopePosition::tokens) return p.offset + axis * p.tokens + in_all;
  if constexpr (spec::position == RopePosition::starts)
    return p.offset + read_integer(p.positions, batch) + in_sequence;
  return p.offset + in_sequence;
}

// Of a token.
QUERN_DEVICE Position position_of(const Params& p, i64 batch, i64 token) {
  const i64 in_all = spec::packed ? token : batch * p.seq + token;
  i64 in_sequence = token;
  if constexpr (spec::packed) {
    batch = sequence_of(p, token);
    if (batch < 0 || batch == p.sequences) return {{}, 0, false, false};
    const i64 begin = here(p, begin_of(p, batch));
    in_sequence = token - begin;
    if constexpr (spec::has_chunks)
      in_sequence = place_in_chunks(p, in_sequence, here(p, begin_of(p, batch + 1)) - begin);
  } else if constexpr (spec::has_chunks) {
    in_sequence = place_in_chunks(p, token, p.seq);
  }
  // cu_seqlens with a number below 0 must not make it read outside of the table.
  constexpr bool kAll = spec::beyond == RopeBeyond::assume_valid && !(spec::packed && spec::has_table);
  Position position = {{}, batch, true, true};
  QUERN_UNROLL for (int axis = 0; axis < kAxes; ++axis) {
    const i64 number = position_on_axis(p, axis, batch, in_sequence, in_all);
    position.numbers[axis] = number;
    if (!kAll && (number < 0 || number >= p.table_rows)) position.rotates = false;
  }
  if constexpr (spec::beyond == RopeBeyond::report) {
    if (!position.rotates) atomicMin(p.report, static_cast<u64>(in_all));
  }
  return position;
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_POSITION_CUH_
