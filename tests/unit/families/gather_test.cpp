// gather's choice of variants, its constants, its test data and its reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "common/host_types.h"
#include "gather/params.h"
#include "plan/config.h"
#include "testbench/operands.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::problem;
using test::step_of;
using test::summary;
using test::variants_of;

Spec spec_of(const std::string& text, std::size_t variant = 0) {
  const AnyProblem p = problem(text);
  Spec spec;
  step_of(p).specialize(p.data(), {90, "a"}, variants_of(p).at(variant).config, spec);
  return spec;
}

std::map<std::string, std::string> constants(const Spec& spec) {
  std::map<std::string, std::string> values;
  for (const Constant& constant : spec.constants()) {
    EXPECT_TRUE(values.emplace(constant.name, constant.value).second) << constant.name << " is there twice";
  }
  return values;
}

struct Row {
  const char* problem;
  const char* variants;  // "name:vector:alignment", in order of preference
};

TEST(GatherVariants, FollowRowLengthStridesAndElement) {
  const Row rows[] = {
      {"gather width=4096 dtype=bf16", "vector:16:16 ragged:16:2"},
      {"gather width=4096 dtype=f64", "vector:16:16 ragged:16:8"},
      {"gather width=64 dtype=u8", "vector:16:16 ragged:16:1"},
      {"gather width=4 dtype=bf16", "vector:8:8 ragged:16:2"},
      {"gather width=36 dtype=bf16", "vector:8:8 ragged:16:2"},
      {"gather width=1000 dtype=bf16", "vector:16:16 ragged:16:2"},
      {"gather width=4097 dtype=bf16", "ragged:16:2"},
      {"gather width=4098 dtype=bf16", "ragged:16:2"},
      {"gather width=100 dtype=u8", "ragged:16:1"},
      {"gather width=7 dtype=f32", "ragged:16:4"},
      {"gather width=15 dtype=u8", "ragged:16:1"},
      {"gather width=14 dtype=u8", "vector:2:2 ragged:16:1"},
      {"gather width=3 dtype=u8", "vector:1:1"},
      {"gather width=6 dtype=u8", "vector:2:2 ragged:16:1"},
      {"gather width=3 dtype=f64", "vector:8:8"},
      {"gather width=33 dtype=c64", "vector:8:8"},
      {"gather width=33 dtype=c128", "vector:16:16"},
      {"gather width=64 dtype=bf16 source_stride=68", "vector:8:8 ragged:16:2"},
      {"gather width=64 dtype=bf16 out_stride=72", "vector:16:16 ragged:16:2"},
      {"gather width=64 dtype=bf16 out_stride=65", "ragged:16:2"},
      {"gather width=64 dtype=bf16 source_stride=1", "ragged:16:2"},
      {"gather width=63 dtype=bf16 source_stride=1", "ragged:16:2"},
      {"gather width=1073741825 dtype=u8", "ragged:16:1"},
  };
  for (const Row& row : rows) EXPECT_EQ(summary(row.problem, {90, "a"}), row.variants) << row.problem;
}

// "form:vector:unroll:row_threads" of the first choice.
std::string first_gather_config(const std::string& text) {
  const Config config = variants_of(problem(text)).front().config;
  return cat(config[0], ":", config[1], ":", config[2], ":", config[8]);
}

TEST(GatherVariants, FewOddRowsAreMovedInElements) {
  EXPECT_EQ(first_gather_config("gather rows=555 count=27 width=1286 dtype=u8"), "0:2:1:0");
  EXPECT_EQ(first_gather_config("gather rows=300 count=300 width=1023"), "0:2:2:0");
  EXPECT_EQ(first_gather_config("gather rows=313 count=313 width=1801"), "0:2:2:0");
  EXPECT_EQ(first_gather_config("gather rows=300 count=300 width=511"), "0:2:2:256") << "by row where it is short";
  EXPECT_EQ(first_gather_config("gather rows=874 count=4756 width=406"), "1:16:4:16");
  EXPECT_EQ(first_gather_config("gather rows=162 count=45504 width=46 dtype=u8"), "0:2:4:0")
      << "short ones, up to more bytes";
  EXPECT_EQ(first_gather_config("gather rows=162 count=200000 width=46 dtype=u8"), "1:16:1:0");
}

