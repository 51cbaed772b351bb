#ifndef QUERN_COMMON_DEVICE_CUH_
#define QUERN_COMMON_DEVICE_CUH_

// The basis of all templates: the same text is compiled by NVRTC for the GPU and by a C++17 compiler for
// the CPU. `__CUDA_ARCH__` selects PTX; without it the plain C++ twin is used, which gives the same bits. The CPU
// compiles it twice: with QUERN_HOST_IMAGE as a kernel that the host driver runs, where twin.cuh has come first, and
// without as part of the library, which has no kernels.

#ifdef __CUDA_ARCH__
#define QUERN_DEVICE __device__ __forceinline__
#define QUERN_HOST_DEVICE __host__ __device__ __forceinline__
#define QUERN_UNROLL _Pragma("unroll")
#else
#ifndef QUERN_HOST_IMAGE
#include <cmath>
#include <cstring>
#endif
#define QUERN_DEVICE inline
#define QUERN_HOST_DEVICE inline
#define QUERN_UNROLL
#endif

// Primitives that access memory or wait take QUERN_SITE as their last parameter, so the host driver can name the line
// of the template that called them; QUERN_PASS_SITE hands it on. They report accesses with QUERN_WATCH. All expand to
// nothing on the GPU.
#ifdef QUERN_HOST_IMAGE
#define QUERN_ONLY_SITE ::quern::twin::Site site = ::quern::twin::here()
#define QUERN_SITE , QUERN_ONLY_SITE
#define QUERN_PASS_SITE , site
#define QUERN_WATCH(access, address, bytes) ::quern::twin::watch(::quern::twin::Access::access, address, bytes, site)
#else
#define QUERN_ONLY_SITE
#define QUERN_SITE
#define QUERN_PASS_SITE
#define QUERN_WATCH(access, address, bytes) static_cast<void>(0)
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

// Compiler barrier: what was derived from the number in an earlier iteration is derived again, and not kept in
// registers; what is derived from it later does not repeat what it was derived from.
QUERN_DEVICE u32 opaque(u32 x) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(x));
#endif
  return x;
}
QUERN_DEVICE u64 opaque(u64 x) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+l"(x));
#endif
  return x;
}

// All reads before it are issued before the arithmetic and the reads after it. Else ptxas moves reads behind arithmetic
// on what earlier ones read, where that saves registers, and a thread waits for memory once for each: in a sum of
// fifteen rows it waited eight times. It is a branch that is never taken, across which ptxas 13.0 moves neither;
// results are the same wherever it does. `never` is false, which the compiler must not know: a comparison with a
// parameter.
QUERN_DEVICE void issue_reads([[maybe_unused]] bool never) {
#ifdef __CUDA_ARCH__
  if (never) asm volatile("trap;");
#endif
}

}  // namespace quern::common

#endif  // QUERN_COMMON_DEVICE_CUH_
