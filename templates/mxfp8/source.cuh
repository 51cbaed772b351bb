// How a form reads source.
#ifndef QUERN_MXFP8_SOURCE_CUH_
#define QUERN_MXFP8_SOURCE_CUH_

#include "mxfp8/blocks.cuh"

namespace quern::mxfp8 {

using Word = Vector<spec::vector>;

// A row: its number in the rows of all experts, and the difference in elements between its begin in source and that of
// packed experts, if experts have their own stride.
struct SourceRow {
  i64 index;
  i64 gap;
};
QUERN_DEVICE SourceRow operator+(const SourceRow& row, i64 rows) { return {row.index + rows, row.gap}; }

QUERN_DEVICE i64 gap_before(const Params& p, u64 expert) {
  return spec::expert_stride ? static_cast<i64>(expert) * p.expert_gap : 0;
}
QUERN_DEVICE SourceRow source_row(const Params& p, i64 index) {
  return {index, spec::expert_stride ? gap_before(p, divide(static_cast<u64>(index), p.by_rows)) : 0};
}

// `column`: of the values to quantize.
QUERN_DEVICE const Source* source_address(const Params& p, const SourceRow& row, i64 column) {
  return static_cast<const Source*>(p.source) + row.index * p.source_stride + row.gap + column;
}

// Reads a vector, in accesses of the width that rows and addresses are multiples of.
constexpr int kAccess = sizeof(Word);
template <int Bytes>
constexpr int kStep = Bytes < kAccess ? Bytes : kAccess;

struct Read {
  static constexpr bool kFetches = true;  // operands that are no vectors, too
  template <int Bytes>
  QUERN_DEVICE void operator()(const void* from, Vector<Bytes>& vector) {
    vector = {};
#pragma unroll
    for (int i = 0; i < Bytes / kStep<Bytes>; ++i)
      put_piece(vector, i, load<kStep<Bytes>>(static_cast<const u8*>(from) + i * kStep<Bytes>));
  }
};

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_SOURCE_CUH_
