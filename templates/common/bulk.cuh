#ifndef QUERN_COMMON_BULK_CUH_
#define QUERN_COMMON_BULK_CUH_

#include "common/mbarrier.cuh"

// Asynchronous bulk copies between global and shared memory. Addresses and sizes are multiples of 16 bytes. From sm_90
// on.

#if (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900) || defined(QUERN_HOST_IMAGE)

namespace quern::common {

#ifdef __CUDA_ARCH__

// L2 eviction priority of a copy's bytes.
QUERN_DEVICE u64 evict_first() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
QUERN_DEVICE u64 evict_last() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

#endif

// Starts to copy `bytes` bytes into the block's shared memory. They count for the barrier's phase when they arrive;
// mbarrier_wait waits for that. No thread may access that memory before.
template <LoadHint H = LoadHint::plain>
QUERN_DEVICE void bulk_load(void* to, const void* from, u32 bytes, u64* barrier QUERN_SITE) {
#ifdef __CUDA_ARCH__
  const u32 shared = shared_address(to), arrived = shared_address(barrier);
  if constexpr (H == LoadHint::plain) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
        "l"(from), "r"(bytes), "r"(arrived)
        : "memory");
  } else {
    const u64 policy = H == LoadHint::keep ? evict_last() : evict_first();
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], "
        "%4;" ::"r"(shared),
        "l"(from), "r"(bytes), "r"(arrived), "l"(policy)
        : "memory");
  }
#else
  twin::Thread& t = twin::self();
  t.services->bulk_copy(t, to, from, bytes, barrier, site);
#endif
}

// Starts to copy `bytes` bytes from the block's shared memory, as a part of the thread's next group. Copies must have
// written them there; bytes that threads stored would need a fence.
template <StoreHint H = StoreHint::plain>
QUERN_DEVICE void bulk_store(void* to, const void* from, u32 bytes QUERN_SITE) {
#ifdef __CUDA_ARCH__
  const u32 shared = shared_address(from);
  if constexpr (H == StoreHint::plain) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(to),
                 "r"(shared), "r"(bytes), "l"(evict_first())
                 : "memory");
  }
#else
  twin::Thread& t = twin::self();
  t.services->bulk_copy(t, to, from, bytes, nullptr, site);
#endif
}

// Closes a group: the stores that this thread started since the last commit. It may be empty.
QUERN_DEVICE void bulk_commit() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#else
  twin::Thread& t = twin::self();
  t.services->bulk_commit(t);
#endif
}

// Waits until all groups of this thread but the last `Pending` have read their shared memory, which may then be used
// again. A thread must do so for all of them before it ends.
template <int Pending>
QUERN_DEVICE void bulk_wait_read() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
#else
  twin::Thread& t = twin::self();
  t.services->bulk_wait(t, Pending);
#endif
}

}  // namespace quern::common

#endif

#endif  // QUERN_COMMON_BULK_CUH_
