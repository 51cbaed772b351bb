// The checks of every memory access.
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "hostdriver/exec/co_resident_set.h"

namespace quern::host {
namespace {

using twin::Access;

constexpr twin::Site kRaw{"a raw pointer", 0};
constexpr const char* kNoOrder =
    ": blocks of a launch have no order; use atomics, or load_relaxed and store_relaxed of common/sync.cuh";

// This many accesses of one address at one place count as spinning.
constexpr unsigned kSpins = 64;

bool is_load(Access access) {
  return access == Access::global_load || access == Access::relaxed_load || access == Access::shared_load;
}
bool is_store(Access access) {
  return access == Access::global_store || access == Access::relaxed_store || access == Access::shared_store;
}
// An access that releases to other blocks and may acquire from them.
bool synchronizes(Access access) {
  return access == Access::global_atomic || access == Access::relaxed_load || access == Access::relaxed_store;
}

std::string words_of(Access access, unsigned bytes) {
  return cat(is_load(access)    ? "a load"
             : is_store(access) ? "a store"
                                : "an atomic",
             " of ", bytes, bytes == 1 ? " byte" : " bytes");
}

}  // namespace

void CoResidentSet::access(CudaThread& thread, Access access, const void* pointer, unsigned bytes, twin::Site site) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (run_.settings.check_bounds && address % bytes != 0 && site.line != 0)
    fail(thread, CUDA_ERROR_MISALIGNED_ADDRESS,
         cat(words_of(access, bytes), " at an address that is ", address % bytes, " past a multiple of ", bytes), site);
  if (is_any_shared(address)) {
    shared_access(thread, *thread.block, access, address, bytes, site);
  } else if (access >= Access::shared_load && run_.settings.check_bounds) {
    fail(thread, CUDA_ERROR_ILLEGAL_ADDRESS,
         cat(words_of(access, bytes), " outside of the block's ", shared_bytes_, " bytes of shared memory"), site);
  } else {
    global_access(thread, access, address, bytes, site);
  }
  if (spins(thread, pointer, bytes, site.line)) {
    yield(thread, site);
  } else if (!is_load(access)) {
    idle_yields_ = 0;
  }
}

// Checked like all other accesses. An address in neither device nor shared memory is the parameter, or the image's own
// data.
void CoResidentSet::raw_access(CudaThread& thread, bool store, const void* pointer, unsigned bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto parameter = reinterpret_cast<std::uintptr_t>(run_.grid.parameter.data());
  if (address - parameter < run_.grid.parameter.size() || address / 64 == foreign_ / 64) return;
  const bool shared = is_any_shared(address);
  const Allocation* memory = shared ? nullptr : recent(address, bytes);
  if (!shared && memory == nullptr) memory = run_.memory.find(address);
  if (!shared && memory == nullptr) {
    foreign_ = address;
    return;
  }
  if (!run_.reached_raw.load(std::memory_order_relaxed))
    run_.note_raw(cat(memory == nullptr ? "shared memory" : name_of(*memory), " by a raw pointer in ",
                      describe_thread(thread.number)));
  const Access loads[] = {Access::global_load, Access::shared_load};
  const Access stores[] = {Access::global_store, Access::shared_store};
  access(thread, (store ? stores : loads)[shared ? 1 : 0], pointer, bytes, kRaw);
}

// Whether the thread only polls an address with a constant value.
bool CoResidentSet::spins(CudaThread& thread, const void* address, unsigned bytes, int line) {
  const bool again = thread.last_address == address && thread.last_line == line;
  if (!again) {
    thread.repeats = 0;
    thread.last_address = address;
    thread.last_line = line;
    return false;
  }
  std::uint64_t value = 0;
  std::memcpy(&value, address, std::min<std::size_t>(bytes, sizeof(value)));
  thread.repeats = value == thread.last_value ? thread.repeats + 1 : 0;
  thread.last_value = value;
  return thread.repeats >= kSpins;
}

Visit CoResidentSet::visit_of(const CudaThread& thread, const Block& order, twin::Site site) const {
  const Block& block = *thread.block;
  const unsigned warp = thread.number % block_threads_ / 32;
  return {thread.number + 1,      order.number, block.number * 32 + warp, cluster_steps_[block.cluster], order.step,
          block.warps[warp].step, site};
}

