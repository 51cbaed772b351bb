// The store's tests with several processes, and those processes: one program.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/support.h"

namespace {

// In full runs on the disk that TMPDIR names. Otherwise, without TMPDIR, in memory: most of the time would be spent
// waiting for a shared disk in tens of thousands of calls.
void choose_temporary_directory() {
  constexpr const char* kMemory = "/dev/shm";
  if (!quern::cache::in_full() && ::access(kMemory, W_OK | X_OK) == 0) ::setenv("TMPDIR", kMemory, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = quern::cache::run_worker(argc, argv)) return *status;
  choose_temporary_directory();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
