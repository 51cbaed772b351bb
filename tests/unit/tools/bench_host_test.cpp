#include "commands/bench.h"

#include <gtest/gtest.h>

#include "unit/api/support.h"
#include "unit/driver/support.h"

namespace quern::tool {
namespace {

int geometries = 0;

void counted(const void* problem, const void* args, const DeviceModel& model, const Config& config, Launch& launch) {
  ++geometries;
  Gather::family().steps[0].launch(problem, args, model, config, launch);
}

class BenchHost : public test::ApiTest {};

// Both launch as often; the bare one has its geometry, which is most of a plan's own cost, from before.
TEST_F(BenchHost, TheBareLaunchIsNotThePlans) {
  static Step step = Gather::family().steps[0];
  step.launch = counted;
  static Family family = Gather::family();
  family.steps.rows = &step;
  test::reset_null_driver();
  Options own = options();
  own.driver = std::make_shared<Driver>(null_driver_table());
  Runtime runtime(own);
  const OpenDevice device = open_device(runtime, {});
  std::vector<std::string> rows;
  bench_launches(runtime, device, family,
                 [&](std::string_view, const Row& row) { rows.push_back(text_of(row.fields.front().second)); });
  EXPECT_EQ(rows, (std::vector<std::string>{"bare launch", "plan launch", "plan less bare, with its 95 % interval"}));
  const int launches = null_driver().launches;
  EXPECT_GT(launches, 1000);
  EXPECT_EQ(geometries, launches / 2 + 1) << "the plan's launches, and the one that the bare launches copy";
}

// A launch refuses operands that overlap, and the host's cost is of launches with made-up addresses.
TEST_F(BenchHost, NoMadeUpAddressesOverlap) {
  test::reset_null_driver();
  Options own = options();
  own.driver = std::make_shared<Driver>(null_driver_table());
  Runtime runtime(own);
  const AnyProblem problem = runtime.parse(R"(pointwise rows=4096 scaling=row expr="z: row; y: e4m3; y = x + z")");
  const AnyArgs args = null_args(problem);
  runtime.prepare_any(problem.family(), problem.data()).launch(nullptr, args.data());
  EXPECT_EQ(null_driver().launches, 1);
}

}  // namespace
}  // namespace quern::tool
