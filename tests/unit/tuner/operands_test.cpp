#include "testbench/operands.h"
#include "testbench/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "base/random.h"
#include "plan/layout_walk.h"
#include "unit/plan/support.h"

namespace quern {
namespace {

using test::problem;

constexpr int kGatherOut = 3;
constexpr int kPointwiseOut = 3;

// The outputs of one problem twice, to be changed and compared.
class Pair {
 public:
  explicit Pair(const std::string& text) : problem_(problem(text)) {
    HostOperands host(problem_.family(), problem_.data());
    host.generate(1, false);
    got = host;
    expected = host;
  }
  template <class T>
  void set(std::int64_t at, T g, T e) {
    std::memcpy(got.data(kPointwiseOut) + at * static_cast<std::int64_t>(sizeof(T)), &g, sizeof(T));
    std::memcpy(expected.data(kPointwiseOut) + at * static_cast<std::int64_t>(sizeof(T)), &e, sizeof(T));
  }
  Comparison compare() const { return quern::compare(got, expected); }

 private:
  AnyProblem problem_;

 public:
  HostOperands got{problem_.family(), problem_.data()};
  HostOperands expected{problem_.family(), problem_.data()};
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Compare, EqualBytesAreEqual) {
  const Comparison result = Pair("pointwise rows=3 width=5 dtype=f32").compare();
  EXPECT_TRUE(result.equal);
  EXPECT_EQ(result.max_error, 0);
  EXPECT_EQ(result.difference, "");
}

TEST(Compare, CountsUnitsInTheLastPlaceAcrossZero) {
  // relu has no tolerance, tanh four units.
  for (const bool tolerant : {false, true}) {
    Pair pair(tolerant ? "pointwise rows=1 width=8 dtype=f32 activation=tanh" : "pointwise rows=1 width=8 dtype=f32");
    pair.set(2, 1.0f, std::nextafter(std::nextafter(1.0f, 2.0f), 2.0f));
    pair.set(3, std::numeric_limits<float>::denorm_min(), -std::numeric_limits<float>::denorm_min());
    const Comparison result = pair.compare();
    EXPECT_EQ(result.max_error, 2);
    EXPECT_EQ(result.equal, tolerant) << result.difference;
  }
}

TEST(Compare, NamesTheFirstElementThatIsOut) {
  Pair pair("pointwise rows=3 width=5 dtype=f32 out_stride=7");
  pair.set(1 * 7 + 4, 1.5f, 2.5f);
  pair.set(2 * 7 + 0, 1.5f, 2.5f);
  const Comparison result = pair.compare();
  EXPECT_FALSE(result.equal);
  EXPECT_EQ(result.difference.rfind("out[1, 4]: 1.5", 0), 0u) << result.difference;
  EXPECT_NE(result.difference.find("instead of 2.5"), std::string::npos) << result.difference;
}

TEST(Compare, AnyNanEqualsAnyOtherAndNothingElse) {
  Pair pair("pointwise rows=1 width=8 dtype=f32");
  pair.set(0, std::nanf("1"), -std::nanf("2"));
  EXPECT_TRUE(pair.compare().equal);
  pair.set(1, 0.0f, kNan);
  EXPECT_FALSE(pair.compare().equal);
  pair.set(1, kNan, kInf);
  EXPECT_FALSE(pair.compare().equal);
}

TEST(Compare, InfinityIsOneUnitPastTheLargest) {
  Pair pair("pointwise rows=1 width=8 dtype=f32 activation=tanh");
  pair.set(0, kInf, std::numeric_limits<float>::max());
  EXPECT_EQ(pair.compare().max_error, 1);
  pair.set(0, kInf, -kInf);
  EXPECT_FALSE(pair.compare().equal);
}

TEST(Compare, ZerosOfDifferentSignDifferWhereBitsMatter) {
  Pair exact("pointwise rows=1 width=8 dtype=f32");
  exact.set(0, 0.0f, -0.0f);
  EXPECT_FALSE(exact.compare().equal);
  Pair tolerant("pointwise rows=1 width=8 dtype=f32 activation=tanh");
  tolerant.set(0, 0.0f, -0.0f);
  EXPECT_TRUE(tolerant.compare().equal);
}

TEST(Compare, TheAbsoluteBoundCountsToo) {
  Pair pair("pointwise rows=1 width=8 dtype=f32 activation=gelu");
  pair.set(0, 0.0f, 4e-7f);
  EXPECT_TRUE(pair.compare().equal);
  pair.set(0, 0.0f, 6e-7f);
  EXPECT_FALSE(pair.compare().equal);
}

// A result whose first output has one element changed by so many units.
Comparison compare_changed(const std::string& text, float x, std::int64_t units) {
  const AnyProblem p = problem(text);
  HostOperands host(p.family(), p.data());
  host.generate(1, false);
  for (int i = 0; i < host.size(); ++i) {
    const Operand& operand = host.operand(i);
    if (operand.role != Role::input || host.bytes(i) == 0) continue;
    const int entry = host.entries()[static_cast<std::size_t>(i)].entry;
    const std::string name = operand.name_of_entry ? operand.name_of_entry(p.data(), entry) : operand.name;
    const float value = name == "x" ? x : name == "bias" ? 0 : -57344.0F;
    for (std::int64_t at = 0; at < host.bytes(i); at += 4) std::memcpy(host.data(i) + at, &value, 4);
  }
  AnyArgs numbers(p.family());
  const HostOperands expected = host.reference(numbers);
  HostOperands got = expected;
  for (int i = 0; i < got.size(); ++i) {
    if (got.operand(i).role != Role::output || got.bytes(i) == 0) continue;
    std::int32_t bits = 0;
    std::memcpy(&bits, got.data(i), 4);
    bits += static_cast<std::int32_t>(units);
    std::memcpy(got.data(i), &bits, 4);
    break;
  }
  return compare(got, expected);
}

TEST(Compare, ElementsMayDifferByWhatTheirOperandsEnlarge) {
  for (const char* text : {"pointwise rows=1 width=2 dtype=f32 expr=\"out = y * silu_slope(x)\"",
                           "pointwise rows=1 width=2 dtype=f32 activation=silu pass=backward",
                           "glu rows=1 width=2 dtype=f32 layout=split activation=silu pass=backward"}) {
    const Comparison near = compare_changed(text, -1.2784F, 500);
    EXPECT_TRUE(near.equal) << near.difference;
    EXPECT_EQ(near.max_error, 500) << text;
    EXPECT_FALSE(compare_changed(text, -1.2784F, 1 << 20).equal) << text;
    EXPECT_FALSE(compare_changed(text, 1.0F, 500).equal) << text << ", where nothing is enlarged";
  }
  EXPECT_FALSE(compare_changed("pointwise rows=1 width=2 dtype=f32 expr=\"out = y * x\"", -1.2784F, 1).equal);
}

TEST(Compare, NarrowTypesHaveWiderUnits) {
  Pair pair("pointwise rows=1 width=8 dtype=bf16 activation=gelu");
  pair.set<std::uint16_t>(0, 0x3f80, 0x3f81);
  const Comparison result = pair.compare();
  EXPECT_TRUE(result.equal);
  EXPECT_EQ(result.max_error, 1);
  pair.set<std::uint16_t>(0, 0x3f80, 0x3f82);
  EXPECT_FALSE(pair.compare().equal);
}

TEST(Compare, MovedBitsMustBeTheSameBits) {
  Pair pair("gather rows=4 count=3 width=5 dtype=f32");
  EXPECT_TRUE(pair.compare().equal);
  pair.set(7, std::nanf("1"), std::nanf("2"));
  const Comparison result = pair.compare();
  EXPECT_FALSE(result.equal);
  EXPECT_EQ(result.difference.rfind("out[1, 2]: bytes ", 0), 0u) << result.difference;
}

TEST(Compare, TheGapsBetweenRowsMustStayAsTheyWere) {
  for (const char* text : {"gather rows=4 count=3 width=5 dtype=f32 out_stride=7",
                           "pointwise rows=3 width=5 dtype=f32 out_stride=7 activation=gelu"}) {
    Pair pair(text);
    pair.got.data(kGatherOut)[4 * (7 + 5)] = std::byte{0};
    const Comparison result = pair.compare();
    EXPECT_FALSE(result.equal);
    EXPECT_EQ(result.difference, "the gap after row 1 of out was written");
  }
}

// Two matrices of two rows of 3 elements.
Layout two_matrices(std::int64_t row_stride, std::int64_t matrix_stride) {
  return {u8, 3, {2, 2, 3}, {matrix_stride, row_stride, 1}};
}

TEST(ElementName, FindsRowsOfMatricesApartAndByTurns) {
  const Operand operand{"x", Role::input, 0, true, nullptr, "", ""};
  const std::tuple<Layout, std::int64_t, const char*> table[] = {
      {two_matrices(4, 10), 5, "x[0, 1, 1]"},
      {two_matrices(4, 10), 9, "the gap after row 0, 1 of x"},
      {two_matrices(4, 10), 16, "x[1, 1, 2]"},
      {two_matrices(8, 4), 5, "x[1, 0, 1]"},
      {two_matrices(8, 4), 7, "the gap after row 1, 0 of x"},
      {two_matrices(8, 4), 8, "x[0, 1, 0]"}};
  for (const auto& [layout, offset, name] : table) EXPECT_EQ(element_name(operand.name, layout, offset), name);
}

TEST(Layout, OfMatricesEndsWithTheirLastRow) {
  EXPECT_EQ(two_matrices(4, 10).span_bytes(), 17);
  EXPECT_EQ(two_matrices(8, 4).span_bytes(), 15);
  Layout huge = two_matrices(8, 4);
  huge.extents[0] = std::int64_t{1} << 62;
  EXPECT_EQ(huge.span_bytes(), -1) << "64 bits do not hold it";
}

// q and k side by side in one row of memory: [batch, heads, seq, dim] of a tensor that is [batch, seq, heads, dim].
TEST(LayoutWalk, GoesThroughFourDimensionsInTheOrderOfIndicesWhateverTheStrides) {
  const Layout q{u8, 4, {2, 3, 2, 4}, {64, 4, 32, 1}};
  std::vector<std::int64_t> offsets, numbers;
  for_each_run(q, [&](std::int64_t offset, std::int64_t count, std::int64_t number) {
    EXPECT_EQ(count, 4);
    offsets.push_back(offset);
    numbers.push_back(number);
  });
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 32, 4, 36, 8, 40, 64, 96, 68, 100, 72, 104}));
  EXPECT_EQ(numbers.back(), 44);
  EXPECT_EQ(q.elements(), 48);
  EXPECT_EQ(q.span_bytes(), 108);
  EXPECT_EQ(index_text(index_of(q, 47), 4), "1, 2, 1, 3");
  const Operand operand{"q", Role::output, 0, true, nullptr, "", ""};
  EXPECT_EQ(element_name(operand.name, q, 105), "q[1, 2, 1, 1]");
  EXPECT_EQ(element_name(operand.name, q, 13), "the gap after row 0, 2, 0 of q");
}

