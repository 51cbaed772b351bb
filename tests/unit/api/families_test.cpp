// Families that an application brings.
#include <gtest/gtest.h>

#include "unit/api/support.h"

namespace quern::test {
namespace {

using Families = ApiTest;

// gather under another name.
Family copy(const char* name) {
  Family family = Gather::family();
  family.name = name;
  return family;
}

// One whose tuning depends on the device model: the larger the L2, the more is in flight.
int by_l2(const void* problem, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
  const int count = Gather::family().variants(problem, target, model, out);
  out[0].config[2] = model.l2_bytes > 55 << 20 ? 8 : 1;
  return count;
}

TEST_F(Families, TheBuiltInOnesAreThere) {
  Runtime runtime(options());
  EXPECT_EQ(&runtime.family("gather"), &Gather::family());
  EXPECT_EQ(&runtime.family("pointwise"), &Pointwise::family());
  EXPECT_GE(runtime.families().size(), 2u);
}

TEST_F(Families, AnAddedOneIsKnownByName) {
  static const Family mine = copy("mine");
  Runtime runtime(options());
  EXPECT_TRUE(has(refusal([&] { runtime.prepare_text("mine width=64"); }).sentence, "no family \"mine\""));
  runtime.add(mine);
  EXPECT_EQ(runtime.prepare_text("mine width=64").problem(), "mine width=64");
  EXPECT_EQ(runtime.families().size(), Runtime(options()).families().size() + 1);
}

TEST_F(Families, ASecondOneOfTheSameNameIsRefused) {
  static const Family mine = copy("gather");
  Runtime runtime(options());
  const Error error = refusal([&] { runtime.add(mine); });
  EXPECT_EQ(error.code, Code::bad_input);
  EXPECT_TRUE(has(error.sentence, "\"gather\"")) << error.sentence;
  EXPECT_EQ(&runtime.family("gather"), &Gather::family());
}

TEST_F(Families, OneWhoseLaunchGivesNoFieldIsRefused) {
  static const LaunchExtent extents[] = {{"rowz", offsetof(GatherArgs, rows), nullptr}};
  static Family mine = copy("mine");
  mine.launch_extents = extents;
  Runtime runtime(options());
  EXPECT_TRUE(has(refusal([&] { runtime.add(mine); }).sentence, "\"rowz\""));
}

TEST_F(Families, PrewarmMakesWhatEachModelOfTheArchitectureWants) {
  static Family mine = copy("by_l2");
  mine.variants = &by_l2;
  Runtime runtime(options());
  const Gather problem;
  EXPECT_EQ(runtime.prewarm(mine, &problem, "sm_90a").images.size(), 3u);
  EXPECT_EQ(runtime.prewarm(mine, &problem, "sm_90a", "NVIDIA H200").images.size(), 2u);
  const auto narrow = runtime.prewarm(mine, &problem, "sm_90a", "NVIDIA H100 PCIe");
  EXPECT_EQ(narrow.images.size(), 2u);
  EXPECT_TRUE(has(narrow.images[0].config, "unroll=1"));
  const Error error = refusal([&] { runtime.prewarm(mine, &problem, "sm_90a", "H2000"); });
  EXPECT_TRUE(has(error.sentence, "\"H2000\"") && has(error.sentence, "NVIDIA H200")) << error.sentence;
}

}  // namespace
}  // namespace quern::test
