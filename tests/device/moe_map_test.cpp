// moe_map beyond single launches: in a graph, with other routings and with the workspace of the launch before.
#include <gtest/gtest.h>

#include <cstring>

#include "base/text.h"
#include "quern/quern.h"
#include "support/replay.h"

namespace quern::test {
namespace {

class MoeMapOnDevice : public ReplayTest {};

// The seeds give uniform and skewed routings, tokens with fewer routes, and masks with one route too many.
TEST_F(MoeMapOnDevice, AReplayReadsTheNewRoutingInAUsedWorkspace) {
  for (const char* map : {"ids", "mask", "bits", "mask row_id_map=write", "bits row_id_map=write", "ids global=160"})
    expect_replays(cat("moe_map tokens=1500 experts=40 topk=4 align=16 map=", map));
  // Among the seeds: fewer tokens than there are, more, and negative counts.
  expect_replays("moe_map tokens=1500 experts=40 ranks=5 topk=1 align=16 empty=fill map=counts");
}

// Each routing drops other routes, and leaves nothing of the one before.
TEST_F(MoeMapOnDevice, AReplayDropsTheRoutesOfTheNewRouting) {
  for (const char* map : {"ids", "mask", "bits", "mask row_id_map=write", "bits row_id_map=write", "ids global=160"})
    expect_replays(cat("moe_map tokens=1500 experts=40 topk=4 align=16 tail=list capacity=2000 map=", map));
  expect_replays("moe_map tokens=1500 experts=40 ranks=5 topk=1 align=16 capacity=700 map=counts");
}

// Of 512 experts one has all routes: its counts are larger than any that random routings have.
TEST_F(MoeMapOnDevice, AllTokensGoToOneExpertOfMany) {
  constexpr int kExpert = 300;
  for (const char* form : {"map=ids topk=3", "map=ids topk=1 index=i64", "map=mask topk=1",
                           "map=bits topk=2 capacity=1000", "map=counts topk=1 ranks=2"}) {
    const AnyProblem problem = runtime().parse(cat("moe_map tokens=3000 experts=512 align=16 ", form));
    HostOperands host(problem.family(), problem.data());
    host.generate(1, false);
    const MoeMap& p = *static_cast<const MoeMap*>(problem.data());
    const std::int64_t width = host.layout(0).extents[1], size = bytes(host.layout(0).dtype);
    std::fill_n(host.data(0), host.bytes(0), std::byte{0});
    for (std::int64_t i = 0; i < host.layout(0).elements(); ++i) {
      const std::int64_t column = i % width;
      const bool here = p.map == MoeMapKind::ids || column == (p.map == MoeMapKind::bits ? kExpert / 8 : kExpert);
      const int number = p.map == MoeMapKind::bits ? 1 << kExpert % 8 : p.map == MoeMapKind::counts ? 1500 : kExpert;
      if (here)
        std::memcpy(host.data(0) + i * size, &number, static_cast<std::size_t>(std::min<std::int64_t>(size, 4)));
    }
    const HostOperands before = host;
    run(problem, host);
    EXPECT_EQ(compare(host, before.reference(AnyArgs(problem.family()))).difference, "") << form;
    std::int32_t count = 0;
    std::memcpy(&count, host.data(2) + kExpert * 4, sizeof(count));
    EXPECT_EQ(count, p.map == MoeMapKind::ids ? 3000 * p.topk : 3000) << form;
  }
}

}  // namespace
}  // namespace quern::test
