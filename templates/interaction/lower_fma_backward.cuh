// Backward of the form lower of fp32. A lane has the same numbers of a band of vectors: it reads each vector's once,
// and the matrix, which all lanes read together, four numbers at a time. Each sum adds up in the order of the vectors.
#ifndef QUERN_INTERACTION_LOWER_FMA_BACKWARD_CUH_
#define QUERN_INTERACTION_LOWER_FMA_BACKWARD_CUH_

#include "interaction/symmetric.cuh"

namespace quern::interaction {

constexpr u32 kBand = spec::band;
constexpr u32 kEach = spec::whole ? 4 : 1;  // numbers of an access

using Word = Vector<kEach * kSize>;

struct BandSums {
  float of[kBand][kEach] = {};
};

QUERN_DEVICE i64 number_place(const Params& p, u32 vector, u32 number) {
  return static_cast<i64>((vector * static_cast<u64>(p.dim) + number) * kSize);
}

QUERN_DEVICE Word load_numbers(const Params& p, const u8* vectors, u32 vector, u32 number) {
  return load_if<sizeof(Word), LoadHint::plain>(vector < p.features && number < p.dim,
                                                vectors + number_place(p, vector, number));
}

// Vector j times its column of the matrix.
QUERN_DEVICE void add_vector(const Symmetric& matrix, u32 first, u32 j, const Word& word, BandSums& sums) {
#pragma unroll
  for (u32 i = 0; i < kBand; i += 4) {
    const Vector<16> four = load_shared<16>(matrix.place(j, first + i));
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
#pragma unroll
      for (u32 e = 0; e < kEach; ++e) {
        float& sum = sums.of[i + k][e];
        sum = fmaf(bit_cast<float>(four.w[k]), bit_cast<float>(word.w[e]), sum);
      }
    }
  }
}

QUERN_DEVICE void finish_sums(const Params& p, const Sample& sample, const Symmetric& matrix, u32 first, u32 number,
                              const BandSums& sums) {
  const u8* const vectors = vectors_of(p, sample);
  const u8* const gradient = gradient_of(p, sample);
  u8* const to = p.out + sample.number * p.source_stride;
#pragma unroll
  for (u32 k = 0; k < kBand; ++k) {
    const u32 i = first + k;
    if (i >= p.features || number >= p.dim) continue;
    Word own = {}, word;
    if constexpr (spec::diagonal) own = load_numbers(p, vectors, i, number);
#pragma unroll
    for (u32 e = 0; e < kEach; ++e)
      word.w[e] = bit_cast<u32>(finished(p, gradient, matrix, i, number + e, bit_cast<float>(own.w[e]), sums.of[k][e]));
    store<sizeof(Word), kStore>(to + number_place(p, i, number), word);
  }
}

QUERN_DEVICE void interact(const Params& p) {
  const Sample sample = sample_of_warp(p);
  if (sample.number >= p.batch) return;
  const u8* const vectors = vectors_of(p, sample);
  const Symmetric matrix = stage_symmetric(p, sample);
#pragma unroll 1
  for (u32 number = sample.lane * kEach; number < p.dim; number += 32 * kEach) {
#pragma unroll 1
    for (u32 first = 0; first < end_of_bands(p); first += kBand) {
      BandSums sums;
#pragma unroll 1
      for (u32 j = 0; j < p.features; j += spec::unroll) {
        Word words[spec::unroll];
#pragma unroll
        for (u32 u = 0; u < spec::unroll; ++u) words[u] = load_numbers(p, vectors, j + u, number);
#pragma unroll
        for (u32 u = 0; u < spec::unroll; ++u) {
          if (j + u < p.features) add_vector(matrix, first, j + u, words[u], sums);
        }
      }
      finish_sums(p, sample, matrix, first, number, sums);
    }
  }
}

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_LOWER_FMA_BACKWARD_CUH_
