#include "tuner/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tuner/search/search_history.h"
#include "unit/tuner/synthetic.h"

namespace quern {
namespace {

using test::grid;
using test::kFailed;
using test::TestBackend;

struct Landscape {
  const char* name;
  Space space;
  TestBackend::Time time;
};

// Randomness that depends only on the point.
double noise(const std::vector<int>& point) {
  std::uint64_t mixed = 1;
  for (const int place : point) mixed = Random(mixed * 31 + static_cast<std::uint64_t>(place)).next();
  return Random(mixed).unit();
}

double separable(const std::vector<int>& point) {
  double us = 10;
  for (const int place : point) us += std::abs(place - 2);
  return us;
}

std::vector<Landscape> landscapes() {
  std::vector<Landscape> all;
  all.push_back({"separable", grid({6, 6, 5}), separable});
  all.push_back({"rugged", grid({6, 6, 5}), [](const auto& p) { return 10 + 10 * noise(p); }});
  all.push_back(
      {"mostly failing", grid({8, 8, 3}), [](const auto& p) { return noise(p) < 0.9 ? kFailed : separable(p); }});
  all.push_back({"all failing", grid({4, 4}), [](const auto&) { return kFailed; }});
  all.push_back({"one point", grid({1, 1}), separable});
  all.push_back({"two points", grid({2}), separable});
  all.push_back({"two points apart", grid({2, 2}, [](const auto& p) { return p[0] == p[1]; }), separable});
  all.push_back({"no neighbours", grid({9, 9}, [](const auto& p) { return p[0] == p[1]; }), separable});
  all.push_back({"plateau", grid({7, 7, 2}), [](const auto&) { return 5.0; }});
  return all;
}

class EachStrategy : public ::testing::TestWithParam<const char*> {
 protected:
  Strategy search() const { return find_strategy(GetParam()).search; }
};
INSTANTIATE_TEST_SUITE_P(Search, EachStrategy, ::testing::Values("ils", "random", "exhaustive"),
                         [](const auto& named) { return std::string(named.param); });

TEST_P(EachStrategy, MeasuresEveryPointOnceIfItIsNotStopped) {
  for (const Landscape& landscape : landscapes()) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      TestBackend backend(landscape.space, landscape.time);
      search()(landscape.space, {}, seed, backend);
      EXPECT_TRUE(backend.legal_call) << landscape.name;
      EXPECT_EQ(static_cast<int>(backend.trials.size()), landscape.space.size()) << landscape.name;
    }
  }
}

// A backend with several devices answers with any candidate that is ready.
TEST_P(EachStrategy, CopesWithAnyCandidateBeingMeasured) {
  for (const Landscape& landscape : landscapes()) {
    Random random(7);
    TestBackend backend(landscape.space, landscape.time);
    backend.choose = [&](std::size_t count) { return static_cast<std::size_t>(random.below(count)); };
    search()(landscape.space, {}, 3, backend);
    EXPECT_TRUE(backend.legal_call) << landscape.name;
    EXPECT_EQ(static_cast<int>(backend.trials.size()), landscape.space.size()) << landscape.name;
  }
}

TEST_P(EachStrategy, StopsWhenTheBackendSaysSo) {
  for (const Landscape& landscape : landscapes()) {
    for (const int budget : {0, 1, 2, 5, 21, 40}) {
      TestBackend backend(landscape.space, landscape.time, budget);
      search()(landscape.space, {0}, 1, backend);
      EXPECT_TRUE(backend.legal_call) << landscape.name << " " << budget;
      EXPECT_EQ(static_cast<int>(backend.trials.size()), std::min(budget, landscape.space.size())) << landscape.name;
    }
  }
}

TEST_P(EachStrategy, MeasuresTheFirstOnesFirst) {
  const Space space = grid({6, 6, 5});
  TestBackend backend(space, separable, 50);
  search()(space, {77, 3, 77, 120}, 1, backend);
  const std::vector<int> points = backend.points();
  EXPECT_EQ(std::vector<int>(points.begin(), points.begin() + 3), (std::vector<int>{77, 3, 120}));
}

