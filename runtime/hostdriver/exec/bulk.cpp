// Bulk copies, the mbarriers in shared memory that track them, and copies of one thread.
#include "hostdriver/exec/bulk.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "hostdriver/exec/co_resident_set.h"

namespace quern::host {
namespace {

constexpr unsigned kUnit = 16;  // alignment of addresses and sizes of bulk copies
constexpr unsigned kBarrierBytes = 8;
constexpr unsigned kMostAnnounced = 1u << 20;  // limit for the bytes of a phase

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

void make(const BulkCopy& copy) {
  void* const to = reinterpret_cast<void*>(copy.to);                  // NOLINT(performance-no-int-to-ptr)
  const void* const from = reinterpret_cast<const void*>(copy.from);  // NOLINT(performance-no-int-to-ptr)
  std::memcpy(to, from == nullptr ? copy.value.data() : from, copy.bytes);
}

// The rule that the copy violates, or "".
std::string broken_rule(const BulkCopy& copy) {
  const unsigned unit = copy.own ? copy.bytes : kUnit;
  if (copy.bytes == 0 || copy.bytes % unit != 0)
    return cat("a bulk copy of ", copy.bytes, " bytes; it moves a multiple of ", unit);
  const std::string past = cat(" past a multiple of ", unit), name = cat("a ", copy.name());
  if (copy.to % unit != 0) return cat(name, " to an address that is ", copy.to % unit, past);
  if (copy.from % unit != 0) return cat(name, " from an address that is ", copy.from % unit, past);
  return {};
}

}  // namespace

bool CoResidentSet::is_shared(const Block& block, std::uintptr_t address, unsigned bytes) const {
  const std::uintptr_t offset = address - number(block.shared);
  return offset < shared_bytes_ && bytes <= shared_bytes_ - offset;
}

bool CoResidentSet::is_any_shared(std::uintptr_t address) const {
  return address - number(arena_begin_) < std::size_t{block_count_} * shared_stride_;
}

Block& CoResidentSet::block_of(std::uintptr_t shared_address) {
  return blocks_[(shared_address - number(arena_begin_)) / shared_stride_];
}

CountingBarrier& CoResidentSet::counting_barrier(CudaThread& thread, Block& block, std::uintptr_t address, bool made,
                                                 twin::Site site) {
  if (!is_shared(block, address, kBarrierBytes))
    fail(thread, CUDA_ERROR_ILLEGAL_ADDRESS, "a barrier that is not in the block's shared memory", site);
  if (address % kBarrierBytes != 0)
    fail(thread, CUDA_ERROR_MISALIGNED_ADDRESS,
         cat("a barrier at an address that is ", address % kBarrierBytes, " past a multiple of 8"), site);
  auto& barriers = block.bulk.barriers;
  const auto found = barriers.find(address);
  if (found != barriers.end()) return found->second;
  if (made) fail(thread, CUDA_ERROR_LAUNCH_FAILED, "a barrier in shared memory before its mbarrier_init", site);
  return barriers[address];
}

void CoResidentSet::mbarrier(CudaThread& thread, twin::Mbarrier what, void* address, unsigned value, twin::Site site) {
  const bool init = what == twin::Mbarrier::init;
  CountingBarrier& barrier = counting_barrier(thread, *thread.block, number(address), !init, site);
  if (init) {
    if (value == 0 || !barrier.waiting.empty())
      fail(thread, CUDA_ERROR_LAUNCH_FAILED, "mbarrier_init needs a count of 1 or more and no waiting thread", site);
    barrier = {value, value, 0, 0, {}};
  } else if (what == twin::Mbarrier::wait) {
    wait_for_phase(thread, number(address), value, site);
  } else {
    arrive(thread, number(address), what == twin::Mbarrier::expect ? value : 0, site);
  }
}

void CoResidentSet::arrive(CudaThread& thread, std::uintptr_t address, unsigned bytes, twin::Site site) {
  CountingBarrier& barrier = thread.block->bulk.barriers[address];
  if (barrier.missing == 0)
    fail(thread, CUDA_ERROR_LAUNCH_FAILED,
         cat("one arrival more than the count of ", barrier.arrivals, " that the barrier was initialized with"), site);
  --barrier.missing;
  barrier.bytes += bytes;
  if (barrier.bytes >= kMostAnnounced)
    fail(thread, CUDA_ERROR_LAUNCH_FAILED,
         cat(barrier.bytes, " bytes in one phase of a barrier; the limit is 2^20 - 1"), site);
  end_phase(*thread.block, barrier);
  if (!barrier.waiting.empty()) bring(*thread.block, address);
}

// Performs the pending copies, then waits if the phase is not complete.
void CoResidentSet::wait_for_phase(CudaThread& thread, std::uintptr_t address, unsigned parity, twin::Site site) {
  CountingBarrier& barrier = thread.block->bulk.barriers[address];
  if (barrier.parity != parity) return;
  bring(*thread.block, address);
  if (barrier.parity != parity) return;
  barrier.waiting.push_back(&thread);
  wait(thread, "a barrier in shared memory", site);
  synchronize(thread);
}

// Performs the copies that the barrier tracks.
void CoResidentSet::bring(Block& block, std::uintptr_t address) {
  CountingBarrier& barrier = block.bulk.barriers[address];
  std::erase_if(block.bulk.copies, [&](const BulkCopy& copy) {
    if (copy.barrier != address) return false;
    make(copy);
    barrier.bytes -= copy.bytes;
    return true;
  });
  end_phase(block, barrier);
}

// Completing a phase orders all accesses before and after it, for the whole block.
void CoResidentSet::end_phase(Block& block, CountingBarrier& barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0) return;
  barrier.missing = barrier.arrivals;
  barrier.parity ^= 1u;
  ++block.step;
  release(barrier.waiting);
}

