#ifndef QUERN_COMMON_MBARRIER_CUH_
#define QUERN_COMMON_MBARRIER_CUH_

#include "common/shared.cuh"

// Barriers in shared memory that count arrivals and bytes: how a thread waits for a bulk copy. Each is one u64 of a
// QUERN_SHARED array, accessed only through this file. From sm_90 on.
//
// A barrier has phases. A phase ends after as many arrivals as the barrier was made for, and when all announced bytes
// have arrived. Phases are told apart by their parity, the first one's being 0; a thread must not fall two
// phases behind.

#if (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900) || defined(QUERN_HOST_IMAGE)

namespace quern::common {

// The address of shared memory in its own state space, as instructions take it.
#ifdef __CUDA_ARCH__
QUERN_DEVICE u32 shared_address(const void* pointer) {
  u32 address;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(address) : "l"(pointer));
  return address;
}
#endif

// For `arrivals` per phase. One thread does it, and then calls mbarrier_fence; other threads wait for that at a barrier
// of the block or the warp.
QUERN_DEVICE void mbarrier_init(u64* barrier, u32 arrivals QUERN_SITE) {
#ifdef __CUDA_ARCH__
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
#else
  twin::Thread& t = twin::self();
  t.services->mbarrier(t, twin::Mbarrier::init, barrier, arrivals, site);
#endif
}

// Copies that this thread starts from now on see the barriers that it has made.
QUERN_DEVICE void mbarrier_fence() {
#ifdef __CUDA_ARCH__
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Other blocks of the cluster see the barriers that this thread has made, after the next barrier of the cluster.
QUERN_DEVICE void mbarrier_publish() {
#ifdef __CUDA_ARCH__
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

QUERN_DEVICE void mbarrier_arrive(u64* barrier QUERN_SITE) {
#ifdef __CUDA_ARCH__
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
#else
  twin::Thread& t = twin::self();
  t.services->mbarrier(t, twin::Mbarrier::arrive, barrier, 0, site);
#endif
}

// Arrives, and announces `bytes` that the phase has to wait for, below 2^20.
QUERN_DEVICE void mbarrier_expect(u64* barrier, u32 bytes QUERN_SITE) {
#ifdef __CUDA_ARCH__
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
#else
  twin::Thread& t = twin::self();
  t.services->mbarrier(t, twin::Mbarrier::expect, barrier, bytes, site);
#endif
}

// Waits until the phase of this parity has ended; this thread then sees the bytes of its copies.
QUERN_DEVICE void mbarrier_wait(u64* barrier, u32 parity QUERN_SITE) {
#ifdef __CUDA_ARCH__
  u32 ended;
  do {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(ended)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
  } while (ended == 0);
#else
  twin::Thread& t = twin::self();
  t.services->mbarrier(t, twin::Mbarrier::wait, barrier, parity, site);
#endif
}

// Starts to store 16 bytes into the shared memory of a block of the cluster. They count for the phase of a barrier of
// that block when they arrive. `to` and `barrier` are from map_shared. It does not wait for other writes of the
// thread.
QUERN_DEVICE void store_cluster(void* to, const Vector<16>& vector, u64* barrier QUERN_SITE) {
#ifdef __CUDA_ARCH__
  asm volatile(
      "{ .reg .u64 t; .reg .u32 to, barrier;\n"
      "cvta.to.shared::cluster.u64 t, %0; cvt.u32.u64 to, t;\n"
      "cvta.to.shared::cluster.u64 t, %1; cvt.u32.u64 barrier, t;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [to], {%2, %3, %4, %5}, [barrier]; }" ::"l"(
          to),
      "l"(barrier), "r"(vector.w[0]), "r"(vector.w[1]), "r"(vector.w[2]), "r"(vector.w[3])
      : "memory");
#else
  twin::Thread& t = twin::self();
  t.services->cluster_store(t, to, &vector, barrier, site);
#endif
}

}  // namespace quern::common

#endif

#endif  // QUERN_COMMON_MBARRIER_CUH_
