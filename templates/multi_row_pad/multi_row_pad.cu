// Copies several matrices, each to its own output with rows of zeros after it, or without those rows.
#include "common/vector.cuh"
#include "multi_row_pad/params.h"
#include "spec.cuh"

namespace quern::multi_row_pad {

using namespace common;

using Params = ParamsOf<spec::most>;
constexpr int kBytes = spec::vector;
constexpr int kElement = spec::element;
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

// The last matrix whose first block is not after `block`. Matrices without blocks are skipped.
QUERN_DEVICE u32 find(const Params& p, u32 block) {
  u32 matrix = 0;
#pragma unroll
  for (u32 step = spec::most / 2; step > 0; step /= 2) matrix += p.first[matrix + step] <= block ? step : 0;
  return matrix;
}

template <int Bytes>
QUERN_DEVICE Vector<Bytes> read(const Matrix& m, i64 at) {
  return load<Bytes>(reinterpret_cast<const void*>(m.source + static_cast<u64>(at)));
}
template <int Bytes>
QUERN_DEVICE void write(const Matrix& m, i64 at, const Vector<Bytes>& vector) {
  store<Bytes, kStore>(reinterpret_cast<void*>(m.out + static_cast<u64>(at)), vector);
}

// Whether all of a vector is copied, or all of it is zero.
QUERN_DEVICE bool is_whole(const Matrix& m, i64 at) {
  return at + kBytes <= m.written && (at + kBytes <= m.copied || at >= m.copied);
}

// The vector in which the padding begins or the matrix ends, one element after the other.
QUERN_DEVICE void move_elements(const Matrix& m, i64 begin) {
  const i64 end = begin + kBytes < m.written ? begin + kBytes : m.written;
#pragma unroll 1
  for (i64 at = begin; at < end; at += kElement) {
    Vector<kElement> element = {};
    if (at < m.copied) element = read<kElement>(m, at);
    write(m, at, element);
  }
}

QUERN_DEVICE void move_rows(const Params& p) {
  const u32 number = find(p, blockIdx.x);
  const Matrix m = p.matrices[number];
  const i64 step = static_cast<i64>(blockDim.x) * kBytes;
  const i64 first = static_cast<i64>(blockIdx.x - p.first[number]) * spec::unroll * step + threadIdx.x * kBytes;
  Vector<kBytes> vectors[spec::unroll] = {};
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    if (first + i * step + kBytes <= m.copied) vectors[i] = read<kBytes>(m, first + i * step);
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const i64 at = first + i * step;
    if (is_whole(m, at)) {
      write(m, at, vectors[i]);
    } else if (kBytes > kElement && at < m.written) {
      move_elements(m, at);
    }
  }
}

}  // namespace quern::multi_row_pad

static_assert(sizeof(quern::multi_row_pad::Params) == quern::spec::params_bytes,
              "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_multi_row_pad(const __grid_constant__ quern::multi_row_pad::Params params) {
  quern::multi_row_pad::move_rows(params);
}