TEST(GatherVariants, RaggedRowsHaveLanesUnlessManyAreLong) {
  EXPECT_EQ(first_gather_config("gather rows=65536 count=65536 width=1023"), "1:16:4:32");
  EXPECT_EQ(first_gather_config("gather width=1023"), "1:16:4:32") << "open extents count as large";
  EXPECT_EQ(first_gather_config("gather rows=380 count=380 width=1801"), "1:16:2:128") << "more lanes, for few rows";
  EXPECT_EQ(first_gather_config("gather rows=999 count=999 width=2727 dtype=f32"), "1:16:4:256");
  EXPECT_EQ(first_gather_config("gather rows=65536 count=65536 width=4097"), "1:16:2:0");
  EXPECT_EQ(first_gather_config("gather rows=65536 count=65536 width=6 dtype=u8 out_stride=7"), "0:1:2:0")
      << "two bytes";
}

TEST(GatherVariants, FewRowsOfVectorsHaveLanes) {
  EXPECT_EQ(first_gather_config("gather rows=64 count=64 width=7168"), "0:16:1:1024");
  EXPECT_EQ(first_gather_config("gather rows=300 count=300 width=2048"), "0:16:1:256");
  EXPECT_EQ(first_gather_config("gather rows=2000 count=1491 width=1152"), "0:16:4:64");
  EXPECT_EQ(first_gather_config("gather rows=30000 count=30000 width=256"), "0:16:2:0") << "many";
  EXPECT_EQ(first_gather_config("gather rows=7000 count=7000 width=520"), "0:16:2:0") << "65 accesses of 128";
  EXPECT_EQ(first_gather_config("gather rows=7000 count=7000 width=800"), "0:16:4:32") << "100 of 128";
  EXPECT_EQ(first_gather_config("gather rows=203 count=203 width=132"), "0:4:1:128") << "64 lanes or more";
  EXPECT_EQ(first_gather_config("gather rows=135 count=135 width=512"), "0:8:1:128");
  EXPECT_EQ(first_gather_config("gather rows=600 count=600 width=132"), "0:8:1:64") << "not so few";
  EXPECT_EQ(first_gather_config("gather rows=9 count=9 width=32768"), "0:16:2:2048") << "as many as a row can have";
  EXPECT_EQ(first_gather_config("gather rows=9 count=9 width=32776"), "0:16:1:0") << "long";
  EXPECT_EQ(first_gather_config("gather rows=9 count=9000 width=56"), "0:16:1:0") << "7 accesses";
  EXPECT_EQ(first_gather_config("gather rows=5000 count=10177 width=216"), "0:16:4:8");
  EXPECT_EQ(first_gather_config("gather rows=63 count=10177 width=216"), "0:16:2:0") << "from L2";
  for (const char* count : {"30000", "50000", "100000"})
    EXPECT_EQ(first_gather_config(cat("gather rows=63 width=96 count=", count)), "0:16:2:0") << "few and many alike";
}

TEST(GatherVariants, RowsThatAreReadAgainStayInL2UnlessTheyAreFew) {
  const auto hints = [](const char* text) {
    const Config config = variants_of(problem(text)).front().config;
    return cat(config[4], ":", config[5]);
  };
  EXPECT_EQ(hints("gather rows=100 count=4000 width=1024"), "0:1") << "only stores are evict-first";
  EXPECT_EQ(hints("gather rows=1000 count=3000 width=1024"), "1:1") << "few";
  EXPECT_EQ(hints("gather rows=21 count=1277 width=288"), "0:1") << "few, but each is read often";
  EXPECT_EQ(hints("gather rows=4000 count=4000 width=1024"), "1:1") << "read once";
  EXPECT_EQ(hints("gather rows=4000 count=4000 width=64"), "1:1") << "short, but few";
  EXPECT_EQ(hints("gather rows=400000 count=400000 width=64"), "0:0") << "short";
  EXPECT_EQ(hints("gather rows=10000 count=22000 width=60"), "1:1") << "also where some are read again";
  EXPECT_EQ(hints("gather rows=100000 count=150000 width=36"), "0:1") << "many short ones";
  EXPECT_EQ(hints("gather rows=63 count=20000 width=32"), "0:1") << "few, but each is read often";
  EXPECT_EQ(hints("gather rows=4000 count=4000 width=28"), "0:0") << "so short that rows share sectors";
  EXPECT_EQ(hints("gather rows=75 count=320 width=1607 dtype=f32"), "1:1") << "few long ones in narrow elements";
}