void CoResidentSet::bulk_copy(CudaThread& thread, void* to, const void* from, unsigned bytes, void* barrier,
                              twin::Site site) {
  begin_copy(thread, {number(to), number(from), bytes, number(barrier), thread.number, thread.groups, site, {}});
}

void CoResidentSet::own_copy(CudaThread& thread, void* to, const void* from, unsigned bytes, twin::Site site) {
  begin_copy(thread, {number(to), number(from), bytes, 0, thread.number, 0, site, {}, true});
}

// Only then are the bytes written: other threads need a barrier after it.
void CoResidentSet::wait_for_own_copies(CudaThread& thread) {
  std::vector<BulkCopy>& copies = thread.block->bulk.copies;
  const auto mine = std::stable_partition(
      copies.begin(), copies.end(), [&](const BulkCopy& copy) { return !copy.own || copy.thread != thread.number; });
  const std::vector<BulkCopy> arrived(mine, copies.end());
  copies.erase(mine, copies.end());
  for (const BulkCopy& copy : arrived) {
    shared_access(thread, *thread.block, twin::Access::shared_store, copy.to, copy.bytes, copy.site);
    make(copy);
  }
}

void CoResidentSet::begin_copy(CudaThread& thread, const BulkCopy& copy) {
  const twin::Site site = copy.site;
  if (const std::string rule = broken_rule(copy); !rule.empty())
    fail(thread, CUDA_ERROR_MISALIGNED_ADDRESS, rule, site);
  if (copy.barrier != 0) counting_barrier(thread, *thread.block, copy.barrier, true, site);
  if (!is_shared(*thread.block, copy.shared(), copy.bytes))
    fail(thread, CUDA_ERROR_ILLEGAL_ADDRESS,
         cat("a ", copy.name(), " of ", copy.bytes, " bytes ", copy.is_load() ? "to" : "from",
             " an address that is not in the block's shared memory"),
         site);
  shared_access(thread, *thread.block, copy.is_load() ? twin::Access::shared_store : twin::Access::shared_load,
                copy.shared(), copy.bytes, site);
  global_access(thread, copy.is_load() ? twin::Access::global_load : twin::Access::global_store,
                copy.is_load() ? copy.from : copy.to, copy.bytes, site);
  BulkState& bulk = thread.block->bulk;
  bulk.copies.push_back(copy);
  if (copy.barrier != 0 && !bulk.barriers[copy.barrier].waiting.empty()) bring(*thread.block, copy.barrier);
}

// Asynchronous like a bulk copy into that block, and ordered by that block's barriers.
void CoResidentSet::cluster_store(CudaThread& thread, void* to, const void* value, void* barrier, twin::Site site) {
  BulkCopy store{number(to), 0, kUnit, number(barrier), thread.number, 0, site, {}};
  std::memcpy(store.value.data(), value, kUnit);
  if (store.to % kUnit != 0)
    fail(thread, CUDA_ERROR_MISALIGNED_ADDRESS,
         cat("a store to another block at an address that is ", store.to % kUnit, " past a multiple of 16"), site);
  if (!is_any_shared(store.to))
    fail(thread, CUDA_ERROR_ILLEGAL_ADDRESS, "a store to another block, but not to an address from map_shared", site);
  Block& there = block_of(store.to);
  if (there.ended == block_threads_)
    fail(thread, CUDA_ERROR_LAUNCH_FAILED, "a store to a block of the cluster that has ended", site);
  counting_barrier(thread, there, store.barrier, true, site);
  shared_access(thread, there, twin::Access::shared_store, store.to, kUnit, site);
  there.bulk.copies.push_back(store);
  synchronize(thread);
  if (!there.bulk.barriers[store.barrier].waiting.empty()) bring(there, store.barrier);
}

void CoResidentSet::bulk_wait(CudaThread& thread, unsigned pending) {
  std::erase_if(thread.block->bulk.copies, [&](const BulkCopy& copy) {
    if (copy.is_load() || copy.thread != thread.number || copy.group + pending >= thread.groups) return false;
    make(copy);
    return true;
  });
}

// Called when a thread ends: its shared memory may be given to another block.
void CoResidentSet::end_copies(CudaThread& thread) {
  Block& block = *thread.block;
  const bool last = ++block.ended == block_threads_;
  for (const BulkCopy& copy : block.bulk.copies) {
    if (copy.own && copy.thread == thread.number)
      fail(thread, CUDA_ERROR_LAUNCH_FAILED,
           "the thread ends before this copy has arrived: call wait_for_copies before", copy.site);
    if (!copy.is_load() && copy.thread == thread.number)
      fail(thread, CUDA_ERROR_LAUNCH_FAILED,
           "the thread ends before this bulk copy has read shared memory: call bulk_commit and bulk_wait_read before",
           copy.site);
    if (last)
      fail(thread, CUDA_ERROR_LAUNCH_FAILED,
           cat("the block ends before this ", copy.name(), " has arrived: no thread waits for it"), copy.site);
  }
}

}  // namespace quern::host
