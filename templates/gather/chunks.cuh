// The bulk form: rows go through shared memory in chunks, moved by the copy engine. Each warp works by itself, with a
// ring of buffers: while one chunk is written out the next ones are read. One lane starts the copies; all lanes look up
// rows, 32 chunks at a time, so that the ring seldom waits for an index.
#ifndef QUERN_GATHER_CHUNKS_CUH_
#define QUERN_GATHER_CHUNKS_CUH_

#include "common/bulk.cuh"
#include "gather/rows.cuh"

namespace quern::gather {

using KernelParams = ChunkParams;

constexpr int kStages = spec::stages;
constexpr int kMaxWarps = spec::max_threads / 32;
// A buffer is read into again one chunk after it was written out, so that this write need not be awaited at once.
constexpr int kLag = kStages > 1 ? 1 : 0;

QUERN_SHARED(u64, chunk_came, kMaxWarps* kStages);

// Where a chunk lies in its row, and where it goes.
struct Chunk {
  u64 row;
  i64 begin;
  u32 bytes;
};

QUERN_DEVICE Chunk chunk_at(const ChunkParams& p, u64 number) {
  const u64 row = divide(number, p.slots.by_row);
  const i64 begin = static_cast<i64>(number - row * p.slots.per_row) * p.chunk;
  const i64 left = p.row_bytes - begin;
  return {row, begin, static_cast<u32>(left < p.chunk ? left : p.chunk)};
}

QUERN_DEVICE void store_zeros(u8* to, u32 bytes, u32 lane) {
  for (u32 i = 16 * lane; i < bytes; i += 16 * 32) store<16, kStore>(to + i, Vector<16>{});
}

// A warp's chunks, every so many of all, and the ring that they go through. Called by all lanes together.
class Ring {
 public:
  QUERN_DEVICE explicit Ring(const ChunkParams& p)
      : p_(p),
        lane_(threadIdx.x % 32),
        first_(static_cast<u64>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32),
        step_(static_cast<u64>(gridDim.x) * (blockDim.x / 32)),
        buffers_(dynamic_shared() + threadIdx.x / 32 * kStages * static_cast<u32>(p.chunk)) {
    if (lane_ == 0) {
#pragma unroll
      for (int i = 0; i < kStages; ++i) mbarrier_init(came(i), 1);
      mbarrier_fence();
    }
    __syncwarp();
  }

  // Whether the warp has a chunk `k`.
  QUERN_DEVICE bool has(u64 k) const { return first_ + k * step_ < p_.slots.count; }

  // Begins to read chunk k, the one after that of the last call.
  QUERN_DEVICE void fill(u64 k) {
    if (k % 32 == 0) look_up(k + lane_);
    const u8* const source = reinterpret_cast<const u8*>(__shfl_sync(~0u, source_, static_cast<int>(k % 32)));
    const u32 stage = k % kStages;
    const u32 bytes = chunk_at(p_, first_ + k * step_).bytes;
    if constexpr (kZeroRows) zeros_ = (zeros_ & ~(1u << stage)) | (source == nullptr ? 1u << stage : 0u);
    if (lane_ != 0) return;
    if (kZeroRows && source == nullptr) return mbarrier_arrive(came(stage));
    mbarrier_expect(came(stage), bytes);
    bulk_load<kLoad>(buffer(stage), source, bytes, came(stage));
  }

  // Awaits chunk k and begins to write it out.
  QUERN_DEVICE void drain(u64 k) {
    const u32 stage = k % kStages;
    const Chunk chunk = chunk_at(p_, first_ + k * step_);
    u8* const to = out_row(p_, chunk.row) + chunk.begin;
    const bool zero = kZeroRows && (zeros_ >> stage & 1) != 0;
    if (zero) store_zeros(to, chunk.bytes, lane_);
    mbarrier_wait(came(stage), static_cast<u32>(k / kStages & 1));
    if (lane_ != 0) return;
    if (!zero) bulk_store<kStore>(to, buffer(stage), chunk.bytes);
    bulk_commit();
  }

  // Waits until all chunks but the last `Pending` that were drained have left their buffers.
  template <int Pending>
  QUERN_DEVICE void reclaim() {
    if (lane_ == 0) bulk_wait_read<Pending>();
  }

 private:
  // This lane finds where chunk k comes from, if there is one; null for zeros.
  QUERN_DEVICE void look_up(u64 k) {
    source_ = 0;
    if (!has(k)) return;
    const Chunk chunk = chunk_at(p_, first_ + k * step_);
    const SourceRow row = resolve(p_, chunk.row);
    if (!row.zero) source_ = reinterpret_cast<u64>(row.data + chunk.begin);
  }
  QUERN_DEVICE u64* came(int stage) const { return chunk_came.at(threadIdx.x / 32 * kStages + stage); }
  QUERN_DEVICE u8* buffer(u32 stage) const { return buffers_ + stage * static_cast<u32>(p_.chunk); }

  const ChunkParams& p_;
  u32 lane_;
  u64 first_;
  u64 step_;
  u8* buffers_;
  u64 source_ = 0;
  u32 zeros_ = 0;  // a bit a stage: its chunk is of a row that is zero
};

QUERN_DEVICE void gather_rows(const ChunkParams& p) {
  Ring ring(p);
#pragma unroll 1
  for (u64 k = 0; k < kStages && ring.has(k); ++k) ring.fill(k);
#pragma unroll 1
  for (u64 k = 0; ring.has(k); ++k) {
    ring.drain(k);
    const u64 next = k + kStages - kLag;
    if (k < kLag || !ring.has(next)) continue;
    ring.reclaim<kLag>();
    ring.fill(next);
  }
  ring.reclaim<0>();
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_CHUNKS_CUH_