TEST(GatherVariants, ThirtyTwoBytesAreForBlackwellOnly) {
  const char* const text = "gather width=4096 dtype=bf16";
  EXPECT_EQ(summary(text, {100, "a"}), "vector:32:32 ragged:16:2");
  EXPECT_EQ(summary(text, {103, "a"}), "vector:32:32 ragged:16:2");
  for (const Target target : {Target{80, ""}, Target{90, "a"}, Target{120, "a"}})
    EXPECT_EQ(summary(text, target), "vector:16:16 ragged:16:2");
  EXPECT_EQ(summary("gather width=8 dtype=bf16", {100, "a"}), "vector:16:16 ragged:16:2");
}

TEST(GatherAlignment, IsThatOfTheVectorButNeverBelowTheElement) {
  const AnyProblem p = problem("gather width=4096 dtype=f64");
  Config config = variants_of(p).front().config;
  for (const int vector : {1, 2, 4, 8, 16}) {
    config[1] = vector;
    EXPECT_EQ(step_of(p).alignment(p.data(), 0, config), static_cast<std::uint32_t>(std::max(8, vector)));
  }
}

using Parts = std::vector<std::string>;

TEST(GatherSpec, HoldsWhatDecidesTheImage) {
  const Spec spec = spec_of("gather width=4096 dtype=bf16 index=i32 mode=clamp");
  const auto values = constants(spec);
  EXPECT_EQ(values.at("vector"), "16");
  EXPECT_EQ(values.at("unroll"), std::to_string(variants_of(problem("gather width=4096")).front().config[2]));
  EXPECT_EQ(values.at("element_bytes"), "2");
  EXPECT_EQ(values.at("Index"), "common::i32");
  EXPECT_EQ(values.at("mode"), "gather::Mode::clamp");
  EXPECT_EQ(spec.parts(), Parts({"gather/no_scale.cuh", "rows/vectors.cuh", "gather/rows.cuh"}));
  EXPECT_TRUE(spec.headers().empty());
}

Spec spec_with(const std::string& text, const std::string& changes) {
  const AnyProblem p = problem(text);
  const Target target{90, "a"};
  Spec spec;
  const Config config = parse_config(step_of(p), changes, variants_of(p).front().config, p.data(), target);
  step_of(p).specialize(p.data(), target, config, spec);
  return spec;
}

// The text of `describe` for each parameter.
TEST(GatherSpec, ChangesWithWhatIsCompiledAndWithNothingElse) {
  const auto with = [](const std::string& changes) {
    return constants(spec_with("gather width=4096 dtype=bf16", changes));
  };
  EXPECT_NE(with("persistent=1"), with(""));
  EXPECT_EQ(with("persistent=1,blocks_per_sm=4"), with("persistent=1"));
  EXPECT_EQ(with("threads=64"), with(""));
}

// How many matrices there are is known at launch; one needs no division.
TEST(GatherSpec, HoldsWhetherThereAreSeveralMatrices) {
  const auto values = [](const char* text) { return constants(spec_of(text)); };
  EXPECT_EQ(values("gather width=64 outer=2"), values("gather width=64 outer=open"));
  EXPECT_NE(values("gather width=64 outer=2"), values("gather width=64"));
}

