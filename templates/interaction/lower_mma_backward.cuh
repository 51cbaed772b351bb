// Backward of the form lower of 16-bit numbers, by the tensor cores: the symmetric matrix is from shared memory, the
// vectors are from registers. A column of an operation may be any of the vectors', so a lane takes the 8 adjacent ones
// of 16 bytes, in as many operations, and gets sums of two such columns.
#ifndef QUERN_INTERACTION_LOWER_MMA_BACKWARD_CUH_
#define QUERN_INTERACTION_LOWER_MMA_BACKWARD_CUH_

#include "common/mma.cuh"
#include "interaction/symmetric.cuh"

namespace quern::interaction {

constexpr u32 kBand = spec::band;  // vectors, 16 or 32, whose sums a warp has at once
constexpr int kTiles = kBand / 16;
constexpr u32 kAcross = 8 * kOfColumn;  // numbers of a vector that a warp has

struct Sums {
  float of[kTiles][kOfColumn][4] = {};
};

// Of the columns of 16 bytes, the one that a lane loads: a lane's two results, of lanes that differ by one, are four
// columns apart, so that the lanes of a row store adjacent ones.
QUERN_DEVICE u32 loaded_column(u32 lane) { return (lane / 4) % 2 * 4 + lane / 8; }

QUERN_DEVICE const u8* number_at(const Params& p, const u8* vectors, u32 vector, u32 number) {
  return vectors + static_cast<i64>((vector * static_cast<u64>(p.dim) + number) * kSize);
}

// The vectors of 16 rows of the operand: 2t, 2t + 1, 2t + 8, 2t + 9 of them, from `number` on.
struct Rows {
  Pending<spec::whole> of[4];

  static QUERN_DEVICE u32 vector(u32 lane, u32 first, int k) {
    return first + lane % 4 * 2 + static_cast<u32>(k % 2 + k / 2 * 8);
  }
};

QUERN_DEVICE Rows begin_rows(const Params& p, const u8* vectors, u32 lane, u32 first, u32 number) {
  const Readable bytes = source_bytes(p);
  Rows rows;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const u32 vector = Rows::vector(lane, first, k);
    rows.of[k] =
        begin_column<spec::whole>(vector < p.features && number < p.dim, number_at(p, vectors, vector, number), bytes);
  }
  return rows;
}

QUERN_DEVICE void end_rows(const Params& p, const u8* vectors, u32 lane, u32 first, u32 number, const Rows& rows,
                           Vector<16> (&values)[4]) {
  const Readable bytes = source_bytes(p);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const u8* const at = number_at(p, vectors, Rows::vector(lane, first, k), number);
    values[k] =
        end_column<spec::whole>(rows.of[k], at, bytes, (static_cast<int>(p.dim) - static_cast<int>(number)) * kSize);
  }
}

// Number q of two vectors.
QUERN_DEVICE u32 pair_of(const Vector<16>& low, const Vector<16>& high, int q) {
  const u32 a = low.w[q / 2], b = high.w[q / 2];
  return q % 2 == 0 ? (a & 0xffffu) | b << 16 : a >> 16 | (b & 0xffff0000u);
}

QUERN_DEVICE u32 two_of(const Symmetric& matrix, u32 i, u32 j) { return load_shared<4>(matrix.place(i, j)).w[0]; }

QUERN_DEVICE void add_rows(const Symmetric& matrix, u32 lane, u32 first_sum, u32 first, const Vector<16> (&rows)[4],
                           Sums& sums) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    const u32 i = first_sum + static_cast<u32>(tile) * 16 + lane / 4, j = first + lane % 4 * 2;
    const u32 a[4] = {two_of(matrix, i, j), two_of(matrix, i + 8, j), two_of(matrix, i, j + 8),
                      two_of(matrix, i + 8, j + 8)};
#pragma unroll
    for (int q = 0; q < kOfColumn; ++q) {
      const u32 b[2] = {pair_of(rows[0], rows[1], q), pair_of(rows[2], rows[3], q)};
      mma_16x8x16<Number>(sums.of[tile][q], a, b);
    }
  }
}

