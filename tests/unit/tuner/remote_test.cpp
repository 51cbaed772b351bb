#include "tuner/worker/remote.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

using namespace std::chrono_literals;

// Counted in polls of at least 20 ms, so that the load of the machine does not matter.
TEST(RemoteWorker, IsWaitedForAsLongAsItsLimitSaysAndNoLonger) {
  WorkerSettings settings;
  settings.program = "/bin/sleep";
  settings.arguments = {"1000"};
  settings.open_limit = 100ms;
  int looks = 0;
  settings.stop = [&] { return ++looks > 100; };
  OpenMessage open;
  open.device = "host";
  try {
    RemoteEvaluator(settings, open).facts();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.sentence.find("did not answer within"), std::string::npos) << error.sentence;
  }
  EXPECT_GE(looks, 1);
  EXPECT_LE(looks, 6);
}

}  // namespace
}  // namespace quern
