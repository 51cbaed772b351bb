// What the kernels of the form lower share. A warp has a sample, and shared memory of its own.
#ifndef QUERN_INTERACTION_LOWER_CUH_
#define QUERN_INTERACTION_LOWER_CUH_

#include "interaction/numbers.cuh"

namespace quern::interaction {

constexpr u32 kDiagonal = spec::diagonal ? 1 : 0;

struct Sample {
  i64 number;
  u32 lane;
  u8* shared;  // the warp's
};

QUERN_DEVICE Sample sample_of_warp(const Params& p) {
  const u32 warp = threadIdx.x / 32;
  const i64 number = static_cast<i64>(blockIdx.x) * (blockDim.x / 32) + warp;
  return {number, threadIdx.x % 32, dynamic_shared() + warp * p.warp_bytes};
}

QUERN_DEVICE const u8* vectors_of(const Params& p, const Sample& sample) {
  return p.source + sample.number * p.source_stride;
}

// Where loops over bands of vectors end: most samples have one.
QUERN_DEVICE u32 end_of_bands(const Params& p) { return spec::one_band ? 1 : p.features; }

// Pairs are in rows, of a vector with those before it, or with itself too.
QUERN_DEVICE u32 pairs_before(u32 i) { return kDiagonal != 0 ? i * (i + 1) / 2 : i * (i - 1) / 2; }
QUERN_DEVICE u32 pair_place(u32 i, u32 j) { return pairs_before(i) + j; }
QUERN_DEVICE bool is_pair(const Params& p, u32 i, u32 j) { return i < p.features && j < i + kDiagonal; }

// The first numbers of the sample, as they are. Called where there are any.
QUERN_DEVICE void copy_dense(const Params& p, const Sample& sample, u8* row) {
  const Readable bytes = source_bytes(p);
  const u8* const from = vectors_of(p, sample);
  const i64 row_bytes = static_cast<i64>(p.dense) * kSize;
#pragma unroll 1
  for (i64 first = 0; first < row_bytes; first += 512) {
    const i64 begin = first + sample.lane * 16;
    const ColumnBits bits = read_column<LoadHint::plain>(begin < row_bytes, from + begin, bytes);
    const Vector<16> columns[1] = {value_of<kSize>(bits, from + begin, bytes)};
    store_columns<kSize, kStore, 32>(kAllLanes, row, row_bytes, static_cast<u32>(begin / 16), columns);
  }
}

// Where the bytes that go to `to` are in shared memory: at the same address modulo 16.
QUERN_DEVICE u8* staged_for(u8* shared, const u8* to) {
  return shared + (static_cast<u32>(reinterpret_cast<u64>(to)) & 15u);
}

// The pairs of a row, which all lanes have put there, in aligned accesses of 16 bytes; the ends number by number.
QUERN_DEVICE void store_staged(const Sample& sample, u8* shared, u8* to, u32 count) {
  const u32 bytes = count * kSize, lead = (0u - static_cast<u32>(reinterpret_cast<u64>(to))) & 15u;
  const u32 begin = lead < bytes ? lead : bytes, end = begin + (bytes - begin) / 16 * 16;
  const u8* const staged = staged_for(shared, to);
  __syncwarp();
#pragma unroll 1
  for (u32 at = begin + sample.lane * 16; at < end; at += 512) store<16, kStore>(to + at, load_shared<16>(staged + at));
  const u32 slot = sample.lane % kOfColumn * kSize, of_end = sample.lane / kOfColumn;
  const u32 at = of_end == 0 ? slot : end + slot;
  if (of_end < 2 && at < (of_end == 0 ? begin : bytes)) store<kSize>(to + at, load_shared<kSize>(staged + at));
}

QUERN_DEVICE void put_pair(u8* staged, u32 place, float value) {
  store_shared<kSize>(staged + place * kSize, bit_cast<Vector<kSize>>(from_compute<Number>(value)));
}

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_LOWER_CUH_
