// The form lower of 16-bit numbers, by the tensor cores. An operand of theirs has four numbers of each row in a lane,
// in two places. An inner product does not depend on where its terms are, so both operands take the 8 numbers of a
// column of 16 bytes, of two operations, and no number goes through shared memory.
#ifndef QUERN_INTERACTION_LOWER_MMA_CUH_
#define QUERN_INTERACTION_LOWER_MMA_CUH_

#include "common/mma.cuh"
#include "interaction/lower.cuh"

namespace quern::interaction {

constexpr u32 kBand = spec::band;   // vectors, 16 or 32, whose products a warp has at once
constexpr int kGroups = kBand / 8;  // of vectors of which a lane has the same columns
constexpr int kTiles = kBand / 16;
constexpr u32 kStep = 4 * kOfColumn;  // numbers of a vector that the four lanes of a row have

// Of 16 vectors with 8: their products.
struct Products {
  float of[kTiles][kGroups][4] = {};
};

struct Columns {
  Pending<spec::whole> of[spec::unroll][kGroups];
};

QUERN_DEVICE const u8* column_at(const Params& p, const u8* vectors, u32 vector, u32 number) {
  return vectors + static_cast<i64>((vector * static_cast<u64>(p.dim) + number) * kSize);
}

// Vector `first` + 8 * group + lane / 4 of each group, from `number` on.
QUERN_DEVICE void begin_columns(const Params& p, const u8* vectors, u32 lane, u32 first, u32 number, Columns& columns) {
  const Readable bytes = source_bytes(p);
#pragma unroll
  for (int u = 0; u < spec::unroll; ++u) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const u32 vector = first + static_cast<u32>(group) * 8 + lane / 4;
      const u32 at = number + static_cast<u32>(u) * kStep + lane % 4 * kOfColumn;
      columns.of[u][group] =
          begin_column<spec::whole>(vector < p.features && at < p.dim, column_at(p, vectors, vector, at), bytes);
    }
  }
}

QUERN_DEVICE void end_columns(const Params& p, const u8* vectors, u32 lane, u32 first, u32 number, int u,
                              const Columns& columns, Vector<16> (&values)[kGroups]) {
  const Readable bytes = source_bytes(p);
  const u32 at = number + static_cast<u32>(u) * kStep + lane % 4 * kOfColumn;
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    const u32 vector = first + static_cast<u32>(group) * 8 + lane / 4;
    values[group] = end_column<spec::whole>(columns.of[u][group], column_at(p, vectors, vector, at), bytes,
                                            (static_cast<int>(p.dim) - static_cast<int>(at)) * kSize);
  }
}

// `Same`: the vectors are the same, and pairs above the diagonal are not wanted.
template <bool Same>
QUERN_DEVICE void add_products(const Vector<16> (&rows)[kGroups], const Vector<16> (&columns)[kGroups],
                               Products& products) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const Vector<16>&above = rows[2 * tile], &below = rows[2 * tile + 1];
      const u32 a[4] = {above.w[2 * half], below.w[2 * half], above.w[2 * half + 1], below.w[2 * half + 1]};
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        if (Same && group > 2 * tile + 1) continue;
        const u32 b[2] = {columns[group].w[2 * half], columns[group].w[2 * half + 1]};
        mma_16x8x16<Number>(products.of[tile][group], a, b);
      }
    }
  }
}

template <bool Same>
QUERN_DEVICE Products products_of(const Params& p, const u8* vectors, u32 lane, u32 first_row, u32 first_column) {
  Products products;
#pragma unroll 1
  for (u32 number = 0; number < p.dim; number += spec::unroll * kStep) {
    Columns rows, columns;
    begin_columns(p, vectors, lane, first_row, number, rows);
    if constexpr (!Same) begin_columns(p, vectors, lane, first_column, number, columns);
#pragma unroll
    for (int u = 0; u < spec::unroll; ++u) {
      Vector<16> row_values[kGroups], column_values[kGroups];
      end_columns(p, vectors, lane, first_row, number, u, rows, row_values);
      if constexpr (Same) {
        add_products<Same>(row_values, row_values, products);
      } else {
        end_columns(p, vectors, lane, first_column, number, u, columns, column_values);
        add_products<Same>(row_values, column_values, products);
      }
    }
  }
  return products;
}

QUERN_DEVICE void put_products(const Params& p, u32 lane, u32 first_row, u32 first_column, const Products& products,
                               u8* staged) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
#pragma unroll
      for (u32 k = 0; k < 4; ++k) {
        const u32 i = first_row + static_cast<u32>(tile) * 16 + lane / 4 + (k >= 2 ? 8 : 0);
        const u32 j = first_column + static_cast<u32>(group) * 8 + lane % 4 * 2 + k % 2;
        if (is_pair(p, i, j)) put_pair(staged, pair_place(i, j), products.of[tile][group][k]);
      }
    }
  }
}

QUERN_DEVICE void interact(const Params& p) {
  const Sample sample = sample_of_warp(p);
  if (sample.number >= p.batch) return;
  const u8* const vectors = vectors_of(p, sample);
  u8* const row = p.out + sample.number * p.out_stride;
  u8* const pairs = row + static_cast<i64>(p.dense) * kSize;
  u8* const staged = staged_for(sample.shared, pairs);
#pragma unroll 1
  for (u32 i = 0; i < end_of_bands(p); i += kBand) {
#pragma unroll 1
    for (u32 j = 0; j < i; j += kBand)
      put_products(p, sample.lane, i, j, products_of<false>(p, vectors, sample.lane, i, j), staged);
    put_products(p, sample.lane, i, i, products_of<true>(p, vectors, sample.lane, i, i), staged);
  }
  if constexpr (spec::has_dense) copy_dense(p, sample, row);
  store_staged(sample, sample.shared, pairs, pairs_before(p.features));
}

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_LOWER_MMA_CUH_
