#include "tuner/space/family_space.h"

#include <gtest/gtest.h>

#include "plan/config.h"
#include "quern/families.h"

namespace quern {
namespace {

AnyProblem gather(std::int64_t width) {
  AnyProblem problem(Gather::family());
  problem.set("rows", "64");
  problem.set("count", "64");
  problem.set("width", std::to_string(width));
  return problem;
}

TEST(FamilySpace, HasTheLegalConfigsInTheirOrder) {
  const Target target{90, "a"};
  const AnyProblem problem = gather(64);
  const FamilySpace space(problem, target);
  const std::vector<Config> legal = legal_configs(space.step(), problem.data(), target);
  ASSERT_EQ(space.size(), static_cast<int>(legal.size()));
  for (const int point : {0, space.size() / 2, space.size() - 1}) {
    EXPECT_EQ(space.config(point), legal[static_cast<std::size_t>(point)]);
    EXPECT_EQ(space.text(point), config_text(space.step(), problem.data(), space.config(point)));
    EXPECT_EQ(space.space().find(space.space().text(point)), point);
    EXPECT_EQ(space.find(space.text(point)), point);
    EXPECT_EQ(space.find(space.config(point)), point);
    EXPECT_EQ(parse_config(space.step(), space.option(point), {}, problem.data(), target), space.config(point));
  }
  EXPECT_EQ(space.find("no such config"), -1);
}

TEST(FamilySpace, ConfigsThatDifferInTheGeometryOnlyShareAnImage) {
  const FamilySpace space(gather(64), {90, "a"});
  const Table<Parameter>& parameters = Gather::family().steps[0].parameters;
  const auto differ_compiled = [&](int a, int b) {
    for (int i = 0; i < parameters.count; ++i) {
      if (parameters[i].compiled && space.config(a)[i] != space.config(b)[i]) return true;
    }
    return false;
  };
  EXPECT_LT(space.images(), space.size() / 2);
  for (int point = 1; point < space.size(); point += 7)
    EXPECT_EQ(space.image(point) != space.image(point - 1), differ_compiled(point, point - 1)) << space.text(point);
}

TEST(FamilySpace, AnotherSpaceHasAnotherDigest) {
  const std::string digest = FamilySpace(gather(64), {90, "a"}).digest();
  EXPECT_EQ(FamilySpace(gather(64), {90, "a"}).digest(), digest);
  EXPECT_NE(FamilySpace(gather(63), {90, "a"}).digest(), digest);
  EXPECT_NE(FamilySpace(gather(64), {100, "a"}).digest(), digest);
}

}  // namespace
}  // namespace quern
