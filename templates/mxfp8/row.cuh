// One scale per row. A team has a row: a warp if rows are short, else the whole block. It keeps the elements that fit
// its registers and, when the scale is known, reads the others again, from L2.
#ifndef QUERN_MXFP8_ROW_CUH_
#define QUERN_MXFP8_ROW_CUH_

#include "common/reduce.cuh"
#include "mxfp8/group_ends.cuh"
#include "mxfp8/source.cuh"

namespace quern::mxfp8 {

using namespace common;

using KernelParams = WithPitches<RowParams, spec::out_strides>;

constexpr int kElements = spec::vector / sizeof(Source);
constexpr int kKept = spec::unroll;  // vectors of a thread

QUERN_DEVICE u32 team_threads() { return spec::warp_rows ? 32 : blockDim.x; }
QUERN_DEVICE u32 member() { return spec::warp_rows ? threadIdx.x % 32 : threadIdx.x; }

// Of the thread's `i`th vector.
QUERN_DEVICE i64 column_of(i64 i) { return (i * team_threads() + member()) * kElements; }

QUERN_DEVICE u32 larger_of(u32 m, const Word& vector) {
#pragma unroll
  for (int i = 0; i < Word::kWords; ++i) m = Magnitude::larger(m, magnitudes_of(vector.w[i]));
  return m;
}

struct WarpMaxima {
  QUERN_DEVICE static u8* at(int warp) { return dynamic_shared() + 4 * warp; }
  QUERN_DEVICE void set(int warp, float m) { store_shared<4>(at(warp), bit_cast<Vector<4>>(m)); }
  QUERN_DEVICE float get(int warp) const { return bit_cast<float>(load_shared<4>(at(warp))); }
};

// Of a thread's magnitude: the largest of its team.
QUERN_DEVICE u32 over_team(u32 m) {
  const float own = bit_cast<float>(Magnitude::as_fp32(Magnitude::fold(m)));
  WarpMaxima maxima;
  return bit_cast<u32>(spec::warp_rows ? warp_max(own) : block_max<spec::max_threads / 32>(own, maxima));
}

QUERN_DEVICE Word numbers_at(const KernelParams& p, const SourceRow& row, i64 column) {
  return numbers_of(p, inputs_at(p, row, column), column);
}

QUERN_DEVICE void write_elements(const KernelParams& p, i64 row, i64 column, const Word& numbers, float reciprocal) {
  store<kElements, kStore>(static_cast<u8*>(p.row_out) + row * row_pitch(p) + column,
                           quantize<kElements>(numbers, reciprocal));
}

QUERN_DEVICE void quantize_row(const KernelParams& p, i64 row) {
  const SourceRow source = source_row(p, row);
  Inputs inputs[kKept] = {};
  Word kept[kKept] = {};
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    if (column_of(i) < p.cols) inputs[i] = inputs_at(p, source, column_of(i));
  }
  u32 m = 0;
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    if (column_of(i) < p.cols) kept[i] = numbers_of(p, inputs[i], column_of(i));
    m = larger_of(m, kept[i]);
  }
#pragma unroll 1
  for (i64 i = kKept; column_of(i) < p.cols; ++i) m = larger_of(m, numbers_at(p, source, column_of(i)));
  const u32 scale = Scaling::stored(over_team(m));
  const float reciprocal = Scaling::reciprocal(scale);
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    if (column_of(i) < p.cols) write_elements(p, row, column_of(i), kept[i], reciprocal);
  }
#pragma unroll 1
  for (i64 i = kKept; column_of(i) < p.cols; ++i)
    write_elements(p, row, column_of(i), numbers_at(p, source, column_of(i)), reciprocal);
  if (member() == 0) store<kScaleBytes>(static_cast<u8*>(p.row_scales) + row * kScaleBytes, scale_vector(scale));
}

QUERN_DEVICE void run(const KernelParams& p) {
  const u32 teams = blockDim.x / team_threads();
  i64 rows = p.all_rows;
  if constexpr (spec::groups) rows = rows_in_groups(ends_of(p));
#pragma unroll 1
  for (i64 row = static_cast<i64>(blockIdx.x) * teams + threadIdx.x / team_threads(); row < rows;
       row += static_cast<i64>(gridDim.x) * teams)
    quantize_row(p, row);
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_ROW_CUH_
