// moe_map beyond single launches: in a graph, with other routings and with the workspace of the launch before.
#include <gtest/gtest.h>

#include <algorithm>

#include "driver/stream.h"
#include "quern/moe_map.h"
#include "support/device.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

class MoeMapOnDevice : public DeviceTest {};

// The seeds give uniform and skewed routings, tokens with fewer routes, and masks with one route too many.
TEST_F(MoeMapOnDevice, AReplayReadsTheNewRoutingInAUsedWorkspace) {
  for (const MoeMapKind kind : {MoeMapKind::ids, MoeMapKind::mask}) {
    MoeMap problem;
    problem.tokens = 1500;
    problem.experts = 40;
    problem.topk = 4;
    problem.map = kind;
    problem.align = 16;
    HostOperands host(MoeMap::family(), &problem);
    const AnyArgs scalars(MoeMap::family());
    host.generate(1, false);
    DeviceOperands device(driver(), host);
    const AnyArgs args = device.args(scalars);
    const auto plan = runtime().prepare(problem);
    const Graph graph(driver(), [&](CUstream capturing) { plan.AnyPlan::launch(capturing, args.data()); });
    const StreamOwner stream(driver());
    HostOperands before = host;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
      host.generate(seed, false);
      device.upload(host);
      graph.launch(stream.get());
      graph.launch(stream.get());
      stream.synchronize();
      HostOperands got = host;
      device.download(got);
      EXPECT_EQ(compare(got, host.reference(scalars)).difference, "") << seed;
      EXPECT_FALSE(seed > 1 && std::equal(got.data(4), got.data(4) + got.bytes(4), before.data(4))) << seed;
      before = got;
    }
  }
}

}  // namespace
}  // namespace quern::test