// A thread must not touch the target of a bulk copy before it has waited for it, nor write its source.
void CoResidentSet::refuse_under_way(CudaThread& thread, const Block& there, Access access, std::uintptr_t address,
                                     unsigned bytes, twin::Site site) {
  for (const BulkCopy& copy : there.bulk.copies) {
    if (!copy.overlaps(address, bytes) || (is_load(access) && !copy.is_load())) continue;
    fail(thread, CUDA_ERROR_LAUNCH_FAILED,
         cat(words_of(access, bytes), " of shared memory that the ", copy.name(), " at ", place_of(copy.site),
             copy.is_load() ? " has yet to write" : " has yet to read", ": no thread has waited for it"),
         site);
  }
}

// Bytes that no thread of the block has written hold another kernel's data. The launch only fails when the block has
// ended: if a thread writes the bytes later without a barrier in between, the missing barrier is reported as the cause.
void CoResidentSet::check_shared_is_written(CudaThread& thread, Access access, std::uintptr_t address, unsigned bytes,
                                            twin::Site site) {
  unsigned char* const written = shared_written_.data() + (address - reinterpret_cast<std::uintptr_t>(arena_begin_));
  if (!is_store(access) && unwritten_.empty() && std::memchr(written, 0, bytes) != nullptr)
    unwritten_ = words_at(
        thread,
        cat(words_of(access, bytes), " of shared memory that were never written, at byte ",
            (address - reinterpret_cast<std::uintptr_t>(arena_begin_)) % shared_stride_, " of ", shared_bytes_),
        site);
  if (!is_load(access)) std::memset(written, 1, bytes);
}

void CoResidentSet::shared_access(CudaThread& thread, const Block& order, Access access, std::uintptr_t address,
                                  unsigned bytes, twin::Site site) {
  const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(arena_begin_);
  const Block& there = block_of(address);
  if (run_.settings.check_bounds && offset % shared_stride_ + bytes > shared_bytes_)
    fail(thread, CUDA_ERROR_ILLEGAL_ADDRESS,
         cat(words_of(access, bytes), " at byte ", offset % shared_stride_, " of ", shared_bytes_, " of shared memory"),
         site);
  if (there.cluster != thread.block->cluster)
    fail(thread, CUDA_ERROR_ILLEGAL_ADDRESS, cat(words_of(access, bytes), " in the shared memory of another cluster"),
         site);
  if (run_.settings.check_initialized) check_shared_is_written(thread, access, address, bytes, site);
  if (!run_.settings.check_races) return;
  refuse_under_way(thread, there, access, address, bytes, site);
  const auto race = races_.visit(offset, bytes, access, visit_of(thread, order, site));
  if (!race) return;
  unwritten_.clear();
  fail(thread, CUDA_ERROR_LAUNCH_FAILED,
       cat(words_of(access, bytes), " of shared memory at byte ", offset % shared_stride_, " races with ",
           describe_thread(race->thread - 1), " at ", place_of(race->site), ": no barrier is between them"),
       site);
}

// Whether an earlier access of device memory happens before the thread's current one in every order: a barrier is in
// between, or its warp or block released through an atomic afterwards and the current one acquired before now.
bool CoResidentSet::is_ordered(const Mark& before, const CudaThread& thread, const Visit& now) const {
  if (!unordered(before.visit, now)) return true;
  if (before.visit.block == now.block) {
    const Block& block = *thread.block;
    const std::uint32_t told = block.warps[before.visit.warp % 32].synchronized_at;
    return told > before.time && block.warps[now.warp % 32].synchronized_at > before.time;
  }
  const Segment& told = blocks_[before.visit.block].segments[before.segment];
  return told.released < thread.block->segments.back().acquired;
}

void CoResidentSet::refuse_race(CudaThread& thread, Access access, std::uintptr_t address, unsigned bytes,
                                const Allocation& allocation, twin::Site site) {
  Block& block = *thread.block;
  Segment& segment = block.segments.back();
  if (segment.acquired == 0 && block.segments.size() > 1) segment.acquired = run_.clock.fetch_add(1) + 1;
  const Visit now = visit_of(thread, block, site);
  const Mark mark{now,
                  run_.clock.load(std::memory_order_relaxed),
                  static_cast<std::uint32_t>(block.segments.size() - 1),
                  0,
                  !is_load(access),
                  synchronizes(access),
                  -1};
  const Mark* const race =
      global_races_.visit(address, bytes, mark, [&](const Mark& before) { return is_ordered(before, thread, now); });
  if (race != nullptr)
    fail(thread, CUDA_ERROR_LAUNCH_FAILED,
         cat(words_of(access, bytes), " at byte ", address - allocation.begin, " of ", name_of(allocation),
             " races with ", describe_thread(race->visit.thread - 1), " at ", place_of(race->visit.site),
             race->visit.block == now.block ? ": no barrier is between them" : kNoOrder),
         site);
  if (synchronizes(access)) synchronize(thread);
  if (global_races_.full()) hand_to_grid();
}

