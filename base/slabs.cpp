#include "base/slabs.h"

#include <sys/mman.h>

#include <mutex>
#include <new>
#include <utility>

#include "base/striped.h"

namespace quern {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

// Of a chunk of `bytes` bytes.
std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{bytes < kHugePage ? kCacheLine : kHugePage};
}

}  // namespace

Slabs::~Slabs() {
  for (int chunk = 0; chunk < chunk_count_; ++chunk)
    ::operator delete(chunks_[static_cast<std::size_t>(chunk)].load(), alignment_of(count_of(chunk) * step_));
}

void* Slabs::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (free_ != nullptr) return std::exchange(free_, free_->next);
  if (chunk_count_ == 0) step_ = (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  if (chunk_count_ == 0 || used_ == count_of(chunk_count_ - 1)) add_chunk();
  return chunks_[static_cast<std::size_t>(chunk_count_ - 1)].load() + step_ * used_++;
}

void Slabs::give(void* object) {
  if (forked_in_the_middle()) return;  // leaked; the process frees it
  const std::lock_guard lock(mutex_);
  free_ = new (object) Free{free_};
}

void Slabs::add_chunk() {
  if (chunk_count_ == kChunks) throw std::bad_alloc();
  const std::size_t bytes = count_of(chunk_count_) * step_;
  void* const chunk = ::operator new(bytes, alignment_of(bytes));
  if (bytes >= kHugePage) madvise(chunk, bytes, MADV_HUGEPAGE);  // if huge pages are available
  chunks_[static_cast<std::size_t>(chunk_count_++)] = static_cast<unsigned char*>(chunk);
  used_ = 0;
}

std::uint32_t Slabs::number_of(const void* object) const {
  const std::lock_guard lock(mutex_);
  const auto* const address = static_cast<const unsigned char*>(object);
  for (int chunk = 0;; ++chunk) {
    const unsigned char* const begin = chunks_[static_cast<std::size_t>(chunk)].load();
    if (address >= begin && address < begin + count_of(chunk) * step_)
      return first_of(chunk) + static_cast<std::uint32_t>(static_cast<std::size_t>(address - begin) / step_);
  }
}

}  // namespace quern
