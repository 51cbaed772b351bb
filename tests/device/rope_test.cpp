// rope beyond single cases: replays with other positions, and the offset of a launch.
#include "base/text.h"
#include "quern/quern.h"
#include "support/replay.h"

namespace quern::test {
namespace {

using RopeOnDevice = ReplayTest;

TEST_F(RopeOnDevice, ReplaysWithOtherPositions) {
  expect_replays("rope batch=3 seq=7 heads=4 kv_heads=2 head_dim=32 position=ids table_rows=50");
  expect_replays("rope batch=3 seq=7 heads=4 kv_heads=2 head_dim=32 position=starts table_rows=50 place=in_place");
}

// A launch that adds to the positions of all tokens gives what a longer sequence has there.
TEST_F(RopeOnDevice, AnOffsetMovesTheWholeSequence) {
  for (const char* fields : {"position=sequence", "position=starts beyond=identity", "position=ids beyond=report"}) {
    const AnyProblem problem = runtime().parse(cat("rope batch=2 seq=5 heads=3 head_dim=24 table_rows=30 ", fields));
    HostOperands host(problem.family(), problem.data());
    host.generate(7, false);
    AnyArgs none(problem.family());
    for (const std::int64_t offset : {0, 1, 25, -3, 30}) {
      if ((offset < 0 || offset == 30) && cat(fields) == "position=sequence") continue;  // not in the table
      AnyArgs scalars(problem.family());
      scalars.parse_scalar("offset", cat(offset));
      DeviceOperands device(driver(), host);
      const AnyArgs args = device.args(scalars);
      device.upload(host);
      runtime().prepare_any(problem.family(), problem.data(), {}).launch(nullptr, args.data());
      driver().check(driver()->CtxSynchronize(), Stage::launch, "cuCtxSynchronize");
      HostOperands got = host;
      device.download(got);
      EXPECT_EQ(compare(got, host.reference(scalars)).difference, "") << fields << " offset=" << offset;
      EXPECT_EQ(offset == 0, compare(got, host.reference(none)).difference.empty()) << fields << " offset=" << offset;
    }
  }
}

}  // namespace
}  // namespace quern::test