// Drawn at random: dimensions in any order of memory, padded, some of one element.
TEST(LayoutWalk, ReachesEachElementOfAnyLayoutOnceAndNamesIt) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Layout layout{};
    layout.dtype = u8;
    layout.rank = 1 + random.below(kMaxRank);
    std::vector<int> order(static_cast<std::size_t>(layout.rank));
    for (int d = 0; d < layout.rank; ++d) order[static_cast<std::size_t>(d)] = d;
    random.shuffle(order);
    std::int64_t span = 1;
    for (const int d : order) {
      layout.extents[d] = 1 + random.below(5);
      layout.strides[d] = span + random.below(3);
      span = layout.strides[d] * layout.extents[d];
    }
    std::vector<std::int64_t> number_at(static_cast<std::size_t>(layout.span_bytes()), -1);
    std::int64_t next = 0;
    for_each_run(layout, [&](std::int64_t offset, std::int64_t count, std::int64_t number) {
      EXPECT_EQ(number, next) << seed;
      for (std::int64_t i = 0; i < count; ++i) number_at.at(static_cast<std::size_t>(offset + i)) = number + i;
      next += count;
    });
    EXPECT_EQ(next, layout.elements()) << seed;
    for (std::size_t at = 0; at < number_at.size(); ++at) {
      const ElementAt element = element_at(layout, static_cast<std::int64_t>(at));
      EXPECT_EQ(element.in_gap, number_at[at] < 0) << seed << " at " << at;
      if (number_at[at] < 0) continue;
      EXPECT_EQ(element.index, index_of(layout, number_at[at])) << seed << " at " << at;
    }
  }
}

