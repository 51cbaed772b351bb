// Fibers leave no poisoned stack memory to AddressSanitizer; other builds check nothing.
#include "hostdriver/exec/fiber.h"

#include "base/sanitizers.h"

#if QUERN_ADDRESS_SANITIZER

#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

#include <memory>

namespace quern::host {
namespace {

struct Visit {
  Continuation back;
  Fiber* fiber = nullptr;
  volatile char* seen = nullptr;
};

// Leaves a local on the stack, with AddressSanitizer's redzones around it.
void leave_in_the_middle(void* argument) {
  auto& visit = *static_cast<Visit*>(argument);
  volatile char local[40] = {};
  visit.seen = local;
  for (;;) visit.fiber->switch_to(visit.back);
}

// Loading an image at the address of such a stack was reported at its first byte.
TEST(HostDriverFiber, AnAbandonedStackLeavesNothingPoisoned) {
  Visit visit;
  auto fiber = std::make_unique<Fiber>();
  visit.fiber = fiber.get();
  fiber->start(leave_in_the_middle, &visit);
  visit.back.switch_to(*fiber);
  char* const begin = const_cast<char*>(visit.seen) - 256;
  if (__asan_region_is_poisoned(begin, 512) == nullptr) GTEST_SKIP() << "this build keeps locals elsewhere";
  fiber.reset();
  EXPECT_EQ(__asan_region_is_poisoned(begin, 512), nullptr);
}

}  // namespace
}  // namespace quern::host

#endif
