#ifndef QUERN_COMMON_COPY_ASYNC_CUH_
#define QUERN_COMMON_COPY_ASYNC_CUH_

#include "common/shared.cuh"

// Copies of a thread from global to shared memory, which it waits for later: what is on its way takes no registers.

#if defined(__CUDA_ARCH__) || defined(QUERN_HOST_IMAGE)

namespace quern::common {

// Starts to copy 4, 8 or 16 bytes; both addresses are multiples of as many. Until wait_for_copies no thread may access
// that shared memory, and other threads not before a barrier after it.
template <int Bytes>
QUERN_DEVICE void copy_async(void* to, const void* from QUERN_SITE) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "a copy moves 4, 8 or 16 bytes");
#ifdef __CUDA_ARCH__
  const u32 shared = static_cast<u32>(__cvta_generic_to_shared(to));
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(Bytes) : "memory");
#else
  twin::Thread& t = twin::self();
  t.services->own_copy(t, to, from, Bytes, site);
#endif
}

// Waits for all copies that this thread has started. It must do so before it ends.
QUERN_DEVICE void wait_for_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_all;" ::: "memory");
#else
  twin::Thread& t = twin::self();
  t.services->wait_for_own_copies(t);
#endif
}

}  // namespace quern::common

#endif

#endif  // QUERN_COMMON_COPY_ASYNC_CUH_
