// moe_map beyond single launches: in a graph, with other routings and with the workspace of the launch before.
#include <gtest/gtest.h>

#include "base/text.h"
#include "support/replay.h"

namespace quern::test {
namespace {

class MoeMapOnDevice : public ReplayTest {};

// The seeds give uniform and skewed routings, tokens with fewer routes, and masks with one route too many.
TEST_F(MoeMapOnDevice, AReplayReadsTheNewRoutingInAUsedWorkspace) {
  for (const char* map : {"ids", "mask"})
    expect_replays(cat("moe_map tokens=1500 experts=40 topk=4 align=16 map=", map));
  // Among the seeds: fewer tokens than there are, more, and negative counts.
  expect_replays("moe_map tokens=1500 experts=40 ranks=5 topk=1 align=16 empty=fill map=counts");
}

}  // namespace
}  // namespace quern::test
