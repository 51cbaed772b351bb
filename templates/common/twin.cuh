// CUDA for a host image: nvcc's built-in names, defined for the system's C++ compiler. It precedes the template (the
// compiler step puts it there), so a family's own code needs no line for the host.
#ifndef QUERN_COMMON_TWIN_CUH_
#define QUERN_COMMON_TWIN_CUH_

#ifndef __CUDACC__

#include "common/twin_abi.cuh"
#include "common/twin_math.cuh"

#define QUERN_HOST_IMAGE 1

// A function whose own accesses are not reported; see twin_raw.cuh.
#ifdef __clang__
#define QUERN_TWIN_UNSEEN __attribute__((no_sanitize("thread"), disable_sanitizer_instrumentation))
#else
#define QUERN_TWIN_UNSEEN __attribute__((no_sanitize("thread")))
#endif

namespace quern::twin {

inline Thread& self() { return thread_at(reinterpret_cast<unsigned long>(__builtin_frame_address(0))); }

inline Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }

QUERN_TWIN_UNSEEN inline void watch(Access access, const void* address, unsigned bytes, Site site) {
  Thread& thread = self();
  if (!thread.watched) return;
  thread.services->access(thread, access, address, bytes, site);
  const auto begin = reinterpret_cast<unsigned long>(address);
  const bool follows = begin == thread.reached + thread.reached_bytes;  // a further piece of one wide access
  thread.reached = follows ? thread.reached : begin;
  thread.reached_bytes = follows ? thread.reached_bytes + bytes : bytes;
}

template <class To, class From>
inline To bits_of(const From& from) {
  static_assert(sizeof(From) <= sizeof(To));
  To to{};
  __builtin_memcpy(&to, &from, sizeof(From));
  return to;
}

