// Barriers and warp collectives.
#include <bit>

#include "base/text.h"
#include "hostdriver/exec/co_resident_set.h"

namespace quern::host {
namespace {

using twin::BlockVote;
using twin::Collective;

constexpr unsigned kBarriers = 16;

unsigned outcome(const Barrier& barrier) {
  switch (barrier.vote) {
    case BlockVote::none:
      return 0;
    case BlockVote::count:
      return barrier.votes;
    case BlockVote::all:
      return barrier.votes == barrier.expected;
    case BlockVote::any:
      return barrier.votes != 0;
  }
  return 0;
}

template <class F>
std::uint64_t fold(const WarpCollective& collective, F combine) {
  std::uint32_t sum = 0;
  bool first = true;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((collective.mask >> lane & 1) == 0) continue;
    const auto value = static_cast<std::uint32_t>(collective.values[lane]);
    sum = first ? value : combine(sum, value);
    first = false;
  }
  return sum;
}

std::uint32_t lanes_with(const WarpCollective& collective, auto predicate) {
  std::uint32_t lanes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((collective.mask >> lane & 1) != 0 && predicate(collective.values[lane])) lanes |= 1u << lane;
  }
  return lanes;
}

using U = std::uint32_t;
using I = std::int32_t;

const char* name(Collective what) {
  switch (what) {
    case Collective::sync:
      return "a __syncwarp";
    case Collective::shuffle:
      return "a shuffle";
    case Collective::ballot:
      return "a vote";
    case Collective::match_any:
      return "a match";
    default:
      return "a reduction";
  }
}

}  // namespace

unsigned CoResidentSet::barrier(CudaThread& thread, unsigned id, unsigned threads, BlockVote vote, unsigned value,
                                twin::Site site) {
  if (id >= kBarriers)
    fail(thread, CUDA_ERROR_LAUNCH_FAILED, cat("barrier ", id, " does not exist; expected 0 to 15"), site);
  const unsigned expected = threads == 0 ? block_threads_ : threads;
  if (expected > block_threads_)
    fail(thread, CUDA_ERROR_LAUNCH_FAILED, cat("a barrier for ", expected, " threads in a block of ", block_threads_),
         site);
  Barrier& barrier = thread.block->barriers[id];
  if (barrier.waiting.empty()) {
    barrier.expected = expected;
    barrier.vote = vote;
    barrier.votes = 0;
  } else if (barrier.expected != expected || barrier.vote != vote) {
    fail(thread, CUDA_ERROR_LAUNCH_FAILED,
         cat("barrier ", id, " for ", expected, " threads, at which others wait for ", barrier.expected,
             " or for another vote"),
         site);
  }
  barrier.votes += value != 0 ? 1 : 0;
  if (barrier.waiting.size() + 1 < barrier.expected) {
    barrier.waiting.push_back(&thread);
    wait(thread, "a barrier", site);
    return barrier.result;
  }
  barrier.result = outcome(barrier);
  ++thread.block->step;
  release(barrier.waiting);
  return barrier.result;
}

void CoResidentSet::cluster_barrier(CudaThread& thread, twin::Site site) {
  const unsigned cluster = thread.block->cluster;
  Barrier& barrier = cluster_barriers_[cluster];
  const unsigned expected = total_ / static_cast<unsigned>(cluster_barriers_.size());
  if (barrier.waiting.size() + 1 < expected) {
    barrier.waiting.push_back(&thread);
    wait(thread, "a barrier of the cluster", site);
    return;
  }
  ++cluster_steps_[cluster];
  for (unsigned i = 0; i < block_count_; ++i) blocks_[i].step += blocks_[i].cluster == cluster ? 1 : 0;
  release(barrier.waiting);
}

void* CoResidentSet::cluster_map(CudaThread& thread, const void* address, unsigned rank, twin::Site site) {
  const twin::Dim3& extent = run_.grid.cluster;
  const unsigned blocks = extent.x * extent.y * extent.z;
  const auto offset = static_cast<const unsigned char*>(address) - thread.block->shared;
  if (rank >= blocks) fail(thread, CUDA_ERROR_LAUNCH_FAILED, cat("block ", rank, " of a cluster of ", blocks), site);
  if (offset < 0 || offset >= shared_bytes_)
    fail(thread, CUDA_ERROR_ILLEGAL_ADDRESS, "an address that is not in the block's shared memory is mapped", site);
  return blocks_[thread.block->cluster * blocks + rank].shared + offset;
}