TEST(GatherSpec, AScaleBringsItsTypesAndTheirHeader) {
  const Spec spec = spec_of("gather width=4096 dtype=e4m3 scale=f16", 1);
  const auto values = constants(spec);
  EXPECT_EQ(values.at("Element"), "common::E4m3");
  EXPECT_EQ(values.at("Scale"), "common::Fp16");
  EXPECT_EQ(spec.parts(), Parts({"gather/scale.cuh", "gather/row_windows.cuh", "gather/rows.cuh"}));
  EXPECT_EQ(spec.headers(), Parts({"common/numbers.cuh"}));
}

// Types that are moved in the same way share their image.
TEST(GatherSpec, WithoutAScaleOnlyTheSizeOfAnElementCounts) {
  const auto values = [](const char* text) { return constants(spec_of(text)); };
  EXPECT_EQ(values("gather width=64 dtype=bf16"), values("gather width=64 dtype=i16"));
  EXPECT_NE(values("gather width=64 dtype=bf16 scale=f32"), values("gather width=64 dtype=f16 scale=f32"));
}

std::vector<std::int64_t> gather_indices(const std::string& text, std::uint64_t seed = 1) {
  const AnyProblem p = problem(text);
  HostOperands host(p.family(), p.data());
  host.generate(seed, false);
  const Gather& g = test::as<Gather>(p);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < g.count; ++i) values.push_back(common::read_integer(g.index, host.data(1), i));
  return values;
}

TEST(GatherGenerate, IndicesAreAPermutation) {
  const std::vector<std::int64_t> all = gather_indices("gather rows=1000 count=1000 width=1");
  EXPECT_EQ(std::set<std::int64_t>(all.begin(), all.end()).size(), 1000u);
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(*std::min_element(all.begin(), all.end()), 0);
  EXPECT_EQ(*std::max_element(all.begin(), all.end()), 999);
  const std::vector<std::int64_t> some = gather_indices("gather rows=1000 count=300 width=1");
  EXPECT_EQ(std::set<std::int64_t>(some.begin(), some.end()).size(), 300u);
  const std::vector<std::int64_t> again = gather_indices("gather rows=10 count=30 width=1");
  for (std::int64_t row = 0; row < 10; ++row) EXPECT_EQ(std::count(again.begin(), again.end(), row), 3);
  EXPECT_FALSE(std::equal(again.begin(), again.begin() + 10, again.begin() + 10)) << "no period";
}

TEST(GatherGenerate, IndicesStayInTheRangeThatTheModeGivesAMeaning) {
  for (const char* index : {"i64", "i32", "i16", "i8", "u8"}) {
    for (const int rows : {1, 100, 1000}) {
      const auto values = [&](const char* mode) {
        return gather_indices(std::string("gather count=500 width=1 rows=") + std::to_string(rows) + " index=" + index +
                              " mode=" + mode);
      };
      for (const char* mode : {"assume_valid", "trap"}) {
        for (const std::int64_t i : values(mode)) ASSERT_TRUE(i >= 0 && i < rows) << mode << " " << index << " " << i;
      }
      int missing = 0;
      for (const std::int64_t i : values("minus_one_is_zero")) {
        ASSERT_TRUE(i >= -1 && i < rows) << index << " " << i;
        missing += i == -1;
      }
      EXPECT_EQ(missing > 0, index != std::string("u8"));
      for (const std::int64_t i : values("wrap_negative")) ASSERT_TRUE(i >= -rows && i < rows) << index << " " << i;
    }
  }
}

TEST(GatherGenerate, TheModesThatCheckGetSomethingToCheck) {
  for (const char* mode : {"zero", "clamp", "report"}) {
    int below = 0;
    int above = 0;
    for (const std::int64_t i : gather_indices(std::string("gather rows=50 count=1000 width=1 mode=") + mode)) {
      below += i < 0;
      above += i >= 50;
    }
    EXPECT_GT(below, 10) << mode;
    EXPECT_GT(above, 10) << mode;
    EXPECT_LT(below + above, 500) << mode;
  }
}

// rows 0, 1, 2 of a source of three rows of two elements: 10 11, 20 21, 30 31.
template <class T>
struct Example {
  std::vector<T> source = {T{10}, T{11}, T{20}, T{21}, T{30}, T{31}};
  std::vector<T> out = std::vector<T>(8, T{99});
  std::int64_t report = -1;

