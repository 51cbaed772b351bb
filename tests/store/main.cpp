// The tests of the store with many processes, and those processes: one program.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/support.h"

namespace {

// In full on the disk that TMPDIR names. Otherwise, where nobody named one, in memory: tens of thousands of calls that
// wait for a disk which others use too are most of the time.
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