TEST_P(EachStrategy, IsTheSameForASeed) {
  const Space space = grid({9, 9, 9});
  const auto run = [&](std::uint64_t seed) {
    TestBackend backend(
        space, [](const auto& p) { return separable(p) + noise(p); }, 120);
    search()(space, {5}, seed, backend);
    return backend.points();
  };
  EXPECT_EQ(run(4), run(4));
  if (std::string(GetParam()) == "exhaustive") {
    EXPECT_EQ(run(4), run(5));
  } else {
    EXPECT_NE(run(4), run(5));
  }
}

// In a space of 3125 points chance needs some 2000 evaluations for even odds.
TEST(Search, WhatGoesDownhillFindsTheBottom) {
  const Space space = grid({5, 5, 5, 5, 5});
  int found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TestBackend backend(space, separable, 200);
    find_strategy("ils").search(space, {}, seed, backend);
    found += backend.best() == 10 ? 1 : 0;
  }
  EXPECT_GE(found, 18);
}

// Two basins: a wide one that ends at 10, and a narrow one with the best point, two places from the wide one's bottom.
TEST(Search, IteratedLocalSearchLeavesALocalOptimum) {
  const Space space = grid({12, 12});
  const auto time = [](const std::vector<int>& p) {
    return p[0] == 4 && p[1] == 4 ? 5.0 : 10.0 + std::abs(p[0] - 6) + std::abs(p[1] - 6);
  };
  int better = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TestBackend backend(space, time, 100);
    find_strategy("ils").search(space, {}, seed, backend);
    better += backend.best() == 5 ? 1 : 0;
  }
  EXPECT_GE(better, 14);
}

// All that may be wanted next is shown, so that a backend can compile ahead.
TEST(Search, ShowsTheBackendMoreThanOneCandidate) {
  const Space space = grid({9, 9, 9});
  for (const StrategyRow& row : strategies()) {
    std::size_t shown = 0;
    TestBackend backend(space, separable, 100);
    backend.choose = [&](std::size_t count) {
      shown += count;
      return std::size_t{0};
    };
    row.search(space, {}, 1, backend);
    EXPECT_GE(shown, 400U) << row.name;
  }
}

TEST(Search, TheDefaultIsFirstAndAnUnknownNameListsAll) {
  EXPECT_STREQ(strategies().front().name, "ils");
  try {
    find_strategy("bees");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    EXPECT_NE(error.sentence.find("\"bees\""), std::string::npos);
    for (const StrategyRow& row : strategies()) EXPECT_NE(error.sentence.find(row.name), std::string::npos) << row.name;
  }
}

TEST(SearchHistory, NeverAsksTwiceAndShowsAtMost64) {
  const Space space = grid({100});
  TestBackend backend(space, [](const auto& p) { return 100.0 - p[0]; });
  SearchHistory history(space, backend);
  std::size_t shown = 0;
  backend.choose = [&](std::size_t count) {
    shown = count;
    return count - 1;
  };
  std::vector<int> all(100);
  for (int i = 0; i < 100; ++i) all[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(history.any_of(all)->point, 63);
  EXPECT_EQ(shown, 64U);
  EXPECT_FALSE(history.any_of({63, 63}));
  EXPECT_FALSE(history.over());
  EXPECT_EQ(history.any_of({63, 2, 2})->point, 2);
  EXPECT_EQ(shown, 1U);
  EXPECT_FALSE(history.all_of(all));  // nothing is left
  EXPECT_TRUE(history.over());
  EXPECT_TRUE(backend.legal_call);
  EXPECT_EQ(history.trials().size(), 100U);
  EXPECT_EQ(history.us(99), 1);
  EXPECT_EQ(history.fastest(2), (std::vector<int>{99, 98}));
}

TEST(SearchHistory, FindsWhatIsNotKnown) {
  const Space space = grid({500});
  TestBackend backend(space, [](const auto&) { return 1.0; });
  SearchHistory history(space, backend);
  Random random(1);
  std::vector<int> most;
  for (int i = 0; i < 498; ++i) most.push_back(i);
  EXPECT_TRUE(history.all_of(most));
  std::vector<int> left = history.unknowns(random, 10);
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<int>{498, 499}));
}

}  // namespace
}  // namespace quern
