// Runs of the staged form: what a block has of a tensor, between global and shared memory.
//
// A run is of heads that are adjacent in memory, of one token or of several. It is moved in wide accesses, whatever the
// parts of a head are.
#ifndef QUERN_ROPE_RUNS_CUH_
#define QUERN_ROPE_RUNS_CUH_

#include "common/shared.cuh"
#include "rope/position.cuh"
#include "rope/rows.cuh"

namespace quern::rope {

constexpr u32 kHeadElements = spec::rotary_dim + spec::copies;  // the form has nothing in place that is not rotated
constexpr u32 kHeadBytes = kHeadElements * sizeof(Element);

struct Run {
  u32 tensor;
  Row first;  // its first head
  u32 heads;
  u32 accesses;  // wide ones
  u64 from;
  u64 to;
};

// By comparing, as tensor_of of rope/head.cuh.
QUERN_DEVICE const Runs& runs_of(const StagedParams& p, u32 tensor) {
  return tensor == kTensorQ ? p.runs[kTensorQ] : p.runs[kTensorK];
}

QUERN_DEVICE u64 address_of(const void* tensor, const Row& row, const long long (&strides)[3]) {
  i64 bytes = 0;
  QUERN_UNROLL for (int i = 0; i < 3; ++i) bytes += row.at[i] * strides[i];
  return reinterpret_cast<u64>(tensor) + static_cast<u64>(bytes);
}

// Of the block. Those of k come after those of q.
QUERN_DEVICE Run run_of_block(const StagedParams& p) {
  Run run;
  run.tensor = blockIdx.x < p.runs_of_q ? kTensorQ : kTensorK;
  const Runs& runs = runs_of(p, run.tensor);
  const u64 number = blockIdx.x - (run.tensor == kTensorQ ? 0 : p.runs_of_q);
  const i64 line = static_cast<i64>(divide(number, runs.by_line));
  const i64 begin = (static_cast<i64>(number) - line * runs.runs) * p.heads_of_run, left = runs.line - begin;
  run.first = row_at(runs.axes, static_cast<u64>(line * runs.line + begin));
  run.heads = left < p.heads_of_run ? static_cast<u32>(left) : p.heads_of_run;
  run.accesses = run.heads * kHeadBytes / spec::wide;
  const Tensor& tensor = run.tensor == kTensorQ ? p.all.tensors[kTensorQ] : p.all.tensors[kTensorK];
  run.from = address_of(tensor.from, run.first, tensor.from_strides);
  run.to = address_of(tensor.to, run.first, tensor.to_strides);
  return run;
}

QUERN_DEVICE u8* staged(u32 byte) { return dynamic_shared() + byte; }

// What a thread moves at a time: each blockDim.x-th access.
constexpr int kMoves = spec::wide > 8 ? 64 / spec::wide : 8;
struct Moves {
  Vector<spec::wide> vectors[kMoves];
};
QUERN_DEVICE u32 move_at(u32 first, int i) { return first + static_cast<u32>(i) * blockDim.x + threadIdx.x; }

QUERN_DEVICE Moves read_global(const Run& run, u32 first) {
  Moves moves;
  QUERN_UNROLL for (int i = 0; i < kMoves; ++i) {
    const u32 at = move_at(first, i);
    moves.vectors[i] =
        load_if<spec::wide>(at < run.accesses, reinterpret_cast<const u8*>(run.from + u64{at} * spec::wide));
  }
  return moves;
}

QUERN_DEVICE void write_shared(const Run& run, u32 first, const Moves& moves) {
  QUERN_UNROLL for (int i = 0; i < kMoves; ++i) {
    const u32 at = move_at(first, i);
    if (at < run.accesses) store_shared<spec::wide>(staged(at * spec::wide), moves.vectors[i]);
  }
}

QUERN_DEVICE Moves read_shared(const Run& run, u32 first) {
  Moves moves = {};
  QUERN_UNROLL for (int i = 0; i < kMoves; ++i) {
    const u32 at = move_at(first, i);
    if (at < run.accesses) moves.vectors[i] = load_shared<spec::wide>(staged(at * spec::wide));
  }
  return moves;
}

QUERN_DEVICE void write_global(const Run& run, u32 first, const Moves& moves) {
  QUERN_UNROLL for (int i = 0; i < kMoves; ++i) {
    const u32 at = move_at(first, i);
    if (at < run.accesses)
      store<spec::wide, StoreHint::stream>(reinterpret_cast<u8*>(run.to + u64{at} * spec::wide), moves.vectors[i]);
  }
}

// Elements from `begin` to `end`, a thread each in turn.
QUERN_DEVICE void read_elements(const Run& run, u32 begin, u32 end) {
  for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const u64 from = run.from + u64{i} * sizeof(Element);
    store_shared<sizeof(Element)>(staged(i * sizeof(Element)),
                                  load<sizeof(Element)>(reinterpret_cast<const u8*>(from)));
  }
}
QUERN_DEVICE void write_elements(const Run& run, u32 begin, u32 end) {
  for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const u64 to = run.to + u64{i} * sizeof(Element);
    store<sizeof(Element)>(reinterpret_cast<u8*>(to), load_shared<sizeof(Element)>(staged(i * sizeof(Element))));
  }
}

// The last run of a line may end within an access.
QUERN_DEVICE u32 first_after(const Run& run) { return run.accesses * (spec::wide / sizeof(Element)); }

// All but the thread's first accesses.
QUERN_DEVICE void read_rest(const Run& run) {
#pragma unroll 1
  for (u32 first = kMoves * blockDim.x; first < run.accesses; first += kMoves * blockDim.x)
    write_shared(run, first, read_global(run, first));
  read_elements(run, first_after(run), run.heads * kHeadElements);
}

// Without the tokens of no sequence, which begin before the first one or after the last one.
QUERN_DEVICE bool has_sequence(const Params& p, i64 token) {
  return token >= here(p, begin_of(p, 0)) && token < here(p, begin_of(p, p.sequences));
}
QUERN_DEVICE void write_sequences(const StagedParams& p, const Run& run) {
  const AxesOf<64>& axes = runs_of(p, run.tensor).axes;
#pragma unroll 1
  for (u32 head = 0; head < run.heads; ++head) {
    if (has_sequence(p.all, row_after(axes, run.first, head).token()))
      write_elements(run, head * kHeadElements, (head + 1) * kHeadElements);
  }
}

QUERN_DEVICE void write_run(const StagedParams& p, const Run& run) {
  if constexpr (spec::packed) {
    const Row last = row_after(runs_of(p, run.tensor).axes, run.first, run.heads - 1);
    if (!has_sequence(p.all, run.first.token()) || !has_sequence(p.all, last.token())) return write_sequences(p, run);
  }
#pragma unroll 1
  for (u32 first = 0; first < run.accesses; first += kMoves * blockDim.x)
    write_global(run, first, read_shared(run, first));
  write_elements(run, first_after(run), run.heads * kHeadElements);
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_RUNS_CUH_