// The lanes of the thread's warp.
unsigned CoResidentSet::lanes_of(const CudaThread& thread) const {
  const unsigned first = thread.number % block_threads_ / 32 * 32;
  const unsigned count = block_threads_ - first;
  return count >= 32 ? ~0u : (1u << count) - 1;
}

std::uint64_t CoResidentSet::collective(CudaThread& thread, unsigned mask, Collective what, std::uint64_t value,
                                        unsigned operand, twin::Site site) {
  const unsigned rank = thread.number % block_threads_, lane = rank % 32;
  if ((mask >> lane & 1) == 0)
    fail(thread, CUDA_ERROR_LAUNCH_FAILED, cat(name(what), " by a lane that its mask does not name"), site);
  if ((mask & ~lanes_of(thread)) != 0)
    fail(thread, CUDA_ERROR_LAUNCH_FAILED,
         cat(name(what), " whose mask names lane ", std::countr_zero(mask & ~lanes_of(thread)),
             ", which the last warp of a block of ", block_threads_, " threads lacks"),
         site);
  Warp& warp = thread.block->warps[rank / 32];
  WarpCollective* collective = nullptr;
  for (WarpCollective& m : warp.collectives) {
    if (m.mask == mask && m.what == what && (m.arrived >> lane & 1) == 0) collective = &m;
  }
  for (WarpCollective& m : warp.collectives) {
    if (collective == nullptr && m.mask == 0) collective = &m;
  }
  if (collective == nullptr) collective = &warp.collectives.emplace_back();
  if (collective->mask == 0) collective->mask = mask, collective->what = what, collective->arrived = 0;
  collective->arrived |= 1u << lane;
  collective->values[lane] = value;
  collective->operands[lane] = operand;
  collective->lanes[lane] = &thread;
  thread.site = site;
  if (collective->arrived == mask) {
    if (what == Collective::sync) ++warp.step;
    finish(*collective, thread);
  } else {
    wait(thread, name(what), site);
  }
  return thread.result;
}

void CoResidentSet::finish(WarpCollective& collective, CudaThread& last) {
  idle_yields_ = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((collective.mask >> lane & 1) == 0) continue;
    CudaThread& thread = *collective.lanes[lane];
    thread.result = result_for(collective, lane, last);
    if (&thread != &last) make_ready(thread);
  }
  collective.mask = 0;
}

std::uint64_t CoResidentSet::result_for(const WarpCollective& collective, unsigned lane, CudaThread& last) {
  switch (collective.what) {
    case Collective::sync:
      return 0;
    case Collective::shuffle: {
      const unsigned from = collective.operands[lane];
      if (from >= 32 || (collective.mask >> from & 1) == 0)
        fail(last, CUDA_ERROR_LAUNCH_FAILED,
             cat("a shuffle in which lane ", lane, " reads lane ", from, ", which the mask does not name"), last.site);
      return collective.values[from];
    }
    case Collective::ballot:
      return lanes_with(collective, [](std::uint64_t v) { return v != 0; });
    case Collective::match_any:
      return lanes_with(collective, [&](std::uint64_t v) { return v == collective.values[lane]; });
    case Collective::reduce_add:
      return fold(collective, [](U a, U b) { return a + b; });
    case Collective::reduce_min:
      return fold(collective, [](U a, U b) { return a < b ? a : b; });
    case Collective::reduce_max:
      return fold(collective, [](U a, U b) { return a > b ? a : b; });
    case Collective::reduce_min_signed:
      return fold(collective, [](U a, U b) { return static_cast<I>(a) < static_cast<I>(b) ? a : b; });
    case Collective::reduce_max_signed:
      return fold(collective, [](U a, U b) { return static_cast<I>(a) > static_cast<I>(b) ? a : b; });
    case Collective::reduce_and:
      return fold(collective, [](U a, U b) { return a & b; });
    case Collective::reduce_or:
      return fold(collective, [](U a, U b) { return a | b; });
    case Collective::reduce_xor:
      return fold(collective, [](U a, U b) { return a ^ b; });
  }
  return 0;
}

}  // namespace quern::host
