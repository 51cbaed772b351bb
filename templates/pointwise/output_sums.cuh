// The outputs that are sums over the rows or over all, of a program. A thread adds up its columns over the rows of its
// team; then come the teams of the block in sequence, 16 blocks one below the other, and these sums, up to 16. A sum
// over all adds up, of a block's columns, every so many of a thread in sequence, then the threads as a tree, and of the
// blocks the same. So the program and the extents decide the order, and no config.
//
// Words carry the sums from block to block; each is its own flag, so the last block to arrive waits for no other to
// run.
#ifndef QUERN_POINTWISE_OUTPUT_SUMS_CUH_
#define QUERN_POINTWISE_OUTPUT_SUMS_CUH_

#include "common/reduce.cuh"
#include "common/sent_sums.cuh"
#include "pointwise/row_inputs.cuh"

namespace quern::pointwise {

constexpr int kSums = spec::sums;  // of columns and of all
constexpr int kTotals = spec::totals;
constexpr bool kHasColumnSums = kSums > kTotals;
constexpr u32 kChunksTogether = 16;
// Columns whose words a thread reads at once: as many as it has registers for.
constexpr int kColumnsOfThread = spec::threads > 512 ? 1 : spec::elements > 1 ? 4 : 2;
QUERN_DEVICE constexpr bool is_total(int sum) { return sum >= kSums - kTotals; }

using generated::sum_of;  // an output's number among the sums, those over rows first; -1: it is none

// Of a thread, in all rows of its team.
struct OutputSums {
  float of[kSums == 0 ? 1 : kSums][kSegments][kOfLane] = {};
};

struct BlockPlace {
  u32 chunk;  // of rows
  u32 group;  // of a row's segments
  QUERN_DEVICE int first_segment() const { return static_cast<int>(group) * kWarps * kSegments; }
};
QUERN_DEVICE BlockPlace block_place(const KernelParams& p) {
  const u32 chunk = divide32(blockIdx.x, p.shape.by_groups);
  return {chunk, blockIdx.x - chunk * p.shape.groups};
}

// ---- From the threads of a block to one thread a column

// The columns of one segment of each warp of a team, team by team.
constexpr int kColumnsAtOnce = kWarps * kColumns;
QUERN_SHARED(float, kept, (kSums == 0 ? 1 : spec::threads * kOfLane));
QUERN_SHARED(float, of_block_warps, 32);
QUERN_SHARED(u32, arrived_last, 1);

// So that neither lanes that have adjacent columns each nor lanes with one each meet in a bank.
QUERN_DEVICE int kept_place(int column) { return column ^ (column / 32 % 8); }

QUERN_DEVICE void keep(const float (&own)[kOfLane]) {
  const int first = (team() * kWarps + warp_of_row()) * kColumns;
#pragma unroll
  for (int n = 0; n < kOfLane; ++n)
    kept.set(kept_place(first + column_in_segment(n / kElements) + n % kElements), own[n]);
}
QUERN_DEVICE float kept_sum(int column) {
  float sum = 0;
  for (int t = 0; t < teams(); ++t) sum += kept.get(kept_place(t * kColumnsAtOnce + column));
  return sum;
}

// f(column, sum) in one thread for each column of the block's s-th segments. All threads call it.
template <class F>
QUERN_DEVICE void for_kept_columns(const KernelParams& p, const BlockPlace& block, int s, const float (&own)[kOfLane],
                                   const F& f) {
  __syncthreads();
  keep(own);
  __syncthreads();
  for (int at = static_cast<int>(threadIdx.x); at < kColumnsAtOnce; at += static_cast<int>(blockDim.x)) {
    const int column = (block.first_segment() + s * kWarps) * kColumns + at;
    if (column < p.shape.width) f(column, kept_sum(at));
  }
}

// ---- From block to block

QUERN_DEVICE u32 chunk_groups(const KernelParams& p) {
  return (p.shape.chunks + kChunksTogether - 1) / kChunksTogether;
}
// The words of a sum over rows: a row of them for each chunk, or for each group of chunks.
QUERN_DEVICE u32* chunk_words(const KernelParams& p, int sum, u32 chunk) {
  return p.shape.columns + (static_cast<i64>(sum) * p.shape.chunks + chunk) * p.shape.width;
}
QUERN_DEVICE u32* group_words(const KernelParams& p, int sum, u32 group) {
  return chunk_words(p, kSums - kTotals, 0) + (static_cast<i64>(sum) * chunk_groups(p) + group) * p.shape.width;
}

QUERN_DEVICE u32* total_words(const KernelParams& p, int sum) {
  return p.shape.totals + static_cast<i64>(sum - (kSums - kTotals)) * gridDim.x;
}

// Whether the block is the last of so many at a word. All threads call it.
QUERN_DEVICE bool arrives_last(u32* word, u32 all) {
  __syncthreads();
  if (threadIdx.x < 32) {
    const bool last = is_last(word, add_relaxed(threadIdx.x == 0, word, 1), 1, all);
    if (threadIdx.x == 0) arrived_last.set(0, last ? 1 : 0);
  }
  __syncthreads();
  return arrived_last.get(0) != 0;
}

// An element of an output, by its number.
template <int O = 0>
QUERN_DEVICE void write_element(const KernelParams& p, int output, i64 at, float value) {
  using T = typename RowOutput<O>::Type;
  if (output == O)
    store<sizeof(T)>(static_cast<T*>(RowOutput<O>::base(p)) + at, bit_cast<Vector<sizeof(T)>>(from_compute<T>(value)));
  if constexpr (O + 1 < kOutputs) write_element<O + 1>(p, output, at, value);
}

// The words of so many chunks, `from(sum)` being the first ones, to `to(output, sum, column, value)`: N adjacent
// columns of the block in one thread.
template <int N, class From, class To>
QUERN_DEVICE void add_columns(const KernelParams& p, const BlockPlace& block, u32 count, const From& from,
                              const To& to) {
  const int first = block.first_segment() * kColumns, step = N * static_cast<int>(blockDim.x);
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    const int sum = sum_of(o);
    if (sum < 0 || is_total(sum)) continue;
#pragma unroll 1
    for (int at = N * static_cast<int>(threadIdx.x); at < kColumnsAtOnce * kSegments; at += step) {
      const int column = first + at;
      if (column >= p.shape.width) continue;
      float values[N];
      if constexpr (N == 1)
        values[0] = sum_received(from(sum) + column, count, p.shape.width);
      else
        sums_received(from(sum) + column, count, p.shape.width, values);
#pragma unroll
      for (int i = 0; i < N; ++i) to(o, sum, column + i, values[i]);
    }
  }
}