TEST(LayoutWalk, MakesOneRunOfWhatHasNoGap) {
  int runs = 0;
  for_each_run(Layout{f32, 5, {2, 3, 4, 5, 6}, {360, 120, 30, 6, 1}},
               [&](std::int64_t, std::int64_t count, std::int64_t) {
                 EXPECT_EQ(count, 720);
                 ++runs;
               });
  EXPECT_EQ(runs, 1);
  for_each_run(Layout{f32, 2, {3, 2}, {5, 2}}, [&](std::int64_t, std::int64_t count, std::int64_t) {
    EXPECT_EQ(count, 1);
    ++runs;
  });
  EXPECT_EQ(runs, 7) << "columns that are apart";
  for_each_run(Layout{f32, 2, {3, 0}, {5, 1}}, [&](std::int64_t, std::int64_t, std::int64_t) { ++runs; });
  EXPECT_EQ(runs, 7);
  const Layout repeated{f32, 2, {3, 2}, {0, 1}};
  EXPECT_EQ(repeated.span_bytes(), 8);
}

TEST(Compare, TheReportOfGatherIsAnOutputToo) {
  const AnyProblem p = problem("gather rows=4 count=3 width=5 mode=report");
  HostOperands got(p.family(), p.data());
  got.generate(1, false);
  HostOperands expected = got;
  got.data(4)[0] = std::byte{7};
  EXPECT_EQ(compare(got, expected).difference.rfind("report[0]", 0), 0u);
}

