// Shared between a test and the library from fake_nvrtc_library.cc: settings and counters.
#ifndef QUERN_TESTS_UNIT_API_FAKE_CONTROL_H_
#define QUERN_TESTS_UNIT_API_FAKE_CONTROL_H_

#include <atomic>

namespace quern::test {

struct FakeControl {
  std::atomic<int> version;        // 13000
  std::atomic<int> compiles;       // finished or not
  std::atomic<int> refuse;         // 1: compiles fail with a log
  std::atomic<int> out_of_memory;  // 1 to 4: compiles fail as NVRTC does, each in another way
  std::atomic<int> delay_ms;       // each compile takes this long
  std::atomic<int> exit_ms;        // a thread that called NVRTC takes this long to exit
  std::atomic<int> hold;           // while 1, compiles whose sources hold `held_text` wait
  std::atomic<int> held;           // how many wait
  std::atomic<int> architecture_count;
  std::atomic<int> architectures[16];
  char held_text[64];
  char last_options[1024];  // of the last compile, a line each
  char last_program[256];
};

}  // namespace quern::test

#endif  // QUERN_TESTS_UNIT_API_FAKE_CONTROL_H_