void CoResidentSet::synchronize(CudaThread& thread) {
  if (!run_.settings.check_races) return;
  Block& block = *thread.block;
  const std::uint32_t now = run_.clock.fetch_add(1) + 1;
  block.warps[thread.number % block_threads_ / 32].synchronized_at = now;
  block.segments.back().released = now;
  block.segments.emplace_back();
}

// The set's accesses.
std::vector<Run> CoResidentSet::runs() const {
  std::vector<Run> all;
  global_races_.visit_runs([&](std::uintptr_t begin, std::uintptr_t end, const Mark& mark) {
    const Block& block = blocks_[mark.visit.block];
    const std::uint32_t thread = (mark.visit.thread - 1) % block_threads_;
    const std::uint64_t segment = std::uint64_t{mark.visit.block} << 32 | mark.segment;
    add_run(all, {begin,
                  end,
                  {block.index, thread, block.segments[mark.segment], mark.visit.site, mark.write, mark.atomic},
                  segment << 2 | (mark.write ? 2u : 0u) | (mark.atomic ? 1u : 0u)});
  });
  join_runs(all);
  return all;
}

// Checks the set's accesses against those of the other sets, and clears them.
void CoResidentSet::hand_to_grid() {
  const auto race = run_.many_sets ? run_.races.add(runs()) : std::nullopt;
  global_races_.reset();
  if (!race) return;
  const Allocation* const memory = run_.memory.find(race->address);
  const auto words = [&](const Party& p) {
    return cat(p.atomic  ? "an atomic"
               : p.write ? "a store"
                         : "a load",
               " in block ", text_of(p.block), ", thread ", text_of(place_in_block(p.thread)));
  };
  run_.fail(
      CUDA_ERROR_LAUNCH_FAILED,
      cat(place_of(race->now.site), ": ", words(race->now), " of ",
          memory == nullptr ? "device memory" : cat("byte ", race->address - memory->begin, " of ", name_of(*memory)),
          " races with ", words(race->before), " at ", place_of(race->before.site), kNoOrder));
}

// Without the lock that all lookups share.
Allocation* CoResidentSet::recent(std::uintptr_t address, unsigned bytes) const {
  for (Allocation* const allocation : recent_) {
    if (allocation != nullptr && allocation->contains(address, bytes)) return allocation;
  }
  return nullptr;
}

Allocation* CoResidentSet::allocation_of(CudaThread& thread, Access access, std::uintptr_t address, unsigned bytes,
                                         twin::Site site) {
  Allocation* const found = run_.memory.find(address);
  if (found != nullptr && found->contains(address, bytes)) return recent_[replaced_++ % recent_.size()] = found;
  if (!run_.settings.check_bounds) return nullptr;
  fail(thread, CUDA_ERROR_ILLEGAL_ADDRESS,
       cat(words_of(access, bytes), ", ", place_of(address, bytes, run_.memory.nearest(address))), site);
}

void CoResidentSet::global_access(CudaThread& thread, Access access, std::uintptr_t address, unsigned bytes,
                                  twin::Site site) {
  Allocation* memory = recent(address, bytes);
  if (memory == nullptr) memory = allocation_of(thread, access, address, bytes, site);
  if (memory == nullptr) return;  // not checked
  Allocation& allocation = *memory;
  unsigned char* const written = allocation.written.get() + (address - allocation.begin);
  if (!is_store(access) && run_.settings.check_initialized && std::memchr(written, 0, bytes) != nullptr)
    fail(thread, CUDA_ERROR_LAUNCH_FAILED,
         cat(words_of(access, bytes), " that were never written, at byte ", address - allocation.begin, " of ",
             name_of(allocation)),
         site);
  if (!is_load(access)) std::memset(written, 1, bytes);
  if (run_.settings.check_races) refuse_race(thread, access, address, bytes, allocation, site);
  if (run_.listeners.any()) log(thread, access, address, bytes, allocation, site);
}

void CoResidentSet::log(CudaThread& thread, Access access, std::uintptr_t address, unsigned bytes,
                        const Allocation& memory, twin::Site site) const {
  const auto same = [&](const CudaThread::SchedulingOrder& t) {
    return t.file == site.file && t.line == site.line && t.bytes == bytes;
  };
  auto order = std::find_if(thread.order.begin(), thread.order.end(), same);
  if (order == thread.order.end()) order = thread.order.insert(order, {site.file, site.line, bytes, 0});
  const unsigned warp = thread.number % block_threads_ / 32;
  thread.block->touches.push_back({site.file, site.line, access, bytes, address, &memory, warp, order->count++});
}

}  // namespace quern::host
