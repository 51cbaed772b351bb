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

// The four lanes of a vector have 64 bytes of it in a load, and the L2 cache answers no more requests for half lines
// than for whole ones. So a load takes 128 bytes of four vectors, by eight lanes each, and two lanes exchange halves.
// Not between bands, whose loads take twice the registers.
constexpr bool kExchanges = spec::whole && spec::one_band && spec::unroll % 2 == 0;

// Of the vectors of a group, the one whose numbers lanes 4 * row to 4 * row + 3 have.
QUERN_DEVICE u32 vector_of(u32 row) { return kExchanges ? row / 2 + row % 2 * 4 : row; }

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

// What a lane loads in load u of a group: a vector, and the first of its numbers.
struct Load {
  u32 vector;
  u32 number;
};
QUERN_DEVICE Load load_of(u32 lane, int group, int u) {
  const u32 first = static_cast<u32>(group) * 8, step = static_cast<u32>(u);
  if constexpr (kExchanges) return {first + lane / 8 + step % 2 * 4, step / 2 * 2 * kStep + lane % 8 * kOfColumn};
  return {first + lane / 4, step * kStep + lane % 4 * kOfColumn};
}

// Of each group of vectors from `first` on, from `number` on.
QUERN_DEVICE void begin_columns(const Params& p, const u8* vectors, u32 lane, u32 first, u32 number, Columns& columns) {
  const Readable bytes = source_bytes(p);
#pragma unroll
  for (int u = 0; u < spec::unroll; ++u) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const Load load = load_of(lane, group, u);
      const u32 vector = first + load.vector, at = number + load.number;
      columns.of[u][group] =
          begin_column<spec::whole>(vector < p.features && at < p.dim, column_at(p, vectors, vector, at), bytes);
    }
  }
}

// Makes of two loads the first and the second half of 128 bytes of the lane's vector: it has one of them itself.
template <bool Whole>
QUERN_DEVICE void exchange(u32 lane, Pending<Whole> (&even)[kGroups], Pending<Whole> (&odd)[kGroups]) {
  if constexpr (Whole) {
    const bool second = lane / 4 % 2 != 0;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        u32 &low = even[group].bits.w[w], &high = odd[group].bits.w[w];
        const u32 other = __shfl_xor_sync(kAllLanes, second ? low : high, 4);
        low = second ? other : low;
        high = second ? high : other;
      }
    }
  }
}

QUERN_DEVICE void end_columns(const Params& p, const u8* vectors, u32 lane, u32 first, u32 number, int u,
                              const Columns& columns, Vector<16> (&values)[kGroups]) {
  const Readable bytes = source_bytes(p);
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    const Load load = load_of(lane, group, u);
    const u32 vector = first + load.vector, at = number + load.number;
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
      if (kExchanges && u % 2 == 0) {
        constexpr int kLast = spec::unroll - 1;
        const int next = u < kLast ? u + 1 : kLast;
        exchange(lane, rows.of[u], rows.of[next]);
        if constexpr (!Same) exchange(lane, columns.of[u], columns.of[next]);
      }
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
        const u32 i = first_row + static_cast<u32>(tile) * 16 + vector_of(lane / 4) + (k >= 2 ? 8 : 0);
        const u32 j = first_column + static_cast<u32>(group) * 8 + vector_of(lane % 4 * 2 + k % 2);
        if (is_pair(p, i, j)) put_pair(staged, pair_place(i, j), products.of[tile][group][k]);
      }
    }
  }
}

// The dense numbers, where each lane has a column of 16 bytes of them, are stored in one with the pairs. They are on
// their way while those are put.
struct Dense {
  Pending<spec::whole> column;

  QUERN_DEVICE void begin(const Params& p, const u8* vectors, u32 lane) {
    column = begin_column<spec::whole>(lane * kOfColumn < p.dense, vectors + lane * 16, source_bytes(p));
  }
  QUERN_DEVICE void put(const Params& p, const u8* vectors, u32 lane, u8* staged) const {
    const int left = (static_cast<int>(p.dense) - static_cast<int>(lane) * kOfColumn) * kSize;
    const Vector<16> values = end_column<spec::whole>(column, vectors + lane * 16, source_bytes(p), left);
#pragma unroll
    for (int i = 0; i < kOfColumn; ++i) {
      if (i * kSize < left) store_shared<kSize>(staged + lane * 16 + i * kSize, piece_of<kSize>(values, i));
    }
  }
};

QUERN_DEVICE void interact(const Params& p) {
  const Sample sample = sample_of_warp(p);
  if (sample.number >= p.batch) return;
  const u8* const vectors = vectors_of(p, sample);
  u8* const row = p.out + sample.number * p.out_stride;
  const u32 before = spec::dense_with_pairs ? p.dense : 0;  // numbers
  u8* const to = row + static_cast<i64>(p.dense - before) * kSize;
  u8* const all = staged_for(sample.shared, to);
  u8* const staged = all + before * kSize;
  Dense dense;
#pragma unroll 1
  for (u32 i = 0; i < end_of_bands(p); i += kBand) {
#pragma unroll 1
    for (u32 j = 0; j < i; j += kBand)
      put_products(p, sample.lane, i, j, products_of<false>(p, vectors, sample.lane, i, j), staged);
    const Products own = products_of<true>(p, vectors, sample.lane, i, i);
    if constexpr (spec::dense_with_pairs) dense.begin(p, vectors, sample.lane);
    put_products(p, sample.lane, i, i, own, staged);
  }
  if constexpr (spec::dense_with_pairs) dense.put(p, vectors, sample.lane, all);
  if constexpr (spec::has_dense && !spec::dense_with_pairs) copy_dense(p, sample, row);
  store_staged(sample, sample.shared, to, before + pairs_before(p.features));
}

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_LOWER_MMA_CUH_
