#include "hostdriver/exec/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#include "base/sanitizers.h"

#if QUERN_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif QUERN_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace quern::host {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// Passed to the target of a switch.
struct Passage {
  Continuation* from;
  Continuation* to;
};

void leave([[maybe_unused]] Continuation& from, [[maybe_unused]] const Continuation& to) {
#if QUERN_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
#elif QUERN_THREAD_SANITIZER
  from.thread_of_tsan = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.thread_of_tsan, 0);
#endif
}

// Runs on the stack of passage.to: saves the other side's continuation and stack.
void arrive(transfer_t transfer) {
  const Passage passage = *static_cast<const Passage*>(transfer.data);
  passage.from->context = transfer.fctx;
#if QUERN_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(passage.to->fake_stack, &passage.from->bottom, &passage.from->bytes);
#endif
}

// Frames abandoned on a stack left their locals poisoned.
void forget_locals([[maybe_unused]] unsigned char* bottom) {
#if QUERN_ADDRESS_SANITIZER
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  __asan_unpoison_memory_region(bottom + page, twin::kStackBytes - page);
#endif
}

}  // namespace

Stack::Stack() {
  // Maps twice the size, which contains one aligned stack, and unmaps the rest.
  constexpr std::size_t kBytes = twin::kStackBytes;
  void* const all =
      mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<unsigned char*>(all);
  const std::size_t lead = (kBytes - reinterpret_cast<std::uintptr_t>(begin) % kBytes) % kBytes;
  bottom_ = begin + lead;
  if (lead != 0) munmap(begin, lead);
  if (lead != kBytes) munmap(bottom_ + kBytes, kBytes - lead);
  if (mprotect(bottom_, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE) == 0) return;
  munmap(bottom_, kBytes);  // the system also limits the number of mappings
  throw std::bad_alloc();
}

Stack::~Stack() {
  forget_locals(bottom_);  // the next mapping at this address belongs to someone else
  munmap(bottom_, twin::kStackBytes);
}

void Continuation::switch_to(Continuation& to) {
  Passage passage{this, &to};
  leave(*this, to);
  arrive(jump_fcontext(to.context, &passage));
}

Fiber::~Fiber() {  // NOLINT(modernize-use-equals-default): not in every build
#if QUERN_THREAD_SANITIZER
  if (thread_of_tsan != nullptr) __tsan_destroy_fiber(thread_of_tsan);
#endif
}

void Fiber::start(Body body, void* argument) {
  forget_locals(stack_.bottom());
#if QUERN_THREAD_SANITIZER
  if (thread_of_tsan == nullptr) thread_of_tsan = __tsan_create_fiber(0);
#endif
  body_ = body;
  argument_ = argument;
  bottom = stack_.bottom();
  bytes = twin::kStackBytes;
  fake_stack = nullptr;
  context = make_fcontext(stack_.top(), static_cast<std::size_t>(stack_.top() - stack_.bottom()), &Fiber::enter);
}

void Fiber::enter(transfer_t from) {
  auto& self = static_cast<Fiber&>(*static_cast<const Passage*>(from.data)->to);
  arrive(from);
  self.body_(self.argument_);
}

}  // namespace quern::host