// Where the lane's sums of a vector go: its columns `column` and `column` + 4.
struct Place {
  u32 vector;
  u32 column;
};

QUERN_DEVICE Vector<16> column_of(const Params& p, const u8* vectors, const u8* gradient, const Symmetric& matrix,
                                  const Place& place, u32 part, const float (&sums)[kOfColumn]) {
  float values[kOfColumn];
  const u32 first = (place.column + part * 4) * kOfColumn;
  const bool dense = place.vector * static_cast<u64>(p.dim) + first < p.dense;
#pragma unroll
  for (u32 q = 0; q < kOfColumn; ++q) {
    const bool inside = place.vector < p.features && first + q < p.dim;
    const float number = spec::diagonal ? load_number(inside, number_at(p, vectors, place.vector, first + q)) : 0.0f;
    values[q] = inside ? finished(p, gradient, matrix, place.vector, first + q, number, sums[q], dense) : 0.0f;
  }
  return pack<Number, kOfColumn>(values);
}

// Both columns of a vector, which all four lanes of it store together.
QUERN_DEVICE void store_sums(const Params& p, u8* to, const Place& place, const Vector<16> (&columns)[2]) {
  const bool inside = place.vector < p.features;
  u8* const row = to + static_cast<i64>(inside ? place.vector * static_cast<u64>(p.dim) * kSize : 0);
  const i64 row_bytes = inside ? static_cast<i64>(p.dim) * kSize : 0;
  if constexpr (spec::whole) {
#pragma unroll
    for (u32 part = 0; part < 2; ++part) {
      const i64 at = static_cast<i64>(place.column + part * 4) * 16;
      if (at < row_bytes) store<16, kStore>(row + at, columns[part]);
    }
  } else {
    store_columns<kSize, kStore, 4>(kAllLanes, row, row_bytes, place.column, columns);
  }
}

QUERN_DEVICE void finish_sums(const Params& p, const Sample& sample, const Symmetric& matrix, u32 first_sum,
                              u32 first_column, const Sums& sums) {
  const u8* const vectors = vectors_of(p, sample);
  const u8* const gradient = gradient_of(p, sample);
  u8* const to = p.out + sample.number * p.source_stride;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Place place = {first_sum + static_cast<u32>(tile * 16 + half * 8) + sample.lane / 4,
                           first_column + sample.lane % 4};
      Vector<16> columns[2];
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        float of_column[kOfColumn];
#pragma unroll
        for (int q = 0; q < kOfColumn; ++q) of_column[q] = sums.of[tile][q][2 * half + part];
        columns[part] = column_of(p, vectors, gradient, matrix, place, static_cast<u32>(part), of_column);
      }
      store_sums(p, to, place, columns);
    }
  }
}

QUERN_DEVICE void interact(const Params& p) {
  const Sample sample = sample_of_warp(p);
  if (sample.number >= p.batch) return;
  const u8* const vectors = vectors_of(p, sample);
  const Symmetric matrix = stage_symmetric(p, sample);
#pragma unroll 1
  for (u32 number = 0; number < p.dim; number += kAcross) {
    const u32 own = number + loaded_column(sample.lane) * kOfColumn;
#pragma unroll 1
    for (u32 i = 0; i < end_of_bands(p); i += kBand) {
      Sums sums;
#pragma unroll 1
      for (u32 j = 0; j < (spec::one_band ? kBand : p.features); j += 16 * spec::unroll) {
        Rows rows[spec::unroll];
#pragma unroll
        for (u32 u = 0; u < spec::unroll; ++u) rows[u] = begin_rows(p, vectors, sample.lane, j + u * 16, own);
#pragma unroll
        for (u32 u = 0; u < spec::unroll; ++u) {
          if (j + u * 16 >= matrix.side) continue;
          Vector<16> values[4];
          end_rows(p, vectors, sample.lane, j + u * 16, own, rows[u], values);
          add_rows(matrix, sample.lane, i, j + u * 16, values, sums);
        }
      }
      finish_sums(p, sample, matrix, i, number / kOfColumn, sums);
    }
  }
}

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_LOWER_MMA_BACKWARD_CUH_
