#ifndef QUERN_COMMON_SYNC_CUH_
#define QUERN_COMMON_SYNC_CUH_

#include "common/device.cuh"

#if defined(__CUDA_ARCH__) || defined(QUERN_HOST_IMAGE)

namespace quern::common {

// Barrier `id`, 1 to 15, of the first `threads` threads that arrive, a multiple of 32.
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

// ---- Between the blocks of a launch. Nothing here is ordered with other accesses: a word carries its own flag and
// needs no fence, which would wait until all earlier writes have reached memory.

QUERN_DEVICE u32 load_relaxed(const u32* from QUERN_SITE) {
#ifdef __CUDA_ARCH__
  u32 word;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
  return word;
#else
  QUERN_WATCH(relaxed_load, from, 4);
  return twin::load_word(from);
#endif
}
QUERN_DEVICE void store_relaxed(u32* to, u32 word QUERN_SITE) {
#ifdef __CUDA_ARCH__
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(word) : "memory");
#else
  QUERN_WATCH(relaxed_store, to, 4);
  twin::store_word(to, word);
#endif
}

// Two words at once, aligned to 8 bytes: a reader sees both or neither.
QUERN_DEVICE u64 load_relaxed(const u64* from QUERN_SITE) {
#ifdef __CUDA_ARCH__
  u64 words;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(words) : "l"(from) : "memory");
  return words;
#else
  QUERN_WATCH(relaxed_load, from, 8);
  return twin::load_word(from);
#endif
}
QUERN_DEVICE void store_relaxed(u64* to, u64 words QUERN_SITE) {
#ifdef __CUDA_ARCH__
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(words) : "memory");
#else
  QUERN_WATCH(relaxed_store, to, 8);
  twin::store_word(to, words);
#endif
}

// Adds to a word, in the threads for which `mine` holds, and returns the old value. Threads wait for it only when they
// use it; after a branch all of them would wait.
QUERN_DEVICE u32 add_relaxed(bool mine, u32* to, u32 addend QUERN_SITE) {
  u32 before = 0;
#ifdef __CUDA_ARCH__
  asm volatile(
      "{\n\t.reg .pred mine;\n\tsetp.ne.u32 mine, %1, 0;\n\t@mine atom.relaxed.gpu.global.add.u32 %0, [%2], %3;\n\t}"
      : "+r"(before)
      : "r"(static_cast<u32>(mine)), "l"(to), "r"(addend)
      : "memory");
#else
  if (mine) before = atomicAdd(to, addend, site);
#endif
  return before;
}

// In a loop that polls several words of other blocks. On the host driver other threads run here.
QUERN_DEVICE void poll_again(QUERN_ONLY_SITE) {
#ifndef __CUDA_ARCH__
  twin::Thread& t = twin::self();
  t.services->yield(t, site);
#endif
}

// A non-zero word that another block has stored or will store; `word` was read from there.
QUERN_DEVICE u32 awaited(const u32* from, u32 word) {
  while (word == 0) word = load_relaxed(from);
  return word;
}

// Reads words, `stride` apart, of which other blocks store each once, until none of the first `count` is 0. All loads
// are in flight at once. The other words of `found` become 0.
template <u32 kWords>
QUERN_DEVICE void await_words(const u32* first, u32 stride, u32 count, u32 (&found)[kWords]) {
#pragma unroll
  for (u32& word : found) word = 0;
  for (bool missing = true; missing;) {
#pragma unroll
    for (u32 i = 0; i < kWords; ++i) {
      if (i < count && found[i] == 0) found[i] = load_relaxed(first + i * stride);
    }
    missing = false;
#pragma unroll
    for (u32 i = 0; i < kWords; ++i) missing = missing || (i < count && found[i] == 0);
    if (missing) poll_again();
  }
}

// What one thread of each block does at the barrier below: arrive, and wait for all blocks.
QUERN_DEVICE u32 grid_arrive_alone(u32* word) {
  __threadfence();
  return add_relaxed(true, word, blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1);
}
QUERN_DEVICE void grid_wait_alone(const u32* word, u32 before) {
  while (((before ^ load_relaxed(word)) >> 31) == 0) poll_again();
  __threadfence();
}

// A barrier of all threads of a grid whose blocks are co-resident and have one dimension. What they wrote before is
// visible after, except to reads through the read-only path. `word` must be 0 before the first barrier. Each barrier
// flips its highest bit and leaves the others 0.
QUERN_DEVICE void grid_barrier(u32* word) {
  __syncthreads();
  if (gridDim.x == 1) return;
  if (threadIdx.x == 0) grid_wait_alone(word, grid_arrive_alone(word));
  __syncthreads();
}

// Its two halves, for work between them whose writes need not be visible after. The first gives what the second takes.
QUERN_DEVICE u32 grid_arrive(u32* word) {
  __syncthreads();
  return threadIdx.x == 0 && gridDim.x > 1 ? grid_arrive_alone(word) : 0;
}
QUERN_DEVICE void grid_wait(const u32* word, u32 before) {
  if (threadIdx.x == 0 && gridDim.x > 1) grid_wait_alone(word, before);
  __syncthreads();
}

// ---- Clusters: from sm_90 on.

// A barrier of all threads of the cluster; what they wrote before is visible after.
QUERN_DEVICE void cluster_barrier(QUERN_ONLY_SITE) {
#ifdef __CUDA_ARCH__
  __syncwarp();  // `aligned`: the lanes of a warp must arrive together
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#else
  twin::Thread& t = twin::self();
  t.services->cluster_barrier(t, site);
#endif
}

// Its two halves, for work between them. The first is relaxed: it does not publish the thread's writes, which would
// have to reach memory first, for up to a microsecond. The host driver waits for all threads in the second, and does
// not find code that relies on more.
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

// This block's rank in its cluster.
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

// The address in block `rank` of the cluster for `address` in this block's shared memory. For load_shared and
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