template <class T>
inline T value_of(unsigned long long bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace quern::twin

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __constant__ const
// Shared memory is declared by QUERN_SHARED and QUERN_DYNAMIC_SHARED of common/shared.cuh, so that accesses are seen.
#define __shared__ QUERN_SHARED_declares_shared_memory

#define threadIdx (::quern::twin::self().thread_index)
#define blockIdx (::quern::twin::self().block_index)
#define blockDim (::quern::twin::self().block_extent)
#define gridDim (::quern::twin::self().grid_extent)
#define warpSize 32

// ---- Barriers

#define QUERN_TWIN_SITE ::quern::twin::Site site = ::quern::twin::here()

inline void __syncthreads(QUERN_TWIN_SITE) {
  auto& t = quern::twin::self();
  t.services->barrier(t, 0, 0, quern::twin::BlockVote::none, 0, site);
}
#define QUERN_TWIN_VOTE(name, vote)                                                                            \
  inline int name(int predicate, QUERN_TWIN_SITE) {                                                            \
    auto& t = quern::twin::self();                                                                             \
    return static_cast<int>(t.services->barrier(t, 0, 0, quern::twin::BlockVote::vote, predicate != 0, site)); \
  }
QUERN_TWIN_VOTE(__syncthreads_count, count)
QUERN_TWIN_VOTE(__syncthreads_and, all)
QUERN_TWIN_VOTE(__syncthreads_or, any)
#undef QUERN_TWIN_VOTE

// Accesses of host blocks are already ordered as by a fence.
QUERN_TWIN_UNSEEN inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
QUERN_TWIN_UNSEEN inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
QUERN_TWIN_UNSEEN inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

inline void __nanosleep(unsigned, QUERN_TWIN_SITE) {
  auto& t = quern::twin::self();
  t.services->yield(t, site);
}

// ---- Warps

namespace quern::twin {

inline unsigned long long collect(unsigned mask, Collective what, unsigned long long value, unsigned operand,
                                  Site site) {
  Thread& t = self();
  return t.services->collective(t, mask, what, value, operand, site);
}

inline unsigned lane() { return self().rank % 32; }

// The lanes of `width` that `lane` is one of start here.
inline int group(int width) { return static_cast<int>(lane()) & ~(width - 1); }

template <class T>
inline T shuffle(unsigned mask, T value, int from, Site site) {
  static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes at most");
  return value_of<T>(
      collect(mask, Collective::shuffle, bits_of<unsigned long long>(value), static_cast<unsigned>(from), site));
}

}  // namespace quern::twin

inline void __syncwarp(unsigned mask = 0xffffffffu, QUERN_TWIN_SITE) {
  quern::twin::collect(mask, quern::twin::Collective::sync, 0, 0, site);
}

template <class T>
inline T __shfl_sync(unsigned mask, T value, int from, int width = 32, QUERN_TWIN_SITE) {
  return quern::twin::shuffle(mask, value, quern::twin::group(width) + (from & (width - 1)), site);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, QUERN_TWIN_SITE) {
  const int lane = static_cast<int>(quern::twin::lane()), from = lane - static_cast<int>(delta & 31u);
  return quern::twin::shuffle(mask, value, from < quern::twin::group(width) ? lane : from, site);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, QUERN_TWIN_SITE) {
  const int lane = static_cast<int>(quern::twin::lane()), from = lane + static_cast<int>(delta & 31u);
  return quern::twin::shuffle(mask, value, from >= quern::twin::group(width) + width ? lane : from, site);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int flip, int width = 32, QUERN_TWIN_SITE) {
  const int lane = static_cast<int>(quern::twin::lane()), from = lane ^ (flip & 31);
  return quern::twin::shuffle(mask, value, from >= quern::twin::group(width) + width ? lane : from, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, QUERN_TWIN_SITE) {
  return static_cast<unsigned>(quern::twin::collect(mask, quern::twin::Collective::ballot, predicate != 0, 0, site));
}
inline int __any_sync(unsigned mask, int predicate, QUERN_TWIN_SITE) {
  return __ballot_sync(mask, predicate, site) != 0;
}
inline int __all_sync(unsigned mask, int predicate, QUERN_TWIN_SITE) {
  return __ballot_sync(mask, predicate, site) == mask;
}
template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, QUERN_TWIN_SITE) {
  return static_cast<unsigned>(quern::twin::collect(mask, quern::twin::Collective::match_any,
                                                    quern::twin::bits_of<unsigned long long>(value), 0, site));
}

#define QUERN_TWIN_REDUCE(name, T, what)                                                                   \
  inline T name(unsigned mask, T value, QUERN_TWIN_SITE) {                                                 \
    return static_cast<T>(                                                                                 \
        quern::twin::collect(mask, quern::twin::Collective::what, static_cast<unsigned>(value), 0, site)); \
  }
QUERN_TWIN_REDUCE(__reduce_add_sync, unsigned, reduce_add)
QUERN_TWIN_REDUCE(__reduce_add_sync, int, reduce_add)
QUERN_TWIN_REDUCE(__reduce_min_sync, unsigned, reduce_min)
QUERN_TWIN_REDUCE(__reduce_max_sync, unsigned, reduce_max)
QUERN_TWIN_REDUCE(__reduce_min_sync, int, reduce_min_signed)
QUERN_TWIN_REDUCE(__reduce_max_sync, int, reduce_max_signed)
QUERN_TWIN_REDUCE(__reduce_and_sync, unsigned, reduce_and)
QUERN_TWIN_REDUCE(__reduce_or_sync, unsigned, reduce_or)
QUERN_TWIN_REDUCE(__reduce_xor_sync, unsigned, reduce_xor)
#undef QUERN_TWIN_REDUCE

// ---- Atomics. The scope makes no difference here: all are system-wide.

namespace quern::twin {

template <unsigned long Bytes>
struct BitsOf;
// clang-format off
template <> struct BitsOf<2> { using Type = unsigned short; };
template <> struct BitsOf<4> { using Type = unsigned; };
template <> struct BitsOf<8> { using Type = unsigned long long; };
// clang-format on

// Integers wrap, as on the GPU.
template <class T>
inline T sum(T a, T b) {
  if constexpr (T(1) / T(2) == T(0))
    return static_cast<T>(bits_of<unsigned long long>(a) + bits_of<unsigned long long>(b));
  return a + b;
}
template <class T>
inline T difference(T a, T b) {
  if constexpr (T(1) / T(2) == T(0))
    return static_cast<T>(bits_of<unsigned long long>(a) - bits_of<unsigned long long>(b));
  return a - b;
}

template <class Word>
QUERN_TWIN_UNSEEN inline Word load_word(const Word* from) {
  return __atomic_load_n(from, __ATOMIC_RELAXED);
}
template <class Word>
QUERN_TWIN_UNSEEN inline void store_word(Word* to, Word word) {
  __atomic_store_n(to, word, __ATOMIC_RELAXED);
}

// Replaces *to by change(*to) and returns the old value.
template <class T, class F>
QUERN_TWIN_UNSEEN inline T update(T* to, F change, Site site) {
  using Bits = typename BitsOf<sizeof(T)>::Type;
  watch(Access::global_atomic, to, sizeof(T), site);
  auto* const cell = reinterpret_cast<Bits*>(to);
  Bits before = __atomic_load_n(cell, __ATOMIC_RELAXED);
  for (;;) {
    const T old = value_of<T>(before);
    const Bits after = bits_of<Bits>(change(old));
    if (__atomic_compare_exchange_n(cell, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return old;
  }
}

}  // namespace quern::twin

template <class T>
struct quern_twin_same {
  using Type = T;
};

#define QUERN_TWIN_ATOMIC(name, change)                                                    \
  template <class T>                                                                       \
  inline T name(T* to, typename quern_twin_same<T>::Type with, QUERN_TWIN_SITE) {          \
    return quern::twin::update(                                                            \
        to, [&](T old) -> T { return change; }, site);                                     \
  }                                                                                        \
  template <class T>                                                                       \
  inline T name##_block(T* to, typename quern_twin_same<T>::Type with, QUERN_TWIN_SITE) {  \
    return name(to, with, site);                                                           \
  }                                                                                        \
  template <class T>                                                                       \
  inline T name##_system(T* to, typename quern_twin_same<T>::Type with, QUERN_TWIN_SITE) { \
    return name(to, with, site);                                                           \
  }
QUERN_TWIN_ATOMIC(atomicAdd, quern::twin::sum(old, with))
QUERN_TWIN_ATOMIC(atomicSub, quern::twin::difference(old, with))
QUERN_TWIN_ATOMIC(atomicExch, with)
QUERN_TWIN_ATOMIC(atomicMin, with < old ? with : old)
QUERN_TWIN_ATOMIC(atomicMax, with > old ? with : old)
QUERN_TWIN_ATOMIC(atomicAnd, old& with)
QUERN_TWIN_ATOMIC(atomicOr, old | with)
QUERN_TWIN_ATOMIC(atomicXor, old ^ with)
QUERN_TWIN_ATOMIC(atomicInc, old >= with ? 0 : old + 1)
QUERN_TWIN_ATOMIC(atomicDec, old == 0 || old > with ? with : old - 1)
#undef QUERN_TWIN_ATOMIC
template <class T>
inline T atomicCAS(T* to, typename quern_twin_same<T>::Type expected, typename quern_twin_same<T>::Type desired,
                   QUERN_TWIN_SITE) {
  return quern::twin::update(
      to, [&](T old) -> T { return old == expected ? desired : old; }, site);
}

// ---- Failing

inline void __assertfail(const char* what, const char* file, unsigned line, const char*, unsigned long) {
  auto& t = quern::twin::self();
  t.services->fail(t, what, {file, static_cast<int>(line)});
}
inline void __trap(QUERN_TWIN_SITE) {
  auto& t = quern::twin::self();
  t.services->fail(t, "trap", site);
}

#include "common/twin_raw.cuh"

// ---- The image

namespace quern {
constexpr unsigned max_threads = 0;  // if the spec has none
namespace twin {

inline unsigned static_shared_bytes = 0;

// A place in the shared memory of each block.
inline unsigned reserve_shared(unsigned bytes) {
  const unsigned offset = static_shared_bytes;
  static_shared_bytes = (offset + bytes + 127) & ~127u;
  return offset;
}

template <class P>
struct KernelOf;
template <class P>
struct KernelOf<void (*)(P)> {
  static constexpr unsigned kParameterBytes = sizeof(P);
  static void run(void (*kernel)(P), const void* parameter) { kernel(*static_cast<const P*>(parameter)); }
};

}  // namespace twin
}  // namespace quern

// At the end of the unit, after everything that reserves shared memory.
#define QUERN_HOST_KERNEL(name)                                                                      \
  namespace quern::spec::of_image {                                                                  \
  constexpr unsigned kMaxThreads = max_threads;                                                      \
  static void run(const void* parameter) {                                                           \
    quern::twin::kernels_run = true;                                                                 \
    quern::twin::KernelOf<decltype(&::name)>::run(&::name, parameter);                               \
  }                                                                                                  \
  }                                                                                                  \
  extern "C" __attribute__((visibility("default")))                                                  \
  const quern::twin::Image quern_image = {quern::twin::kAbiVersion,                                  \
                                          quern::twin::KernelOf<decltype(&::name)>::kParameterBytes, \
                                          quern::spec::of_image::kMaxThreads,                        \
                                          quern::twin::static_shared_bytes,                          \
                                          #name,                                                     \
                                          quern::spec::of_image::run};

#endif  // __CUDACC__

#endif  // QUERN_COMMON_TWIN_CUH_
