#include "hostdriver/exec/asan.h"

#if QUERN_ADDRESS_SANITIZER

#include <sanitizer/asan_interface.h>

#include <cstdio>
#include <map>
#include <mutex>

namespace quern::host {
namespace {

// Never destroyed, because reports may come until the process ends.
struct Known {
  std::mutex mutex;
  std::map<std::uintptr_t, const Allocation*> allocations;  // by start address
};
Known& known() {
  static Known& all = *new Known();
  return all;
}

const Allocation* nearest(std::uintptr_t address) {
  const std::lock_guard lock(known().mutex);
  const Allocation* best = nullptr;
  for (const auto& [begin, allocation] : known().allocations) {
    if (address + Memory::kGuardBytes >= begin && address < begin + allocation->bytes + Memory::kGuardBytes)
      best = allocation;
  }
  return best;
}

void name_the_memory(const char*) {
  const auto address = reinterpret_cast<std::uintptr_t>(__asan_get_report_address());
  const auto bytes = static_cast<unsigned>(__asan_get_report_access_size());
  const Allocation* const near = nearest(address);
  if (near != nullptr) std::fprintf(stderr, "quern: the access is %s\n", place_of(address, bytes, near).c_str());
}

void* guard(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): device memory is host memory
}

}  // namespace

void hide_guards(const Allocation& allocation) {
  __asan_set_error_report_callback(name_the_memory);
  __asan_poison_memory_region(guard(allocation.begin - Memory::kGuardBytes), Memory::kGuardBytes);
  __asan_poison_memory_region(guard(allocation.begin + allocation.bytes), Memory::kGuardBytes);
  const std::lock_guard lock(known().mutex);
  known().allocations[allocation.begin] = &allocation;
}

void show_guards(const Allocation& allocation) {
  __asan_unpoison_memory_region(guard(allocation.begin - Memory::kGuardBytes),
                                allocation.bytes + 2 * Memory::kGuardBytes);
  const std::lock_guard lock(known().mutex);
  known().allocations.erase(allocation.begin);
}

}  // namespace quern::host

#endif
