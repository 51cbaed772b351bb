// The tests that run kernels, and the workers of those that tune: one program.
#include <gtest/gtest.h>

#include <string_view>

#include "api/runtime_state.h"
#include "quern/runtime.h"
#include "quern/worker.h"
#include "skeleton/skeleton.h"
#include "support/counter/counter.h"
#include "support/flawed/flawed.h"

namespace {

// With the families of the tests.
void serve() {
  quern::serve_worker({&quern::Skeleton::family(), &quern::test::Flawed::family(), &quern::test::Counter::family()});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "worker") serve();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
