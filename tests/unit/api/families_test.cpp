// Families that an application brings.
#include <gtest/gtest.h>

#include <deque>

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

// The family with its only step changed; `steps` owns the step and must outlive the Runtime.
using StepList = std::deque<Step>;
void change_step(Family& family, StepList& steps, void (*change)(Step&)) {
  Step& step = steps.emplace_back(family.steps[0]);
  change(step);
  family.steps.rows = &step;
}

// A family whose tuning depends on the device model: the larger the L2, the more accesses are in flight.
int by_l2(const void* problem, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
  const int count = Gather::family().steps[0].variants(problem, target, model, out);
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

// make_family refuses them at compile time; a descriptor may be made in another way.
TEST_F(Families, ADescriptorThatIsNotWholeIsRefusedByName) {
  static constexpr std::int32_t kValues[] = {1, kNoMore};
  static const std::vector<Parameter> seventeen(17, {"a", kValues, true, ""});
  static constexpr Parameter kElsewhere[] = {
      {"a", kValues, true, "", [](const void*, const Config&) { return false; }, 7}};
  static StepList steps;
  static const Field kBeyond[] = {extent_field("rows", sizeof(Gather), true, "")};
  static const LaunchExtent kExtent[] = {{"rows", sizeof(GatherArgs), nullptr}};
  static const Scalar kScalar[] = {{"alpha", sizeof(GatherArgs), "", nullptr}};
  static const Field kTwice[] = {extent_field("rows", 0, true, ""), extent_field("count", 0, true, "")};
  const auto refused = [&](void (*spoil)(Family&), const char* words) {
    static std::deque<Family> families;  // a Runtime keeps pointers to its families
    Family& family = families.emplace_back(copy("mine"));
    spoil(family);
    Runtime runtime(options());
    const Gather problem;
    for (const Error& error :
         {refusal([&] { runtime.add(family); }), refusal([&] { runtime.prepare_any(family, &problem); }),
          refusal([&] { runtime.prewarm(family, &problem, "sm_90a"); })}) {
      EXPECT_EQ(error.code, Code::bad_input);
      EXPECT_TRUE(has(error.sentence, words)) << error.sentence;
    }
  };
  const auto step_refused = [&](void (*spoil)(Step&), const char* words) {
    static void (*change)(Step&);
    change = spoil;
    refused([](Family& f) { change_step(f, steps, change); }, words);
  };
  step_refused(
      [](Step& s) {
        s.parameters.rows = seventeen.data();
        s.parameters.count = 17;
      },
      "has a step of 17 parameters; at most 16");
  step_refused([](Step& s) { s.parameters = kElsewhere; }, "7, which a has where it does not apply");
  step_refused([](Step& s) { s.variants = nullptr; }, "lacks one of its functions");
  refused([](Family& f) { f.steps.count = 0; }, "has 0 steps; it takes 1 to 16");
  refused([](Family& f) { f.check = nullptr; }, "lacks one of its functions");
  refused([](Family& f) { f.sources = {}; }, "has no sources");
  refused([](Family& f) { f.default_problem = nullptr; }, "has no default problem");
  refused([](Family& f) { f.fields = kBeyond; }, "the field rows lies beyond");
  refused([](Family& f) { f.fields = kTwice; }, "has the field count twice");
  static const Field kOverlap[] = {extent_field("rows", 0, true, ""), extent_field("count", 4, true, "")};
  static const LaunchExtent kNoExtent[] = {{"mode", offsetof(GatherArgs, rows), nullptr}};
  static const LaunchExtent kExtentTwice[] = {{"rows", offsetof(GatherArgs, rows), nullptr},
                                              {"rows", offsetof(GatherArgs, count), nullptr}};
  refused([](Family& f) { f.fields = kOverlap; }, "the field count overlaps the one before it");
  refused([](Family& f) { f.launch_extents = kNoExtent; }, "\"mode\", which is not one of its extents");
  refused([](Family& f) { f.launch_extents = kExtentTwice; }, "lets a launch give \"rows\" twice");
  refused([](Family& f) { f.check_extents = nullptr; }, "lacks one of its functions");
  refused([](Family& f) { f.args_bytes = 8; }, "lies beyond the arguments' 8 bytes");
  refused([](Family& f) { f.launch_extents = kExtent; }, "the launch's rows lies beyond");
  refused([](Family& f) { f.scalars = kScalar; }, "the number alpha lies beyond");
  refused([](Family& f) { f.problem_bytes = 5000; }, "a problem of 5000 bytes");
  refused([](Family& f) { f.name = ""; }, "needs one");
}

TEST_F(Families, OneWithoutAVariantIsRefusedWhereItIsAsked) {
  static Family mine = copy("mine");
  static StepList steps;
  change_step(mine, steps, [](Step& step) {
    step.variants = [](const void*, const Target&, const DeviceModel&, Variant(&)[kMaxVariants]) { return 0; };
  });
  Runtime runtime(options());
  runtime.add(mine);
  const Error error = refusal([&] { runtime.prepare_text("mine width=64"); });
  EXPECT_TRUE(has(error.sentence, "gives 0 variants; a problem has 1 to 4")) << error.sentence;
}

TEST_F(Families, ATypedPlanTakesItsOwnFamilyOnly) {
  Runtime runtime(options());
  const AnyPlan other = runtime.prepare_text("pointwise width=8");
  EXPECT_EQ(&other.family(), &Pointwise::family());
  const Error error = refusal([&] { const Plan<Gather> plan(other); });
  EXPECT_EQ(error.code, Code::bad_input);
  EXPECT_TRUE(has(error.sentence, "of the family pointwise, not of gather")) << error.sentence;
  EXPECT_NO_THROW(Plan<Pointwise>{other});
  EXPECT_NO_THROW(Plan<Gather>{AnyPlan()});
}

TEST_F(Families, PrewarmMakesWhatEachModelOfTheArchitectureWants) {
  static Family mine = copy("by_l2");
  static StepList steps;
  change_step(mine, steps, [](Step& step) { step.variants = &by_l2; });
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
