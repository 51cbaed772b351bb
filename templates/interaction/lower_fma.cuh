// The form lower of fp32: the numbers of a sample go through shared memory, some of each vector at a time. A lane has
// the products of four vectors with four, which are as many apart as there are such classes, so that lanes side by side
// read adjacent vectors. Each product adds up in the order of the numbers.
#ifndef QUERN_INTERACTION_LOWER_FMA_CUH_
#define QUERN_INTERACTION_LOWER_FMA_CUH_

#include "common/copy_async.cuh"
#include "interaction/lower.cuh"

namespace quern::interaction {

constexpr u32 kNumbers = spec::numbers;         // of a vector at a time
constexpr u32 kPitch = (kNumbers + 4) * kSize;  // bytes between vectors: adjacent ones are in other banks
constexpr u32 kEach = spec::whole ? 4 : 1;      // numbers of a copy

// Numbers [first, first + count) of each vector.
QUERN_DEVICE void stage_numbers(const Params& p, const u8* vectors, const Sample& sample, u32 first, u32 count) {
  constexpr u32 kSlots = kNumbers / kEach;
#pragma unroll 1
  for (u32 slot = sample.lane; slot < p.features * kSlots; slot += 32) {
    const u32 vector = slot / kSlots, number = slot % kSlots * kEach;
    if (number >= count) continue;
    const u8* const from = vectors + static_cast<i64>((vector * static_cast<u64>(p.dim) + first + number) * kSize);
    copy_async<kEach * kSize>(sample.shared + vector * kPitch + number * kSize, from);
  }
  wait_for_copies();
}

// Classes a >= b of vectors: those with the same remainder by their number.
struct Classes {
  u32 a;
  u32 b;
};

QUERN_DEVICE Classes classes_of(u32 number) {
  u32 a = 0;
  while ((a + 1) * (a + 2) / 2 <= number) ++a;
  return {a, number - a * (a + 1) / 2};
}

// Vectors of two classes, and their products. A vector that the sample does not have counts as its last one.
struct Block {
  const u8* rows[4];
  const u8* columns[4];
  float products[4][4];

  template <int Count>
  QUERN_DEVICE void add(u32 number) {
    Vector<Count * kSize> a[4], b[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = load_shared<Count * kSize>(rows[i] + number * kSize);
      b[i] = load_shared<Count * kSize>(columns[i] + number * kSize);
    }
#pragma unroll
    for (int k = 0; k < Count; ++k) {
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        float& sum = products[i / 4][i % 4];
        sum = fmaf(bit_cast<float>(a[i / 4].w[k]), bit_cast<float>(b[i % 4].w[k]), sum);
      }
    }
  }
};

QUERN_DEVICE Block block_of(const Params& p, const Sample& sample, u32 classes, const Classes& pair) {
  Block block = {};
  const u32 last = p.features - 1;
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    const u32 row = pair.a + classes * i, column = pair.b + classes * i;
    block.rows[i] = sample.shared + (row < last ? row : last) * kPitch;
    block.columns[i] = sample.shared + (column < last ? column : last) * kPitch;
  }
  return block;
}

QUERN_DEVICE void add_numbers(Block& block, u32 count) {
  const u32 whole = count / 4 * 4;
#pragma unroll 2
  for (u32 number = 0; number < whole; number += 4) block.template add<4>(number);
#pragma unroll 1
  for (u32 number = whole; number < count; ++number) block.template add<1>(number);
}

QUERN_DEVICE void put_block(const Params& p, u32 classes, const Classes& pair, const Block& block, u8* staged) {
#pragma unroll
  for (u32 i = 0; i < 16; ++i) {
    const u32 row = pair.a + classes * (i / 4), column = pair.b + classes * (i % 4);
    const u32 high = row > column ? row : column, low = row > column ? column : row;
    const bool again = pair.a == pair.b && row < column;
    if (!again && is_pair(p, high, low)) put_pair(staged, pair_place(high, low), block.products[i / 4][i % 4]);
  }
}

QUERN_DEVICE void interact(const Params& p) {
  const Sample sample = sample_of_warp(p);
  if (sample.number >= p.batch) return;
  const u8* const vectors = vectors_of(p, sample);
  u8* const row = p.out + sample.number * p.out_stride;
  u8* const pairs = row + static_cast<i64>(p.dense) * kSize;
  u8* const kept = sample.shared + p.features * kPitch;
  const u32 classes = (p.features + 3) / 4, blocks = classes * (classes + 1) / 2;
#pragma unroll 1
  for (u32 first = 0; first < blocks; first += 32) {
    const bool has_block = first + sample.lane < blocks;
    const Classes pair = classes_of(has_block ? first + sample.lane : 0);
    Block block = block_of(p, sample, classes, pair);
#pragma unroll 1
    for (u32 number = 0; number < p.dim; number += kNumbers) {
      const u32 count = p.dim - number < kNumbers ? p.dim - number : kNumbers;
      __syncwarp();
      stage_numbers(p, vectors, sample, number, count);
      __syncwarp();
      add_numbers(block, count);
    }
    if (has_block) put_block(p, classes, pair, block, staged_for(kept, pairs));
  }
  if constexpr (spec::has_dense) copy_dense(p, sample, row);
  store_staged(sample, kept, pairs, pairs_before(p.features));
}

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_LOWER_FMA_CUH_
