// What every access of a thread is held against.
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "hostdriver/gang.h"

namespace quern::host {
namespace {

using twin::Access;

// So many accesses of one address at one place are a wait.
constexpr unsigned kSpins = 64;

bool is_load(Access access) { return access == Access::global_load || access == Access::shared_load; }
bool is_store(Access access) { return access == Access::global_store || access == Access::shared_store; }

std::string words_of(Access access, unsigned bytes) {
  return cat(is_load(access)    ? "a load"
             : is_store(access) ? "a store"
                                : "an atomic",
             " of ", bytes, bytes == 1 ? " byte" : " bytes");
}

}  // namespace

void Gang::access(Strand& strand, Access access, const void* pointer, unsigned bytes, twin::Site site) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (run_.settings.check_bounds && address % bytes != 0)
    fail(strand, CUDA_ERROR_MISALIGNED_ADDRESS,
         cat(words_of(access, bytes), " at an address that is ", address % bytes, " past a multiple of ", bytes), site);
  if (is_any_shared(address)) {
    shared_access(strand, *strand.block, access, address, bytes, site);
  } else if (access >= Access::shared_load && run_.settings.check_bounds) {
    fail(strand, CUDA_ERROR_ILLEGAL_ADDRESS,
         cat(words_of(access, bytes), " outside of the block's ", shared_bytes_, " bytes of shared memory"), site);
  } else {
    global_access(strand, access, address, bytes, site);
  }
  if (spins(strand, pointer, bytes, site.line)) {
    yield(strand, site);
  } else if (!is_load(access)) {
    idle_yields_ = 0;
  }
}

// Whether the thread does nothing but look at an address whose value stays the same.
bool Gang::spins(Strand& strand, const void* address, unsigned bytes, int line) {
  const bool again = strand.last_address == address && strand.last_line == line;
  if (!again) {
    strand.repeats = 0;
    strand.last_address = address;
    strand.last_line = line;
    return false;
  }
  std::uint64_t value = 0;
  std::memcpy(&value, address, std::min<std::size_t>(bytes, sizeof(value)));
  strand.repeats = value == strand.last_value ? strand.repeats + 1 : 0;
  strand.last_value = value;
  return strand.repeats >= kSpins;
}

Visit Gang::visit_of(const Strand& strand, const Block& order, twin::Site site) const {
  const Block& block = *strand.block;
  const unsigned warp = strand.number % block_threads_ / 32;
  return {strand.number + 1,      order.number, block.number * 32 + warp, cluster_steps_[block.cluster], order.step,
          block.warps[warp].step, site};
}

// Memory that a bulk copy writes is nobody's before somebody has waited for it; what it reads stays as it is.
void Gang::refuse_under_way(Strand& strand, const Block& there, Access access, std::uintptr_t address, unsigned bytes,
                            twin::Site site) {
  for (const BulkCopy& copy : there.bulk.copies) {
    if (!copy.overlaps(address, bytes) || (is_load(access) && !copy.is_load())) continue;
    fail(strand, CUDA_ERROR_LAUNCH_FAILED,
         cat(words_of(access, bytes), " of shared memory that the ", copy.name(), " at ", copy.site.file, ":",
             copy.site.line, copy.is_load() ? " has yet to write" : " has yet to read", ": nobody has waited for it"),
         site);
  }
}

void Gang::shared_access(Strand& strand, const Block& order, Access access, std::uintptr_t address, unsigned bytes,
                         twin::Site site) {
  const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(arena_begin_);
  const Block& there = block_of(address);
  if (run_.settings.check_bounds && offset % shared_stride_ + bytes > shared_bytes_)
    fail(strand, CUDA_ERROR_ILLEGAL_ADDRESS,
         cat(words_of(access, bytes), " at byte ", offset % shared_stride_, " of ", shared_bytes_, " of shared memory"),
         site);
  if (there.cluster != strand.block->cluster)
    fail(strand, CUDA_ERROR_ILLEGAL_ADDRESS, cat(words_of(access, bytes), " in the shared memory of another cluster"),
         site);
  if (!run_.settings.check_races) return;
  refuse_under_way(strand, there, access, address, bytes, site);
  const auto race = races_.visit(offset, bytes, access, visit_of(strand, order, site));
  if (!race) return;
  fail(
      strand, CUDA_ERROR_LAUNCH_FAILED,
      cat(words_of(access, bytes), " of shared memory at byte ", offset % shared_stride_, " races with ",
          whereabouts(race->thread - 1), " at ", race->site.file, ":", race->site.line, ": no barrier is between them"),
      site);
}

Allocation* Gang::allocation_of(Strand& strand, std::uintptr_t address, unsigned bytes, const char* what,
                                twin::Site site) {
  Allocation* const found = run_.memory.find(address);
  if (found != nullptr && found->contains(address, bytes)) return found;
  if (!run_.settings.check_bounds) return nullptr;
  fail(strand, CUDA_ERROR_ILLEGAL_ADDRESS, cat(what, ", ", place_of(address, bytes, run_.memory.nearest(address))),
       site);
}

void Gang::global_access(Strand& strand, Access access, std::uintptr_t address, unsigned bytes, twin::Site site) {
  if (recent_ == nullptr || !recent_->contains(address, bytes))
    recent_ = allocation_of(strand, address, bytes, words_of(access, bytes).c_str(), site);
  if (recent_ == nullptr) return;  // not checked
  Allocation& allocation = *recent_;
  unsigned char* const written = allocation.written.get() + (address - allocation.begin);
  if (!is_store(access) && run_.settings.check_initialized && std::memchr(written, 0, bytes) != nullptr)
    fail(strand, CUDA_ERROR_LAUNCH_FAILED,
         cat(words_of(access, bytes), " that were never written, at byte ", address - allocation.begin, " of ",
             name_of(allocation)),
         site);
  if (!is_load(access)) std::memset(written, 1, bytes);
  if (run_.listeners.any()) log(strand, access, address, bytes, allocation, site);
}

void Gang::log(Strand& strand, Access access, std::uintptr_t address, unsigned bytes, const Allocation& memory,
               twin::Site site) const {
  const auto same = [&](const Strand::Turns& t) {
    return t.file == site.file && t.line == site.line && t.bytes == bytes;
  };
  auto turns = std::find_if(strand.turns.begin(), strand.turns.end(), same);
  if (turns == strand.turns.end()) turns = strand.turns.insert(turns, {site.file, site.line, bytes, 0});
  const unsigned warp = strand.number % block_threads_ / 32;
  strand.block->touches.push_back({site.file, site.line, access, bytes, address, &memory, warp, turns->count++});
}

}  // namespace quern::host