// Several columns at once where rows of words are aligned, so that more of them are on their way.
template <class From, class To>
QUERN_DEVICE void add_columns(const KernelParams& p, const BlockPlace& block, u32 count, const From& from,
                              const To& to) {
  if (spec::whole && reinterpret_cast<u64>(p.shape.columns) % 8 == 0)
    add_columns<kColumnsOfThread>(p, block, count, from, to);
  else
    add_columns<1>(p, block, count, from, to);
}

// What the block has of its columns is on its way. The last block of 16 goes on with their sums, then the last of
// these.
QUERN_DEVICE void add_chunks(const KernelParams& p, const BlockPlace& block) {
  const u32 groups = chunk_groups(p), group = block.chunk / kChunksTogether, first = group * kChunksTogether,
            left = p.shape.chunks - first, count = left < kChunksTogether ? left : kChunksTogether;
  u32* const arrived = p.shape.arrived + block.group * (groups + 1);
  if (!arrives_last(arrived + group, count)) return;
  add_columns(
      p, block, count, [&](int sum) { return chunk_words(p, sum, first); },
      [&](int output, int sum, int column, float value) {
        groups == 1 ? write_element(p, output, column, value) : send_sum(group_words(p, sum, group) + column, value);
      });
  if (groups == 1 || !arrives_last(arrived + groups, groups)) return;
  add_columns(
      p, block, groups, [&](int sum) { return group_words(p, sum, 0); },
      [&](int output, int, int column, float value) { write_element(p, output, column, value); });
}

QUERN_DEVICE float of_threads(float mine) { return block_sum<32>(mine, of_block_warps); }

// Of all blocks the sums over all, by the last one to arrive. All threads call it, with the block's sums.
QUERN_DEVICE void add_totals(const KernelParams& p, const float (&of_block)[kSums == 0 ? 1 : kSums]) {
  const u32 blocks = gridDim.x, left = threadIdx.x < blocks ? blocks - threadIdx.x : 0;
#pragma unroll
  for (int sum = kSums - kTotals; sum < kSums; ++sum) {
    if (threadIdx.x == 0) send_sum(total_words(p, sum) + blockIdx.x, of_block[sum]);
  }
  if (!arrives_last(p.shape.arrived + (kHasColumnSums ? p.shape.groups * (chunk_groups(p) + 1) : 0), blocks)) return;
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    if (!is_total(sum_of(o))) continue;
    const float mine =
        sum_received(total_words(p, sum_of(o)) + threadIdx.x, (left + blockDim.x - 1) / blockDim.x, blockDim.x);
    const float value = of_threads(mine);
    if (threadIdx.x == 0) write_element(p, o, 0, value);
  }
}

// Of a block: an output's sums of its columns on their way, or all of them added up.
QUERN_DEVICE float finish_block(const KernelParams& p, const BlockPlace& block, int output,
                                const float (&own)[kSegments][kOfLane]) {
  const int sum = sum_of(output);
  float all = 0;
#pragma unroll
  for (int s = 0; s < kSegments; ++s) {
    for_kept_columns(p, block, s, own[s], [&](int column, float value) {
      if (is_total(sum))
        all += value;
      else if (p.shape.chunks == 1)
        write_element(p, output, column, value);
      else
        send_sum(chunk_words(p, sum, block.chunk) + column, value);
    });
  }
  return is_total(sum) ? of_threads(all) : 0.0f;
}

// After all rows of the block. All threads call it.
QUERN_DEVICE void finish_sums(const KernelParams& p, const BlockPlace& block, const OutputSums& own) {
  float totals[kSums == 0 ? 1 : kSums];
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    if (sum_of(o) >= 0) totals[sum_of(o)] = finish_block(p, block, o, own.of[sum_of(o)]);
  }
  if constexpr (kHasColumnSums) {
    if (p.shape.chunks > 1) add_chunks(p, block);
  }
  if constexpr (kTotals > 0) add_totals(p, totals);
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_OUTPUT_SUMS_CUH_