std::string bytes_of(const HostOperands& host) {
  std::string all;
  for (int i = 0; i < host.size(); ++i) {
    if (host.bytes(i) > 0)
      all.append(reinterpret_cast<const char*>(host.data(i)), static_cast<std::size_t>(host.bytes(i)));
  }
  return all;
}

TEST(Generate, TheSameSeedGivesTheSameDataAndAnotherDoesNot) {
  for (const char* text : {"gather rows=50 count=40 width=33 dtype=bf16 mode=zero scale=f32",
                           "gather rows=50 count=40 width=33 dtype=i8", "pointwise rows=20 width=33 op=add_mul_act"}) {
    const AnyProblem p = problem(text);
    const auto data = [&](std::uint64_t seed, bool wild) {
      HostOperands host(p.family(), p.data());
      host.generate(seed, wild);
      return bytes_of(host);
    };
    EXPECT_EQ(data(5, true), data(5, true)) << text;
    EXPECT_NE(data(5, true), data(6, true)) << text;
  }
}

// The data does not depend on the number of threads: element i of a longer operand equals that of a shorter one.
TEST(Generate, IsTheSameWhateverTheSize) {
  const AnyProblem longer = problem("pointwise rows=3000 width=1024 dtype=f32");
  const AnyProblem shorter = problem("pointwise rows=1 width=1024 dtype=f32");
  HostOperands a(longer.family(), longer.data());
  HostOperands b(shorter.family(), shorter.data());
  a.generate(1, true);
  b.generate(1, true);
  EXPECT_EQ(std::memcmp(a.data(0), b.data(0), static_cast<std::size_t>(b.bytes(0))), 0);
}

TEST(Generate, FloatsAreOrdinaryUnlessWild) {
  const AnyProblem p = problem("pointwise rows=100 width=100 dtype=f32");
  for (const bool wild : {false, true}) {
    HostOperands host(p.family(), p.data());
    host.generate(1, wild);
    int odd = 0;
    for (int i = 0; i < 10000; ++i) {
      float value = 0;
      std::memcpy(&value, host.data(0) + 4 * i, 4);
      odd += !(value >= -4 && value < 4) || std::fpclassify(value) == FP_SUBNORMAL;
    }
    EXPECT_EQ(odd > 0, wild);
    EXPECT_LT(odd, 1000);
  }
}

TEST(Generate, OutputsArePoisonedAndReferencesLeaveTheirInputsAlone) {
  const AnyProblem p = problem("pointwise rows=4 width=5 dtype=f32");
  HostOperands host(p.family(), p.data());
  host.generate(1, false);
  EXPECT_EQ(host.data(kPointwiseOut)[0], std::byte{0xA5});
  const std::string before = bytes_of(host);
  const HostOperands reference = host.reference(AnyArgs(p.family()));
  EXPECT_EQ(bytes_of(host), before);
  EXPECT_FALSE(compare(host, reference).equal);
}

TEST(HostOperands, WhatNoMemoryHoldsIsRefused) {
  const AnyProblem p = problem("gather rows=70368744177664 count=9 width=1073741824 dtype=f64");
  EXPECT_THROW(HostOperands(p.family(), p.data()), Error);
}

TEST(AnyArgs, AnUnknownNumberIsRefusedWithTheKnownOnes) {
  AnyArgs pointwise(Pointwise::family());
  pointwise.set_scalar("multiplier", 2);
  EXPECT_EQ(static_cast<const PointwiseArgs*>(pointwise.data())->multiplier, 2);
  try {
    pointwise.set_scalar("multiplyer", 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.sentence.find("\"multiplyer\"; it has multiplier, alpha"), std::string::npos) << error.sentence;
  }
  AnyArgs gather(Gather::family());
  EXPECT_THROW(gather.set_scalar("alpha", 1), Error);
}

TEST(AnyArgs, TakesOperandsAndExtents) {
  const AnyProblem p = problem("gather rows=9 count=4");
  AnyArgs args(p.family());
  args.set_extents(p.data());
  args.set_operand(kGatherOut, test::address(0x40), 12);
  const auto& typed = *static_cast<const GatherArgs*>(args.data());
  EXPECT_EQ(typed.rows, 9);
  EXPECT_EQ(typed.count, 4);
  EXPECT_EQ(typed.out.data, test::address(0x40));
  EXPECT_EQ(typed.out.bytes, 12);
}

}  // namespace
}  // namespace quern
