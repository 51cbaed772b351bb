#include "tuner/space/space.h"

#include <gtest/gtest.h>

#include "support/has.h"
#include "unit/tuner/synthetic.h"

namespace quern {
namespace {

using test::has;

// The constructor's error for axes and points.
std::string refusal_of_points(std::vector<Axis> axes, std::vector<std::vector<int>> points) {
  try {
    const Space space(std::move(axes), std::move(points));
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    return error.sentence;
  }
  return "";
}

std::string refusal_of_text(const Space& space, std::string_view text) {
  try {
    space.find(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    return error.sentence;
  }
  return "";
}

const std::vector<Axis> kAxes = {{"threads", {"64", "128", "256"}}, {"vector", {"4", "16"}}};

TEST(Space, NumbersPointsInCanonicalOrder) {
  const Space space(kAxes, {{2, 0}, {0, 1}, {0, 0}, {1, 1}});
  ASSERT_EQ(space.size(), 4);
  EXPECT_EQ(space.text(0), "threads=64 vector=4");
  EXPECT_EQ(space.text(1), "threads=64 vector=16");
  EXPECT_EQ(space.text(3), "threads=256 vector=4");
  EXPECT_EQ(space.indices(2), (std::vector<int>{1, 1}));
}

TEST(Space, FindsEachPointAndNoIllegalOne) {
  const Space space = test::grid({5, 4, 3}, [](const auto& p) { return (p[0] + p[1] + p[2]) % 3 != 0; });
  for (int point = 0; point < space.size(); ++point) {
    EXPECT_EQ(space.find(space.indices(point)), point);
    EXPECT_EQ(space.find(space.text(point)), point);
  }
  EXPECT_EQ(space.find(std::vector<int>{0, 0, 0}), -1);
  EXPECT_EQ(space.find(std::vector<int>{5, 0, 0}), -1);
  EXPECT_EQ(space.find("a=0 b=0 c=0"), -1);
}

TEST(Space, ReadsAText) {
  const Space space(kAxes, {{0, 1}, {2, 0}});
  EXPECT_EQ(space.find("vector=4  threads=256"), 1);
  EXPECT_TRUE(has(refusal_of_text(space, "threads=256 width=4"), "it has threads, vector"));
  EXPECT_TRUE(has(refusal_of_text(space, "threads=7 vector=4"), "it takes 64, 128, 256"));
  EXPECT_TRUE(has(refusal_of_text(space, "threads=64"), "vector is missing"));
  EXPECT_TRUE(has(refusal_of_text(space, "threads=64 threads=64 vector=4"), "given twice"));
  EXPECT_TRUE(has(refusal_of_text(space, "threads"), "NAME=VALUE"));
}

TEST(Space, NeighboursDifferInOneAxisNearestFirst) {
  const Space space = test::grid({5, 2}, [](const auto& p) { return p[0] != 1 || p[1] != 0; });
  const std::vector<Neighbour> found = space.neighbours(space.find(std::vector<int>{2, 0}));
  // Value 1 is not legal there: 0 is the nearest below.
  ASSERT_EQ(found.size(), 4U);
  const auto expect = [&](std::size_t i, std::vector<int> indices, int axis, int direction, int rank) {
    EXPECT_EQ(space.indices(found[i].point), indices);
    EXPECT_EQ(found[i].axis, axis);
    EXPECT_EQ(found[i].direction, direction);
    EXPECT_EQ(found[i].rank, rank);
  };
  expect(0, {0, 0}, 0, -1, 1);
  expect(1, {3, 0}, 0, 1, 1);
  expect(2, {4, 0}, 0, 1, 2);
  expect(3, {2, 1}, 1, 1, 1);
}

TEST(Space, APointAloneHasNoNeighbours) { EXPECT_TRUE(test::grid({1, 1}).neighbours(0).empty()); }

TEST(Space, RefusesWhatContradictsItself) {
  EXPECT_TRUE(has(refusal_of_points(kAxes, {}), "no legal point"));
  EXPECT_TRUE(has(refusal_of_points(kAxes, {{0, 1}, {1, 0}, {0, 1}}), "the point threads=64 vector=16 twice"));
  EXPECT_TRUE(has(refusal_of_points(kAxes, {{0}}), "1 values for 2 axes"));
  EXPECT_TRUE(has(refusal_of_points(kAxes, {{0, 2}}), "place 2 of vector"));
  EXPECT_TRUE(has(refusal_of_points(kAxes, {{-1, 0}}), "place -1 of threads"));
  EXPECT_TRUE(has(refusal_of_points({{"a", {"1"}}, {"a", {"2"}}}, {{0, 0}}), "two axes named a"));
  EXPECT_TRUE(has(refusal_of_points({{"a", {"1", "1"}}}, {{0}}), "the value 1 twice"));
  EXPECT_TRUE(has(refusal_of_points({{"a", {}}}, {}), "no values"));
  EXPECT_TRUE(has(refusal_of_points({{"", {"1"}}}, {{0}}), "no name"));
}

}  // namespace
}  // namespace quern