  std::vector<T> run(GatherMode mode, std::vector<std::int64_t> index) {
    Gather p{.rows = 3, .count = static_cast<std::int64_t>(index.size()), .width = 2, .dtype = i32, .mode = mode};
    GatherArgs args;
    args.source = source.data();
    args.index = index.data();
    args.out = out.data();
    args.report = &report;
    Gather::family().reference(&p, &args);
    out.resize(2 * index.size());
    return out;
  }
};
using Ints = std::vector<std::int32_t>;

TEST(GatherReference, PicksRows) {
  EXPECT_EQ(Example<std::int32_t>().run(GatherMode::assume_valid, {2, 0, 2}), Ints({30, 31, 10, 11, 30, 31}));
}

// Two matrices of two rows of two elements, and a scale for each position of index.
TEST(GatherReference, PicksTheSameRowsOfEachMatrix) {
  const float source[] = {10, 11, 20, 21, 30, 31, 40, 41}, scale[] = {1, 2, 3};
  const std::int64_t index[] = {1, 0, 1};
  float out[12] = {};
  const Gather p{.rows = 2, .count = 3, .width = 2, .dtype = f32, .scale = f32, .outer = 2};
  GatherArgs args;
  args.source = source;
  args.index = index;
  args.scale = scale;
  args.out = out;
  Gather::family().reference(&p, &args);
  EXPECT_EQ(std::vector<float>(out, out + 12), std::vector<float>({20, 21, 20, 22, 60, 63, 40, 41, 60, 62, 120, 123}));
}

TEST(GatherOperands, OfSeveralMatricesHaveThreeExtents) {
  const AnyProblem p = problem("gather rows=9 count=4 width=5 outer=3 source_stride=8");
  const Layout source = p.family().operands[0].layout(p.data()), out = p.family().operands[3].layout(p.data());
  EXPECT_EQ(source.rank, 3);
  EXPECT_EQ(source.extents[0], 3);
  EXPECT_EQ(source.strides[0], 9 * 8);
  EXPECT_EQ(out.span_bytes(), 3 * 4 * 5 * 2);
  EXPECT_EQ(p.family().operands[1].layout(p.data()).span_bytes(), 4 * 8) << "one index for all";
  EXPECT_EQ(problem("gather rows=9 count=4 width=5").family().operands[0].layout(problem("gather rows=9").data()).rank,
            2);
}

TEST(GatherReference, EachModeGivesABadIndexItsMeaning) {
  const auto run = [](GatherMode mode, std::vector<std::int64_t> index) {
    return Example<std::int32_t>().run(mode, std::move(index));
  };
  EXPECT_EQ(run(GatherMode::minus_one_is_zero, {1, -1}), Ints({20, 21, 0, 0}));
  EXPECT_EQ(run(GatherMode::zero, {-5, 1, 3}), Ints({0, 0, 20, 21, 0, 0}));
  EXPECT_EQ(run(GatherMode::clamp, {-5, 1, 3}), Ints({10, 11, 20, 21, 30, 31}));
  EXPECT_EQ(run(GatherMode::wrap_negative, {-1, -3, 2}), Ints({30, 31, 10, 11, 30, 31}));
}

TEST(GatherReference, ReportHoldsTheLowestBadPosition) {
  Example<std::int32_t> good;
  good.run(GatherMode::report, {0, 1, 2});
  EXPECT_EQ(good.report, -1);
  Example<std::int32_t> bad;
  EXPECT_EQ(bad.run(GatherMode::report, {0, 3, -1}), Ints({10, 11, 0, 0, 0, 0}));
  EXPECT_EQ(bad.report, 1);
}

// Like the kernel, which is not launched for rows of width 0.
TEST(GatherReference, ReportStaysWhereWidthIsZero) {
  const std::int64_t index[] = {5, -1};
  std::int64_t report = -1;
  const Gather p{.rows = 3, .count = 2, .width = 0, .mode = GatherMode::report};
  GatherArgs args;
  args.index = index;
  args.report = &report;
  Gather::family().reference(&p, &args);
  EXPECT_EQ(report, -1);
}

