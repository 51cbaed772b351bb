// Scales of a row that come from all blocks of a cluster, adjacent in the row. A tile has 4 bytes of a row or
// fewer, and many writes of parts of a 32-byte sector took a tenth of a kernel's time. So each block writes all the
// cluster's scales of its share of the rows.
//
// They are stores that count for a barrier of the receiving block. A releasing barrier of the cluster would also wait
// for all that a thread has written to memory, which took a fifth of a kernel's time.
#ifndef QUERN_MXFP8_TILE_CLUSTER_CUH_
#define QUERN_MXFP8_TILE_CLUSTER_CUH_

#include "common/mbarrier.cuh"
#include "mxfp8/tile_rows.cuh"

namespace quern::mxfp8 {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900

// There are no clusters, so these are never called.
QUERN_DEVICE void expect_row_scales() {}
QUERN_DEVICE void send_row_scales(const ThreadPosition&) {}
QUERN_DEVICE void write_gathered(const KernelParams&, const ThreadPosition&) {}

#else

constexpr u32 kSharedRows = kStack * kTileRows / kCluster;  // of a block's share
constexpr u32 kSentBytes = kSharedRows * kTileBlocks;       // by each block to each
constexpr u32 kUnitBytes = 16;                              // of a store

// From each block of the cluster its scales of the rows, in that block's layout.
QUERN_DEVICE u8* gathered(u32 rank, u32 byte) { return dynamic_shared() + kShared.gathered + rank * kSentBytes + byte; }
QUERN_DEVICE u64* arrived() { return reinterpret_cast<u64*>(dynamic_shared() + kShared.arrived); }

// By all threads, before a block sends: after cluster_wait the whole cluster is ready.
QUERN_DEVICE void expect_row_scales() {
  if (threadIdx.x == 0) {
    mbarrier_init(arrived(), 1);
    mbarrier_expect(arrived(), kCluster * kSentBytes);
    mbarrier_publish();
  }
  cluster_arrive_relaxed();
}

// Those of the warp's rows, to the blocks that write them.
QUERN_DEVICE void send_row_scales(const ThreadPosition& at) {
  const u32 unit = threadIdx.x % 32;
  if (unit >= kBand * kTileBlocks / kUnitBytes) return;
  const u32 byte = at.row_in_stack / kBand * kBand * kTileBlocks + unit * kUnitBytes;  // of the stack
  const u32 to = byte / kSentBytes;
  store_cluster(map_shared(gathered(cluster_rank(), byte % kSentBytes), to),
                load_shared<kUnitBytes>(row_scale(0, 0) + byte), map_shared(arrived(), to));
}

QUERN_DEVICE void write_gathered(const KernelParams& p, const ThreadPosition& at) {
  constexpr int kTogether = spec::scales_together;
  constexpr int kPiece = kTogether < kTileBlocks ? kTogether : kTileBlocks;  // from one block
  constexpr u32 kRowBytes = kCluster * kTileBlocks;
  mbarrier_wait(arrived(), 0);
  const i64 row = at.first_row + cluster_rank() * kSharedRows;
  const i64 block = at.first_column / kBlock - cluster_rank() * kTileBlocks;
  for (u32 i = threadIdx.x; i < kSharedRows * kRowBytes / kTogether; i += kTileThreads) {
    const u32 in_rows = i * kTogether / kRowBytes, first = i * kTogether % kRowBytes;
    Vector<kTogether> scales = {};
#pragma unroll
    for (u32 k = 0; k < kTogether; k += kPiece) {
      const u32 rank = (first + k) / kTileBlocks, in_tile = (first + k) % kTileBlocks;
      put_code(scales, k / kPiece, load_shared<kPiece>(gathered(rank, in_rows * kTileBlocks + in_tile)).w[0]);
    }
    store_scales<false>(row_scales(p, at), row + in_rows, block + first, at.part.rows, p.row_blocks, scales);
  }
}

#endif

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_TILE_CLUSTER_CUH_
