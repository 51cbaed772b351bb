// moe_map beyond single launches: in a graph, with other routings and with the workspace of the launch before.
#include <gtest/gtest.h>

#include "base/text.h"
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

}  // namespace
}  // namespace quern::test
