// The tests that run kernels, and the workers of those that tune: one program.
#include <gtest/gtest.h>

#include <string_view>

#include "api/runtime_state.h"
#include "quern/runtime.h"
#include "skeleton/skeleton.h"
#include "support/flawed/flawed.h"
#include "tuner/worker.h"

namespace {

// "worker DIR": with the families of the tests, and images in DIR.
void serve(const char* cache_dir) {
  quern::Options options;
  options.cache_dir = cache_dir;
  quern::Runtime runtime(options);
  runtime.add(quern::Skeleton::family());
  runtime.add(quern::test::Flawed::family());
  quern::serve_worker(runtime);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "worker") serve(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
