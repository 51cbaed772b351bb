// A thread compares `unroll` vectors of both ranges, with accesses coalesced over the block; the bytes after the last
// whole vector are compared one by one. A thread that finds a difference takes the atomic minimum of all positions.
#include "common/vector.cuh"
#include "compare/params.h"
#include "spec.cuh"

namespace quern::compare {

using namespace common;

static_assert(sizeof(Params) == spec::params_bytes, "host and device disagree about Params");

QUERN_DEVICE void compare_bytes(const Params& p, u64 begin, u64 end) {
  for (u64 i = begin; i < end; ++i) {
    const Vector<1> a = load<1, LoadHint::plain>(static_cast<const u8*>(p.a) + i);
    const Vector<1> b = load<1, LoadHint::plain>(static_cast<const u8*>(p.b) + i);
    if (a.w[0] != b.w[0]) atomicMin(p.first, i);
  }
}

template <int Bytes>
QUERN_DEVICE bool equal(const Vector<Bytes>& a, const Vector<Bytes>& b) {
  u32 difference = 0;
#pragma unroll
  for (int i = 0; i < Vector<Bytes>::kWords; ++i) difference |= static_cast<u32>(a.w[i] ^ b.w[i]);
  return difference == 0;
}

QUERN_DEVICE void compare(const Params& p) {
  constexpr int kBytes = spec::vector;
  const u64 tile = static_cast<u64>(blockIdx.x) * blockDim.x * spec::unroll + threadIdx.x;
  Vector<kBytes> a[spec::unroll];
  Vector<kBytes> b[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const u64 at = (tile + static_cast<u64>(i) * blockDim.x) * kBytes;
    a[i] = b[i] = {};
    if (at + kBytes > p.bytes) continue;
    a[i] = load<kBytes, LoadHint::once>(static_cast<const u8*>(p.a) + at);
    b[i] = load<kBytes, LoadHint::once>(static_cast<const u8*>(p.b) + at);
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const u64 at = (tile + static_cast<u64>(i) * blockDim.x) * kBytes;
    const bool whole = at + kBytes <= p.bytes;
    if (whole && equal(a[i], b[i])) continue;
    compare_bytes(p, at, whole ? at + kBytes : p.bytes);
  }
}

}  // namespace quern::compare

extern "C" __global__ void __launch_bounds__(quern::spec::threads)
    quern_compare(const __grid_constant__ quern::compare::Params params) {
  quern::compare::compare(params);
}
