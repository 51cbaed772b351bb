#ifndef QUERN_COMMON_DEVICE_CUH_
#define QUERN_COMMON_DEVICE_CUH_

// The ground that all templates stand on: the same text is compiled by NVRTC for the GPU and by a C++17 compiler for
// the CPU. `__CUDA_ARCH__` selects PTX; without it the plain C++ twin is used, which gives the same bits.

#ifdef __CUDA_ARCH__
#define QUERN_DEVICE __device__ __forceinline__
#define QUERN_HOST_DEVICE __host__ __device__ __forceinline__
#define QUERN_UNROLL _Pragma("unroll")
#else
#include <cmath>
#include <cstring>
#define QUERN_DEVICE inline
#define QUERN_HOST_DEVICE inline
#define QUERN_UNROLL
#endif

namespace quern::common {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;

static_assert(sizeof(u8) == 1 && sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8);

template <class To, class From>
QUERN_DEVICE To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

}  // namespace quern::common

#endif  // QUERN_COMMON_DEVICE_CUH_
