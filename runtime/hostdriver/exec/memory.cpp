#include "hostdriver/exec/memory.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "base/text.h"
#include "hostdriver/exec/asan.h"

namespace quern::host {
namespace {

constexpr unsigned char kPoison = 0xCD;
constexpr unsigned char kGuard = 0xFB;
constexpr std::size_t kAlignment = 256;

unsigned char* pointer(std::uintptr_t address) {
  return reinterpret_cast<unsigned char*>(address);  // NOLINT(performance-no-int-to-ptr): device memory is host memory
}

void release(const Allocation& allocation) {
  show_guards(allocation);
  std::free(pointer(allocation.begin - Memory::kGuardBytes));
}

// The offset of the first overwritten byte in the guard zone at `guard`, or `bytes`. Only this function reads guard
// zones.
[[gnu::no_sanitize_address]] std::size_t first_change(std::uintptr_t guard, std::size_t bytes) {
  const unsigned char* const begin = pointer(guard);
  std::size_t i = 0;
  while (i < bytes && begin[i] == kGuard) ++i;
  return i;
}

std::string damage_of(const Allocation& allocation) {
  const std::size_t below = first_change(allocation.begin - Memory::kGuardBytes, Memory::kGuardBytes);
  if (below < Memory::kGuardBytes)
    return cat("memory was written ", Memory::kGuardBytes - below, " bytes before the start of ", name_of(allocation));
  const std::size_t above = first_change(allocation.begin + allocation.bytes, Memory::kGuardBytes);
  if (above < Memory::kGuardBytes)
    return cat("memory was written ", above, " bytes past the end of ", name_of(allocation));
  return "";
}

}  // namespace

std::string name_of(const Allocation& allocation) {
  return cat(allocation.name.empty() ? "an allocation" : cat("\"", allocation.name, "\""), " (", allocation.bytes,
             " bytes)");
}

// Describes an address outside of every allocation.
std::string place_of(std::uintptr_t address, unsigned bytes, const Allocation* near) {
  if (near == nullptr) return "in no device memory";
  if (address < near->begin) return cat(near->begin - address, " bytes before ", name_of(*near));
  const std::uintptr_t end = near->begin + near->bytes;
  if (address >= end) return cat(address - end, " bytes past the end of ", name_of(*near));
  return cat("of which the last ", address + bytes - end, " are past the end of ", name_of(*near));
}

Memory::~Memory() {
  for (const auto& [begin, allocation] : allocations_) release(*allocation);
}

std::uintptr_t Memory::allocate(std::size_t bytes, std::uint64_t owner) {
  const std::unique_lock lock(mutex_);
  if (bytes > static_cast<std::size_t>(limit_) - used_) return 0;
  auto allocation = std::make_unique<Allocation>();
  allocation->written.reset(new (std::nothrow) unsigned char[bytes]());
  if (allocation->written == nullptr) return 0;
  const std::size_t whole = (bytes + 2 * kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
  auto* const block = static_cast<unsigned char*>(std::aligned_alloc(kAlignment, whole));
  if (block == nullptr) return 0;
  std::memset(block, kGuard, whole);
  std::memset(block + kGuardBytes, kPoison, bytes);
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(block) + kGuardBytes;
  allocation->begin = begin;
  allocation->bytes = bytes;
  allocation->owner = owner;
  hide_guards(*allocation);
  allocations_[begin] = std::move(allocation);
  used_ += bytes;
  return begin;
}

bool Memory::free(std::uintptr_t address, std::string* damage) {
  const std::unique_lock lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  if (damage != nullptr) *damage = damage_of(*found->second);
  release(*found->second);
  used_ -= found->second->bytes;
  allocations_.erase(found);
  return true;
}

void Memory::free_all(std::uint64_t owner) {
  const std::unique_lock lock(mutex_);
  std::erase_if(allocations_, [&](const auto& entry) {
    const Allocation& allocation = *entry.second;
    if (allocation.owner != owner) return false;
    release(allocation);
    used_ -= allocation.bytes;
    return true;
  });
}

Allocation* Memory::find(std::uintptr_t address) {
  const std::shared_lock lock(mutex_);
  const auto next = allocations_.upper_bound(address);
  if (next != allocations_.begin()) {
    Allocation& below = *std::prev(next)->second;
    if (address - below.begin < below.bytes + kGuardBytes) return &below;
  }
  if (next != allocations_.end() && next->first - address <= kGuardBytes) return next->second.get();
  return nullptr;
}

const Allocation* Memory::nearest(std::uintptr_t address) {
  const std::shared_lock lock(mutex_);
  const auto next = allocations_.upper_bound(address);
  const Allocation* const above = next == allocations_.end() ? nullptr : next->second.get();
  const Allocation* const below = next == allocations_.begin() ? nullptr : std::prev(next)->second.get();
  if (above == nullptr || below == nullptr) return above == nullptr ? below : above;
  return address - below->begin - below->bytes <= above->begin - address ? below : above;
}

std::string Memory::damage() {
  const std::shared_lock lock(mutex_);
  for (const auto& [begin, allocation] : allocations_)
    if (std::string words = damage_of(*allocation); !words.empty()) return words;
  return "";
}

std::size_t Memory::used() const {
  const std::shared_lock lock(mutex_);
  return used_;
}

std::size_t Memory::count() const {
  const std::shared_lock lock(mutex_);
  return allocations_.size();
}

}  // namespace quern::host
