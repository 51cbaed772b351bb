// A thread with a small stack, as in fiber runtimes.
#ifndef QUERN_TESTS_SUPPORT_SMALL_STACK_H_
#define QUERN_TESTS_SUPPORT_SMALL_STACK_H_

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

#include "base/sanitizers.h"

namespace quern::test {

// Runs `f` in a thread of 64 KiB, with more where AddressSanitizer makes frames larger.
template <class F>
void run_on_small_stack(F f) {
  constexpr std::size_t kBytes = (QUERN_ADDRESS_SANITIZER ? 512 : 64) << 10;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kBytes), 0);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    (*static_cast<F*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_SMALL_STACK_H_
