// The gradients of rows that are added with a scale of rows. That of a row's scale is the dot product of the row of
// source and the row of the gradient of out. A warp has a row.
//
// A dot product has 256 sums: sum i adds the products of the elements i, i + 256, … in this order. They are added up in
// a tree: those whose numbers differ in bit 0 first, then in bit 1, and so on. So each vector gives the same bits.
#ifndef QUERN_SCATTER_DOTS_CUH_
#define QUERN_SCATTER_DOTS_CUH_

#include "scatter/backward.cuh"

namespace quern::scatter {

constexpr int kElements = kVector / static_cast<int>(sizeof(Element));
constexpr int kSums = 8;                      // of a thread
constexpr int kAccesses = kSums / kElements;  // that have its elements of 256
static_assert(kUnroll % kAccesses == 0, "whole steps of 256 elements");

// Sum e of access a is of element (32 * a + lane) * kElements + e.
QUERN_DEVICE float dot_of(float (&sums)[kSums]) {
#pragma unroll
  for (int half = 1; half < kElements; half *= 2) {
#pragma unroll
    for (int i = 0; i < kSums; i += 2 * half) sums[i] += sums[i + half];
  }
#pragma unroll
  for (int a = 0; a < kSums; a += kElements) {
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) sums[a] += __shfl_xor_sync(0xffffffffu, sums[a], mask);
  }
#pragma unroll
  for (int half = kElements; half < kSums; half *= 2) {
#pragma unroll
    for (int i = 0; i < kSums; i += 2 * half) sums[i] += sums[i + half];
  }
  return sums[0];
}

struct RowsOfDot {
  const u8* gradient;
  const u8* source;
  u8* source_gradient;
  float scale;
};

// kUnroll accesses of each thread, from a byte on.
QUERN_DEVICE void put_accesses(const Params& p, const RowsOfDot& rows, i64 first, float (&sums)[kSums]) {
  Vector<kVector> gradient[kUnroll] = {}, source[kUnroll] = {};
#pragma unroll
  for (u32 u = 0; u < kUnroll; ++u) {
    const i64 byte = first + u * (32 * kVector);
    if (byte >= p.row_bytes) continue;
    gradient[u] = load<kVector>(rows.gradient + byte);
    source[u] = load<kVector, kLoad>(rows.source + byte);
  }
#pragma unroll
  for (u32 u = 0; u < kUnroll; ++u) {
    const i64 byte = first + u * (32 * kVector);
    if (byte >= p.row_bytes) continue;
    float of_gradient[kElements], of_source[kElements], values[kElements];
    unpack<Element, kElements>(gradient[u], of_gradient);
    unpack<Element, kElements>(source[u], of_source);
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      float& sum = sums[u % kAccesses * kElements + e];
      sum = fmaf(of_gradient[e], of_source[e], sum);
      values[e] = rows.scale * (spec::alpha ? p.alpha * of_gradient[e] : of_gradient[e]);
    }
    store<kVector, kStore>(rows.source_gradient + byte, pack<Element, kElements>(values));
  }
}

QUERN_DEVICE void clear_row(const Params& p, u8* row, i64 first) {
#pragma unroll 1
  for (i64 byte = first; byte < p.row_bytes; byte += 32 * kVector)
    store<kVector, kStore>(row + byte, Vector<kVector>{});
}

// A row of source, of the position that has this scale.
QUERN_DEVICE void put_row(const Params& p, u64 number, float scale, float (&sums)[kSums]) {
  const i64 row = named_row(p, number), first = static_cast<i64>(lane()) * kVector;
  if (row == kNoRow) return clear_row(p, source_gradient_row(p, number), first);
  const RowsOfDot rows = {gradient_row(p, row), source_row(p, number), source_gradient_row(p, number), scale};
#pragma unroll 1
  for (i64 byte = first; byte < p.row_bytes; byte += static_cast<i64>(kUnroll) * 32 * kVector)
    put_accesses(p, rows, byte, sums);
}

QUERN_DEVICE void scatter_rows(const Params& p) {
  const u64 position = static_cast<u64>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (position >= p.items) return;
  const float scale = row_scale(p, position);
  float sums[kSums] = {};
  if constexpr (spec::outer) {
#pragma unroll 1
    for (i64 outer = 0; outer < p.outer; ++outer) put_row(p, static_cast<u64>(outer * p.count) + position, scale, sums);
  } else {
    put_row(p, position, scale, sums);
  }
  const float dot = dot_of(sums);
  if (lane() == 0) store_scale_gradient(p, static_cast<i64>(position), dot);
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_DOTS_CUH_
