#include "io/draw.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/sanitizers.h"
#include "base/text.h"
#include "plan/problem.h"
#include "quern/quern.h"
#include "support/counter/counter.h"

namespace quern::tool {
namespace {

std::vector<std::string> texts(const std::vector<AnyProblem>& problems) {
  std::vector<std::string> all;
  for (const AnyProblem& problem : problems) all.push_back(problem.text());
  return all;
}

// A family with this distribution.
template <std::size_t N>
Family gather_from(const char* const (&draws)[N]) {
  Family family = Gather::family();
  family.draws = draws;
  return family;
}

TEST(Draw, EveryFamilysDrawsAreLegalClosedAndDifferent) {
  constexpr int kDraws = QUERN_ADDRESS_SANITIZER ? 20 : 200;
  const Runtime runtime;
  for (const Family* family : runtime.families()) {
    std::set<std::string> known;
    for (const AnyProblem& problem : draw_problems(*family, kDraws, 1)) {
      EXPECT_TRUE(known.insert(problem.text()).second) << problem.text();
      EXPECT_EQ(runtime.parse(problem.text()).text(), problem.text());
      EXPECT_NO_THROW(check_problem(*family, problem.data())) << problem.text();
      EXPECT_TRUE(open_extents(*family, problem.data()).empty()) << problem.text();
      const std::int64_t bytes = family->bytes(problem.data());
      EXPECT_GE(bytes, kLeastDrawnBytes) << problem.text();
      EXPECT_LE(bytes, kMostDrawnBytes) << problem.text();
    }
    EXPECT_EQ(known.size(), std::size_t{kDraws}) << family->name;
  }
}

TEST(Draw, ASeedGivesTheSameProblemsAndTheFirstOnesOfMore) {
  const std::vector<std::string> ten = texts(draw_problems(Gather::family(), 10, 7));
  std::vector<std::string> twenty = texts(draw_problems(Gather::family(), 20, 7));
  twenty.resize(10);
  EXPECT_EQ(ten, twenty);
  EXPECT_NE(ten, texts(draw_problems(Gather::family(), 10, 8)));
  EXPECT_EQ(ten.front(), "gather rows=142 count=14683 width=78 dtype=f32 index=i32")
      << "the same on every machine: a seed is published with its figures";
}

TEST(Draw, OfNoFamilyIsOfEachThatHasADistribution) {
  Runtime runtime;
  runtime.add(test::Counter::family());
  std::map<std::string, int> counts;
  for (const AnyProblem& problem : draw_problems(runtime, {}, 3, 1)) ++counts[problem.family().name];
  EXPECT_EQ(counts.size(), runtime.families().size() - 1);
  EXPECT_EQ(counts.count("counter"), 0U);
  for (const auto& [family, count] : counts) EXPECT_EQ(count, 3) << family;
  EXPECT_THROW(draw_problems(runtime, {"counter"}, 3, 1), Error);
  EXPECT_THROW(draw_problems(runtime, {"no_family"}, 3, 1), Error);
}

// Powers of two are equally likely, and both ends are drawn.
TEST(Draw, LogarithmsAreUniformAndMultiplesAreWhole) {
  static constexpr const char* kDraws[] = {"rows=5000", "count=7..8 | count=64..4096/64", "width=4096"};
  const Family family = gather_from(kDraws);
  std::map<std::int64_t, int> counts;
  for (const AnyProblem& problem : draw_problems(family, 66, 1)) ++counts[parse_integer(problem.get("count")).value()];
  EXPECT_EQ(counts.size(), 66U) << "each of 7, 8 and 64 multiples once";
  EXPECT_EQ(counts.count(7), 1U);
  EXPECT_EQ(counts.count(8), 1U);
  EXPECT_EQ(counts.count(4096), 1U);
  static constexpr const char* kWide[] = {"rows=16", "count=1024..1048575", "width=16"};
  const Family wide = gather_from(kWide);
  int below = 0;
  for (const AnyProblem& problem : draw_problems(wide, 1000, 1))
    below += parse_integer(problem.get("count")).value() < 32768 ? 1 : 0;
  EXPECT_NEAR(below, 500, 80) << "the middle of the logarithms";
}

TEST(Draw, ARowThatIsWrongIsNamed) {
  const auto error_of = [](const Family& family) -> std::string {
    try {
      draw_problems(family, 1, 1);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  static constexpr const char* kNoField[] = {"rows=8 16"};
  static constexpr const char* kNoRange[] = {"rows=16..8"};
  static constexpr const char* kZero[] = {"rows=0..8"};
  static constexpr const char* kStep[] = {"rows=1..8/0"};
  static constexpr const char* kOpenRows[] = {"count=64"};
  static constexpr const char* kSmall[] = {"rows=8", "count=1..100", "width=8"};
  EXPECT_NE(error_of(gather_from(kNoField)).find("\"16\" is not FIELD=VALUE"), std::string::npos);
  EXPECT_NE(error_of(gather_from(kNoRange)).find("16..8"), std::string::npos);
  EXPECT_NE(error_of(gather_from(kZero)).find("0..8"), std::string::npos);
  EXPECT_NE(error_of(gather_from(kStep)).find("1..8/0"), std::string::npos);
  EXPECT_NE(error_of(gather_from(kOpenRows)).find("no row closes rows"), std::string::npos);
  EXPECT_NE(error_of(gather_from(kSmall)).find("none of 10000 drawn problems"), std::string::npos);
}

}  // namespace
}  // namespace quern::tool
