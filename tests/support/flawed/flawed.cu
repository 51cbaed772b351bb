// One thread an element. Which flaw is compiled in follows from spec::flaw.
#include "common/numbers.cuh"
#include "common/vector.cuh"
#include "flawed/flawed_choices.h"
#include "flawed/params.h"
#include "spec.cuh"

namespace quern::flawed {

using namespace common;

static_assert(sizeof(Params) == spec::params_bytes, "host and device disagree about Params");

using test::Flaw;

constexpr auto kFlaw = static_cast<Flaw>(spec::flaw);
static_assert(kFlaw != Flaw::compile_error, "this flaw is not to be compiled");

// As many types as there are leaves of a tree of this depth.
template <unsigned long long Path, int Depth>
struct Tree {
  static constexpr int value = Tree<2 * Path, Depth - 1>::value + Tree<2 * Path + 1, Depth - 1>::value;
};
template <unsigned long long Path>
struct Tree<Path, 0> {
  static constexpr int value = 0;
};
constexpr int kLeaves = Tree < 1, kFlaw == Flaw::compile_time ? 40 : 1 > ::value;

QUERN_DEVICE float get(const float* from) { return bit_cast<float>(load<4, LoadHint::plain>(from)); }
QUERN_DEVICE void set(float* to, float value) { store<4>(to, bit_cast<Vector<4>>(value)); }

QUERN_DEVICE u32 ticks() {
#ifdef __CUDA_ARCH__
  u64 time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return static_cast<u32>(time >> 5);
#else
  return static_cast<u32>(__builtin_ia32_rdtsc() >> 8);
#endif
}

QUERN_DEVICE float through_local_memory(float value, i64 at) {
  float scratch[25600];
  for (int i = 0; i < 25600; i += 64) scratch[(i + at) % 25600] = value + static_cast<float>(i);
  return scratch[at % 25600 / 64 * 64] - static_cast<float>((at % 25600 / 64 * 64 + 25600 - at % 25600) % 25600);
}

QUERN_DEVICE float result(const Params& p, i64 row, i64 column, float* out) {
  float value = get(p.x + row * p.width + column) + 1.0f + static_cast<float>(kLeaves);
  const i64 index = row * p.width + column;
  if constexpr (kFlaw == Flaw::last_tile) value += index + 32 >= p.rows * p.width ? 1.0f : 0.0f;
  if constexpr (kFlaw == Flaw::uninitialized)
    value = bit_cast<float>(bit_cast<u32>(value) ^ (bit_cast<u32>(get(out)) & 1));
  if constexpr (kFlaw == Flaw::accumulates) value += get(out);
  if constexpr (kFlaw == Flaw::unstable) value = bit_cast<float>(bit_cast<u32>(value) ^ (ticks() & 1));
  if constexpr (kFlaw == Flaw::nan) value = index % 7 == 3 ? bit_cast<float>(0x7fc00000u) : value;
  if constexpr (kFlaw == Flaw::odd_rows) value += index == 0 && p.rows % 2 == 1 ? 1.0f : 0.0f;
  if constexpr (kFlaw == Flaw::finite) value = value - value == 0.0f ? value : 0.0f;
  if constexpr (kFlaw == Flaw::local_memory) value = through_local_memory(value, index);
  return value;
}

QUERN_DEVICE void run(const Params& p) {
  const i64 index = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= p.rows * p.width) return;
  const i64 row = index / p.width;
  const i64 column = index % p.width;
  float* const out = p.out + row * p.out_stride + column;
  float value = result(p, row, column, out);
  if constexpr (kFlaw == Flaw::endless) {
    while (get(p.x) == get(p.x) || threadIdx.x < blockDim.x) set(out, value);
  }
  if constexpr (kFlaw == Flaw::slow) {
    for (int i = 0; i < 64; ++i) set(out, value + static_cast<float>(i));
  }
  if constexpr (kFlaw == Flaw::address) set(reinterpret_cast<float*>(static_cast<u64>(4096)), value);
  set(out, value);
  if constexpr (kFlaw == Flaw::past_the_end) {
    if (index == 0) set(p.out + (p.rows - 1) * p.out_stride + p.width, value);
  }
  if constexpr (kFlaw == Flaw::input) {
    if (index == 0) set(p.x, value);
  }
  if constexpr (kFlaw == Flaw::gap) {
    if (index == 0 && p.rows > 1 && p.out_stride > p.width) set(p.out + p.width, value);
  }
}

}  // namespace quern::flawed

extern "C" __global__ void __launch_bounds__(256) quern_flawed(const __grid_constant__ quern::flawed::Params params) {
  quern::flawed::run(params);
}
