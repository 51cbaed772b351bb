#include "hostdriver/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define QUERN_SWITCHES_ARE_TOLD 1
#else
#define QUERN_SWITCHES_ARE_TOLD 0
#endif

namespace quern::host {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// Before a switch to the stack [bottom, bottom + bytes), and after one.
void leave([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* bottom,
           [[maybe_unused]] unsigned long bytes) {
#if QUERN_SWITCHES_ARE_TOLD
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
#endif
}
void arrive([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** bottom_left,
            [[maybe_unused]] unsigned long* bytes_left) {
#if QUERN_SWITCHES_ARE_TOLD
  __sanitizer_finish_switch_fiber(fake_stack, bottom_left, bytes_left);
#endif
}

}  // namespace

Stack::Stack() {
  // Twice the size holds one stack at a multiple of its size; the rest goes back.
  constexpr std::size_t kBytes = twin::kStackBytes;
  void* const all =
      mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<unsigned char*>(all);
  const std::size_t lead = (kBytes - reinterpret_cast<std::uintptr_t>(begin) % kBytes) % kBytes;
  bottom_ = begin + lead;
  if (lead != 0) munmap(begin, lead);
  if (lead != kBytes) munmap(bottom_ + kBytes, kBytes - lead);
  mprotect(bottom_, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE);
}

Stack::~Stack() { munmap(bottom_, twin::kStackBytes); }

void Fiber::start(Body body, void* argument) {
#if QUERN_SWITCHES_ARE_TOLD
  // What was abandoned here left its locals poisoned.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  __asan_unpoison_memory_region(stack_.bottom() + page, twin::kStackBytes - page);
#endif
  body_ = body;
  argument_ = argument;
  own_fake_stack_ = nullptr;
  own_ = make_fcontext(stack_.top(), twin::kStackBytes - sizeof(twin::Thread), &Fiber::enter);
}

void Fiber::enter(transfer_t from) {
  auto& self = *static_cast<Fiber*>(from.data);
  arrive(nullptr, &self.caller_bottom_, &self.caller_bytes_);
  self.caller_ = from.fctx;
  self.body_(self.argument_, self);
}

void Fiber::resume() {
  leave(&caller_fake_stack_, stack_.bottom(), twin::kStackBytes);
  const transfer_t from = jump_fcontext(own_, this);
  arrive(caller_fake_stack_, nullptr, nullptr);
  own_ = from.fctx;
}

void Fiber::suspend() {
  leave(&own_fake_stack_, caller_bottom_, caller_bytes_);
  const transfer_t from = jump_fcontext(caller_, nullptr);
  arrive(own_fake_stack_, &caller_bottom_, &caller_bytes_);
  caller_ = from.fctx;
}

}  // namespace quern::host
