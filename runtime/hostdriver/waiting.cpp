// Barriers, and what the lanes of a warp do together.
#include <bit>

#include "base/text.h"
#include "hostdriver/gang.h"

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
std::uint64_t fold(const Meeting& meeting, F combine) {
  std::uint32_t sum = 0;
  bool first = true;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((meeting.mask >> lane & 1) == 0) continue;
    const auto value = static_cast<std::uint32_t>(meeting.values[lane]);
    sum = first ? value : combine(sum, value);
    first = false;
  }
  return sum;
}

std::uint32_t lanes_with(const Meeting& meeting, auto predicate) {
  std::uint32_t lanes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((meeting.mask >> lane & 1) != 0 && predicate(meeting.values[lane])) lanes |= 1u << lane;
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

unsigned Gang::barrier(Strand& strand, unsigned id, unsigned threads, BlockVote vote, unsigned value, twin::Site site) {
  if (id >= kBarriers)
    fail(strand, CUDA_ERROR_LAUNCH_FAILED, cat("barrier ", id, " does not exist; there are 0 to 15"), site);
  const unsigned expected = threads == 0 ? block_threads_ : threads;
  if (expected > block_threads_)
    fail(strand, CUDA_ERROR_LAUNCH_FAILED, cat("a barrier for ", expected, " threads in a block of ", block_threads_),
         site);
  Barrier& barrier = strand.block->barriers[id];
  if (barrier.waiting.empty()) {
    barrier.expected = expected;
    barrier.vote = vote;
    barrier.votes = 0;
  } else if (barrier.expected != expected || barrier.vote != vote) {
    fail(strand, CUDA_ERROR_LAUNCH_FAILED,
         cat("barrier ", id, " for ", expected, " threads, at which others wait for ", barrier.expected,
             " or for another vote"),
         site);
  }
  barrier.votes += value != 0 ? 1 : 0;
  if (barrier.waiting.size() + 1 < barrier.expected) {
    barrier.waiting.push_back(&strand);
    wait(strand, "a barrier", site);
    return barrier.result;
  }
  barrier.result = outcome(barrier);
  ++strand.block->step;
  release(barrier.waiting);
  return barrier.result;
}

void Gang::cluster_barrier(Strand& strand, twin::Site site) {
  const unsigned cluster = strand.block->cluster;
  Barrier& barrier = cluster_barriers_[cluster];
  const unsigned expected = total_ / static_cast<unsigned>(cluster_barriers_.size());
  if (barrier.waiting.size() + 1 < expected) {
    barrier.waiting.push_back(&strand);
    wait(strand, "a barrier of the cluster", site);
    return;
  }
  ++cluster_steps_[cluster];
  for (unsigned i = 0; i < block_count_; ++i) blocks_[i].step += blocks_[i].cluster == cluster ? 1 : 0;
  release(barrier.waiting);
}

void* Gang::cluster_map(Strand& strand, const void* address, unsigned rank, twin::Site site) {
  const twin::Dim3& extent = run_.grid.cluster;
  const unsigned blocks = extent.x * extent.y * extent.z;
  const auto offset = static_cast<const unsigned char*>(address) - strand.block->shared;
  if (rank >= blocks) fail(strand, CUDA_ERROR_LAUNCH_FAILED, cat("block ", rank, " of a cluster of ", blocks), site);
  if (offset < 0 || offset >= shared_bytes_)
    fail(strand, CUDA_ERROR_ILLEGAL_ADDRESS, "an address that is not in the block's shared memory is mapped", site);
  return blocks_[strand.block->cluster * blocks + rank].shared + offset;
}

// The lanes that the thread's warp has.
unsigned Gang::lanes_of(const Strand& strand) const {
  const unsigned first = strand.number % block_threads_ / 32 * 32;
  const unsigned count = block_threads_ - first;
  return count >= 32 ? ~0u : (1u << count) - 1;
}

std::uint64_t Gang::collective(Strand& strand, unsigned mask, Collective what, std::uint64_t value, unsigned operand,
                               twin::Site site) {
  const unsigned rank = strand.number % block_threads_, lane = rank % 32;
  if ((mask >> lane & 1) == 0)
    fail(strand, CUDA_ERROR_LAUNCH_FAILED, cat(name(what), " by a lane that its mask does not name"), site);
  if ((mask & ~lanes_of(strand)) != 0)
    fail(strand, CUDA_ERROR_LAUNCH_FAILED,
         cat(name(what), " whose mask names lane ", std::countr_zero(mask & ~lanes_of(strand)),
             ", which the last warp of a block of ", block_threads_, " threads lacks"),
         site);
  Warp& warp = strand.block->warps[rank / 32];
  Meeting* meeting = nullptr;
  for (Meeting& m : warp.meetings) {
    if (m.mask == mask && m.what == what && (m.arrived >> lane & 1) == 0) meeting = &m;
  }
  for (Meeting& m : warp.meetings) {
    if (meeting == nullptr && m.mask == 0) meeting = &m;
  }
  if (meeting == nullptr) meeting = &warp.meetings.emplace_back();
  if (meeting->mask == 0) meeting->mask = mask, meeting->what = what, meeting->arrived = 0;
  meeting->arrived |= 1u << lane;
  meeting->values[lane] = value;
  meeting->operands[lane] = operand;
  meeting->lanes[lane] = &strand;
  strand.site = site;
  if (meeting->arrived == mask) {
    if (what == Collective::sync) ++warp.step;
    finish(*meeting, strand);
  } else {
    wait(strand, name(what), site);
  }
  return strand.result;
}

void Gang::finish(Meeting& meeting, Strand& last) {
  idle_yields_ = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((meeting.mask >> lane & 1) == 0) continue;
    Strand& strand = *meeting.lanes[lane];
    strand.result = result_for(meeting, lane, last);
    if (&strand != &last) make_ready(strand);
  }
  meeting.mask = 0;
}

std::uint64_t Gang::result_for(const Meeting& meeting, unsigned lane, Strand& last) {
  switch (meeting.what) {
    case Collective::sync:
      return 0;
    case Collective::shuffle: {
      const unsigned from = meeting.operands[lane];
      if (from >= 32 || (meeting.mask >> from & 1) == 0)
        fail(last, CUDA_ERROR_LAUNCH_FAILED,
             cat("a shuffle in which lane ", lane, " reads lane ", from, ", which the mask does not name"), last.site);
      return meeting.values[from];
    }
    case Collective::ballot:
      return lanes_with(meeting, [](std::uint64_t v) { return v != 0; });
    case Collective::match_any:
      return lanes_with(meeting, [&](std::uint64_t v) { return v == meeting.values[lane]; });
    case Collective::reduce_add:
      return fold(meeting, [](U a, U b) { return a + b; });
    case Collective::reduce_min:
      return fold(meeting, [](U a, U b) { return a < b ? a : b; });
    case Collective::reduce_max:
      return fold(meeting, [](U a, U b) { return a > b ? a : b; });
    case Collective::reduce_min_signed:
      return fold(meeting, [](U a, U b) { return static_cast<I>(a) < static_cast<I>(b) ? a : b; });
    case Collective::reduce_max_signed:
      return fold(meeting, [](U a, U b) { return static_cast<I>(a) > static_cast<I>(b) ? a : b; });
    case Collective::reduce_and:
      return fold(meeting, [](U a, U b) { return a & b; });
    case Collective::reduce_or:
      return fold(meeting, [](U a, U b) { return a | b; });
    case Collective::reduce_xor:
      return fold(meeting, [](U a, U b) { return a ^ b; });
  }
  return 0;
}

}  // namespace quern::host
