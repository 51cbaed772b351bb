// The gradients of rows that are added. That of a row of source is a row of the gradient of out, times the factors.
// That of a scale of columns is a sum over all rows: a group of threads has the part of 32 rows, and scatter/tree.cuh
// adds up the groups, as if all rows were one segment.
#ifndef QUERN_SCATTER_GRADIENTS_CUH_
#define QUERN_SCATTER_GRADIENTS_CUH_

#include "scatter/backward.cuh"
#include "scatter/tree.cuh"

namespace quern::scatter {

constexpr u32 kBatch = spec::batch;
constexpr bool kBoth = spec::alpha && spec::column_scale;

using Columns = Vector<kVector>[kUnroll];

QUERN_DEVICE void load_columns(const Params& p, const u8* row, const Part& part, Columns& columns) {
#pragma unroll
  for (u32 u = 0; u < kUnroll; ++u) {
    const i64 byte = static_cast<i64>(part.column(u)) * kVector;
    if (byte < p.row_bytes) columns[u] = load<kVector>(row + byte);
  }
}

// Scales of columns; without them alpha.
struct Factors {
  float of[kUnroll][kElements];
};

QUERN_DEVICE Factors load_factors(const Params& p, const Part& part) {
  Factors factors;
#pragma unroll
  for (u32 u = 0; u < kUnroll; ++u) {
    const i64 byte = static_cast<i64>(part.column(u)) * kVector;
    if constexpr (spec::column_scale) {
      if (byte < p.row_bytes) load_scales(p, byte, factors.of[u]);
    }
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      float& factor = factors.of[u][e];
      factor = spec::column_scale ? factor : p.alpha;
    }
  }
  return factors;
}

QUERN_DEVICE void store_columns(const Params& p, u64 number, const Part& part, const Factors& factors, bool named,
                                const Columns& columns) {
  u8* const to = source_gradient_row(p, number);
#pragma unroll
  for (u32 u = 0; u < kUnroll; ++u) {
    const i64 byte = static_cast<i64>(part.column(u)) * kVector;
    if (byte >= p.row_bytes) continue;
    Vector<kVector> result = columns[u];
    if constexpr (kFactor) {
      float values[kElements];
      unpack<Element, kElements>(columns[u], values);
#pragma unroll
      for (int e = 0; e < kElements; ++e) values[e] = (kBoth ? p.alpha * values[e] : values[e]) * factors.of[u][e];
      result = pack<Element, kElements>(values);
    }
    store<kVector, kStore>(to + byte, named ? result : Vector<kVector>{});
  }
}

QUERN_DEVICE void add_products(const Columns& gradient, const Columns& source, float (&sums)[kUnroll][kElements]) {
#pragma unroll
  for (u32 u = 0; u < kUnroll; ++u) {
    float of_gradient[kElements], of_source[kElements];
    unpack<Element, kElements>(gradient[u], of_gradient);
    unpack<Element, kElements>(source[u], of_source);
#pragma unroll
    for (int e = 0; e < kElements; ++e) sums[u][e] = fmaf(of_gradient[e], of_source[e], sums[u][e]);
  }
}

// All rows of a batch are read before the first is stored.
QUERN_DEVICE void put_batch(const Params& p, u64 first, u32 count, const Part& part, const Factors& factors,
                            float (&sums)[kUnroll][kElements]) {
  i64 rows[kBatch];
  Columns gradient[kBatch] = {}, source[kBatch] = {};
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) rows[i] = i < count ? named_row(p, first + i) : kNoRow;
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) {
    if (rows[i] == kNoRow) continue;
    load_columns(p, gradient_row(p, rows[i]), part, gradient[i]);
    if constexpr (spec::column_scale) load_columns(p, source_row(p, first + i), part, source[i]);
  }
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) {
    if (i >= count) continue;
    store_columns(p, first + i, part, factors, rows[i] != kNoRow, gradient[i]);
    if (spec::column_scale && rows[i] != kNoRow) add_products(gradient[i], source[i], sums);
  }
}

QUERN_DEVICE i64 rows_of_source(const Params& p) { return spec::outer ? p.outer * p.count : p.count; }

// Reduces the partial sums of a group of rows to the gradient of the scale. A single group writes it without a second
// stage.
QUERN_DEVICE void put_sums(const Params& p, i64 first, const Part& part, const float (&sums)[kUnroll][kElements]) {
  const OutRow row = {};  // sums begin at its first byte
  const auto finish = [&](i64 byte, float sum) { store_scale_gradient(p, byte / kElementBytes, sum); };
  if (const i64 all = rows_of_source(p); all > kRowsOfGroup)
    return add_to_segment(p, Segment{0, all}, first, row, part, sums, finish);
#pragma unroll
  for (u32 u = 0; u < kUnroll; ++u) {
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      const i64 byte = row.byte(part.column(u)) + e * kElementBytes;
      if (has_element(p, byte)) finish(byte, sums[u][e]);
    }
  }
}

QUERN_DEVICE void scatter_rows(const Params& p) {
  const u64 item = static_cast<u64>(blockIdx.x) * (blockDim.x / kLanes) + threadIdx.x / kLanes;
  if (item >= p.items) return;
  const u64 number = divide(item, p.by_parts);
  const Part part = {static_cast<u32>(item - number * p.parts)};
  const i64 first = static_cast<i64>(number) * kRowsOfGroup;
  const i64 left = rows_of_source(p) - first;
  const u32 count = left < kRowsOfGroup ? static_cast<u32>(left) : kRowsOfGroup;
  const Factors factors = load_factors(p, part);
  float sums[kUnroll][kElements] = {};
#pragma unroll 1
  for (u32 begin = 0; begin < count; begin += kBatch)
    put_batch(p, static_cast<u64>(first) + begin, count - begin, part, factors, sums);
  if constexpr (spec::column_scale) put_sums(p, first, part, sums);
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_GRADIENTS_CUH_