TEST(GatherCheck, NoRowsAreRefusedWhereAnIndexMustNameOne) {
  const auto refusal = [](const std::string& text) {
    const AnyProblem p = problem(text);
    return p.family().check(p.data());
  };
  for (const char* mode : {"assume_valid", "clamp", "wrap_negative", "trap"}) {
    const std::string text = std::string("gather rows=0 mode=") + mode;
    EXPECT_NE(refusal(text + " count=1").find("rows=0 has no row to pick"), std::string::npos) << mode;
    EXPECT_EQ(refusal(text + " count=0"), "") << mode;
    EXPECT_EQ(refusal(text), "") << mode << ": count is open";
  }
  for (const char* mode : {"zero", "report", "minus_one_is_zero"})
    EXPECT_EQ(refusal(std::string("gather rows=0 count=1 mode=") + mode), "") << mode;
}

// The data contains the index `rows`, so that a kernel that accepts it as a row is caught.
TEST(GatherData, MeetsTheIndicesNextToTheGoodOnesOften) {
  for (const GatherMode mode : {GatherMode::zero, GatherMode::clamp, GatherMode::report, GatherMode::wrap_negative}) {
    const Gather p{.rows = 7, .count = 200, .mode = mode};
    std::vector<std::int64_t> index(200);
    Gather::family().generate(&p, Gather::family().default_args, 1, 0, 1, index.data());
    EXPECT_GE(std::count(index.begin(), index.end(), -1), 3);
    EXPECT_GE(std::count(index.begin(), index.end(), 7), mode == GatherMode::wrap_negative ? 0 : 3);
    EXPECT_GE(std::count_if(index.begin(), index.end(), [](std::int64_t i) { return i < -1 || i > 7; }), 3);
  }
}

TEST(GatherReference, StridesLeaveGapsUntouched) {
  const Ints source = {1, 2, 7, 3, 4, 7, 5, 6};
  const std::int64_t index[] = {2, 0};
  Ints out(8, 99);
  const Gather p{.rows = 3, .count = 2, .width = 2, .dtype = i32, .source_stride = 3, .out_stride = 4};
  GatherArgs args;
  args.source = source.data();
  args.index = index;
  args.out = out.data();
  Gather::family().reference(&p, &args);
  EXPECT_EQ(out, Ints({5, 6, 99, 99, 1, 2, 99, 99}));
}

TEST(GatherReference, AScaleIsOneMultiplicationAndOneRounding) {
  const std::uint16_t source[] = {0x3f80, 0x3f81, 0x7f7f, 0xff80};  // 1, 1 + 2^-7, the largest, -inf in bf16
  const std::int64_t index[] = {0};
  const float scale[] = {1.5f};
  std::uint16_t out[4] = {};
  const Gather p{.rows = 1, .count = 1, .width = 4, .dtype = bf16, .scale = f32};
  GatherArgs args;
  args.source = source;
  args.index = index;
  args.scale = scale;
  args.out = out;
  Gather::family().reference(&p, &args);
  EXPECT_EQ(out[0], 0x3fc0);
  EXPECT_EQ(out[1], 0x3fc2);  // 1.51171875 is a tie: to even
  EXPECT_EQ(out[2], 0x7f80);  // infinity
  EXPECT_EQ(out[3], 0xff80);
}

TEST(GatherTolerance, BitsUnlessTheyAreComputed) {
  EXPECT_TRUE(Gather::family().tolerance(problem("gather").data(), 0, 0).bitwise);
  EXPECT_FALSE(Gather::family().tolerance(problem("gather scale=f32").data(), 0, 0).bitwise);
}

TEST(GatherBytes, AreOneReadOneWriteAndTheIndex) {
  EXPECT_EQ(Gather::family().bytes(problem("gather rows=9 count=10 width=64 dtype=bf16 index=i32 scale=f32").data()),
            10 * (2 * 128 + 4 + 4));
  EXPECT_EQ(Gather::family().bytes(problem("gather rows=9 count=10 width=64 outer=3 index=i32").data()),
            10 * (3 * 2 * 128 + 4));
}

}  // namespace
}  // namespace quern
