#ifndef QUERN_COMMON_SYNC_CUH_
#define QUERN_COMMON_SYNC_CUH_

#include "common/device.cuh"

#if defined(__CUDA_ARCH__) || defined(QUERN_HOST_IMAGE)

namespace quern::common {

// Barrier `id`, 1 to 15, of the first `threads` threads that come to it, a multiple of 32.
QUERN_DEVICE void barrier(u32 id, u32 threads QUERN_SITE) {
#ifdef __CUDA_ARCH__
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#else
  twin::Thread& t = twin::self();
  if (id == 0 || threads == 0 || threads % 32 != 0)
    t.services->fail(t, "a named barrier is 1 to 15, for a multiple of 32 threads", site);
  t.services->barrier(t, id, threads, twin::BlockVote::none, 0, site);
#endif
}

// ---- Clusters: from sm_90 on.

// All threads of all blocks of the cluster; what they wrote before is seen after.
QUERN_DEVICE void cluster_barrier(QUERN_ONLY_SITE) {
#ifdef __CUDA_ARCH__
  __syncwarp();  // `aligned`: the lanes of a warp must come as one
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#else
  twin::Thread& t = twin::self();
  t.services->cluster_barrier(t, site);
#endif
}

// Its two halves, for work between them. The first says only that a thread has come, not what it has written: that
// would wait until all of it has reached memory, which may take a microsecond. The host driver waits for everybody in
// the second, and does not find what relies on more.
QUERN_DEVICE void cluster_arrive_relaxed() {
#ifdef __CUDA_ARCH__
  __syncwarp();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
QUERN_DEVICE void cluster_wait(QUERN_ONLY_SITE) {
#ifdef __CUDA_ARCH__
  __syncwarp();
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  cluster_barrier(site);
#endif
}

// This block's number in its cluster.
QUERN_DEVICE u32 cluster_rank() {
#ifdef __CUDA_ARCH__
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  const twin::Thread& t = twin::self();
  return (t.cluster_index.z * t.cluster_extent.y + t.cluster_index.y) * t.cluster_extent.x + t.cluster_index.x;
#endif
}

// Where block `rank` of the cluster has what this block has at `address` of its shared memory. For load_shared and
// store_shared of common/shared.cuh, so that the host driver sees the accesses.
template <class T>
QUERN_DEVICE T* map_shared(T* address, u32 rank QUERN_SITE) {
#ifdef __CUDA_ARCH__
  u64 mapped;
  asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(address), "r"(rank));
  return reinterpret_cast<T*>(mapped);
#else
  twin::Thread& t = twin::self();
  return static_cast<T*>(t.services->cluster_map(t, address, rank, site));
#endif
}

}  // namespace quern::common

#endif

#endif  // QUERN_COMMON_SYNC_CUH_
