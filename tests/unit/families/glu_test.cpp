// glu's refusals, the memory of its operands, its variants, and the geometry of its launches.
#include "glu/glu.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "glu/operands.h"
#include "glu/space.h"
#include "plan/unit.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::span;
using test::summary;

std::string glu_refusal(const std::string& fields) { return test::refusal("glu " + fields); }

TEST(GluProblem, TakesEveryLayoutOfBothPasses) {
  for (const char* layout : {"halves", "swapped", "interleaved", "blocks", "split"}) {
    for (const char* pass : {"forward", "backward", "backward recompute=out bias_gradient=f32 scale=bf16"})
      EXPECT_EQ(glu_refusal(cat("width=96 layout=", layout, " pass=", pass)), "");
  }
  EXPECT_EQ(glu_refusal("width=0 rows=0"), "");
  EXPECT_EQ(glu_refusal("x_stride=1"), "") << "rows of an input may overlap";
}

TEST(GluProblem, RefusesABlockThatDoesNotDivideTheWidth) {
  EXPECT_TRUE(has(glu_refusal("width=100 layout=blocks"), "block must divide width"));
  EXPECT_TRUE(has(test::parse_error("glu layout=blocks block=0"), "block"));
  EXPECT_EQ(glu_refusal("width=100 layout=blocks block=25"), "");
  EXPECT_TRUE(has(glu_refusal("width=100 block=25"), "block is for layout=blocks"));
}

TEST(GluProblem, RefusesWhatAPassDoesNotHave) {
  EXPECT_TRUE(has(glu_refusal("bias_gradient=f32"), "bias_gradient is for pass=backward"));
  EXPECT_TRUE(has(glu_refusal("recompute=out"), "pass=forward writes out"));
  EXPECT_TRUE(has(glu_refusal("gradient_stride=9000"), "are for pass=backward"));
  EXPECT_TRUE(has(glu_refusal("x_gradient_stride=9000"), "are for pass=backward"));
  EXPECT_TRUE(has(glu_refusal("pass=backward out_stride=9000"), "out_stride is for pass=forward and recompute=out"));
  EXPECT_EQ(glu_refusal("pass=backward recompute=out out_stride=9000"), "");
}

TEST(GluProblem, RefusesRowsOfOutputsThatOverlap) {
  EXPECT_TRUE(has(glu_refusal("width=64 out_stride=63"), "out_stride is below width"));
  EXPECT_TRUE(has(glu_refusal("width=64 pass=backward x_gradient_stride=127"), "below a row of x_gradient"));
  EXPECT_EQ(glu_refusal("width=64 pass=backward x_gradient_stride=127 layout=split"), "");
}

TEST(GluProblem, RefusesWhatNoMemoryHolds) {
  EXPECT_TRUE(has(glu_refusal("rows=70368744177664 width=64"), "an operand may have 2^46 elements"));
  EXPECT_TRUE(has(glu_refusal("rows=1000000000 groups=65536 counts=i32 width=64"), "2^46 elements"));
  EXPECT_TRUE(has(glu_refusal("rows=4096 x_stride=70368744177664"), "2^46 elements"));
}

TEST(GluProblem, RefusesGroupsWithoutCountsAndOtherTypesInEagerRounding) {
  EXPECT_TRUE(has(glu_refusal("groups=4"), "groups is for counts"));
  EXPECT_EQ(glu_refusal("groups=4 counts=i32"), "");
  EXPECT_TRUE(has(glu_refusal("rounding=torch bias=f32"), "needs a bias and a scale of dtype"));
  EXPECT_TRUE(has(glu_refusal("rounding=torch scale=f32"), "needs a bias and a scale of dtype"));
  EXPECT_EQ(glu_refusal("rounding=torch scale=bf16 bias=bf16"), "");
  EXPECT_TRUE(has(glu_refusal("width=536870913"), "width is too large"));
}

// The kernel and the reference share the function, so no comparison of them notices a mistake in it.
TEST(GluPlaces, AreWhereTheLayoutPutsThem) {
  const auto places = [](const char* layout, std::int64_t column) {
    const AnyProblem p = test::problem(cat("glu width=12 layout=", layout));
    const glu::Columns at = glu::columns_of(*static_cast<const Glu*>(p.data()), column);
    const glu::Columns bias = glu::bias_columns(*static_cast<const Glu*>(p.data()), column);
    return cat(at.a, " ", at.g, " ", bias.a, " ", bias.g);
  };
  EXPECT_EQ(places("halves", 5), "5 17 5 17");
  EXPECT_EQ(places("swapped", 5), "17 5 17 5");
  EXPECT_EQ(places("interleaved", 5), "10 11 10 11");
  EXPECT_EQ(places("split", 5), "5 5 5 17");
  EXPECT_EQ(places("blocks block=4", 3), "3 7 3 7");
  EXPECT_EQ(places("blocks block=4", 5), "9 13 9 13");
  EXPECT_EQ(places("blocks block=3", 11), "20 23 20 23");
}

// What is quantized along columns asks the other way.
TEST(GluPlaces, OfColumnsAreTheInverse) {
  for (const char* layout :
       {"halves", "swapped", "interleaved", "blocks block=4", "blocks block=3", "blocks block=1"}) {
    const AnyProblem problem = test::problem(cat("glu width=12 layout=", layout));
    const auto& p = *static_cast<const Glu*>(problem.data());
    for (int column = 0; column < 24; ++column) {
      const glu::ElementPlace place = glu::element_of(p.layout, static_cast<int>(p.block), 12, column);
      const glu::Columns at = glu::columns_of(p, place.element);
      EXPECT_EQ(place.of_a ? at.a : at.g, column) << layout;
    }
  }
}

TEST(GluProblem, RefusesWhatAScalingDoesNotHave) {
  EXPECT_TRUE(has(glu_refusal("element=e5m2"), "are for a scaling"));
  EXPECT_TRUE(has(glu_refusal("scale_layout=blocked"), "are for a scaling"));
  EXPECT_TRUE(has(glu_refusal("policy=te mode=floor"), "are for a scaling"));
  EXPECT_TRUE(has(glu_refusal("scaling=mx mode=exact"), "mode=exact is for fp32 scales"));
  EXPECT_TRUE(has(glu_refusal("scaling=mx policy=te mode=floor"), "policy=te has mode=rceil only"));
  EXPECT_TRUE(has(glu_refusal("scaling=row policy=te"), "policy=te goes with scaling=mx"));
  EXPECT_TRUE(has(glu_refusal("scaling=block128 scale_layout=blocked"), "goes with scaling=mx"));
  EXPECT_TRUE(has(glu_refusal("scaling=tensor mode=floor"), "takes given_scale"));
  EXPECT_TRUE(has(glu_refusal("scaling=mx pass=backward layout=split"), "makes one output"));
  EXPECT_TRUE(has(glu_refusal("scaling=mx pass=backward scale=f32"), "goes with scaling=none"));
  EXPECT_TRUE(has(glu_refusal("width=48 scaling=mx pass=backward"), "width must be a multiple of 32"));
  EXPECT_TRUE(has(glu_refusal("width=96 scaling=block128 pass=backward"), "width must be a multiple of 128"));
  EXPECT_TRUE(has(glu_refusal("width=96 block=24 layout=blocks scaling=mx pass=backward"), "block must be a multiple"));
  EXPECT_EQ(glu_refusal("width=48 scaling=mx pass=backward layout=interleaved"), "");
  EXPECT_EQ(glu_refusal("width=48 scaling=row pass=backward"), "");
  EXPECT_EQ(glu_refusal("width=33 scaling=mx"), "") << "the last block of a row may be cut";
}

TEST(GluProblem, RefusesWhatColumnsDoNotHave) {
  EXPECT_TRUE(has(glu_refusal("direction=col"), "are for a scaling"));
  EXPECT_TRUE(has(glu_refusal("direction=both scaling=row"), "scaling=row goes with direction=row"));
  EXPECT_TRUE(has(glu_refusal("direction=both scaling=mx counts=i32"), "counts go with direction=row"));
  EXPECT_TRUE(has(glu_refusal("direction=col scaling=mx out_stride=5000"), "go with direction=row"));
  const std::string backward = "direction=both scaling=mx pass=backward ";
  EXPECT_TRUE(has(glu_refusal(backward + "recompute=out"), "recompute goes with direction=row"));
  EXPECT_TRUE(has(glu_refusal(backward + "scale=f32"), "goes with scaling=none"));
  EXPECT_TRUE(has(glu_refusal(backward + "bias_gradient=bf16"), "bias_gradient is f32"));
  EXPECT_TRUE(has(glu_refusal(backward + "layout=split"), "makes one output"));
  EXPECT_TRUE(has(glu_refusal(backward + "x_gradient_stride=9000"), "go with direction=row"));
  EXPECT_TRUE(has(glu_refusal("direction=col scaling=tensor width=536870912 pass=backward"), "fewer than 2^30"));
  EXPECT_EQ(glu_refusal("direction=col scaling=mx pass=backward width=33"), "") << "blocks lie across a and g";
  EXPECT_EQ(glu_refusal(backward + "bias_gradient=f32 bias=bf16 x_stride=8200 gradient_stride=4104"), "");
}

// Found in review: only direction=col and both had it.
TEST(GluProblem, QuantizesAlongRowsBesideABiasGradient) {
  for (const char* scaling : {"mx", "mx scale_layout=blocked", "tensor", "block128 mode=exact"}) {
    const std::string rows = cat("pass=backward bias_gradient=f32 scaling=", scaling);
    EXPECT_EQ(glu_refusal(rows), "");
    EXPECT_EQ(glu_refusal(rows + " layout=interleaved bias=bf16 x_stride=8200 gradient_stride=4104"), "");
    EXPECT_TRUE(has(glu_refusal(rows + " scale=f32"), "goes with scaling=none"));
    EXPECT_TRUE(has(glu_refusal(rows + " counts=i32"), "counts go with scaling=none where there is a bias_gradient"));
    EXPECT_TRUE(has(glu_refusal(rows + " recompute=out"), "recompute goes with scaling=none where there is"));
    EXPECT_TRUE(has(glu_refusal(rows + " x_gradient_stride=9000"), "go with scaling=none where there is"));
  }
  EXPECT_TRUE(has(glu_refusal("pass=backward bias_gradient=f32 scaling=row"), "scaling=row has no bias_gradient"));
  EXPECT_TRUE(has(glu_refusal("pass=backward bias_gradient=bf16 scaling=mx"), "bias_gradient is f32"));
  EXPECT_TRUE(has(glu_refusal("pass=backward bias_gradient=f32 scaling=mx layout=split"), "makes one output"));
  EXPECT_TRUE(
      has(glu_refusal("pass=backward bias_gradient=f32 scaling=mx width=48"), "width must be a multiple of 32"));
  EXPECT_TRUE(has(glu_refusal("pass=backward bias_gradient=f32 scaling=tensor width=536870912"), "fewer than 2^30"));
}

// The same as without it, and the workspace of the same sums with direction=both.
TEST(GluOperands, OfRowsBesideABiasGradient) {
  for (const char* scaling : {"mx", "mx scale_layout=blocked", "tensor", "block128"}) {
    const std::string rest = cat("rows=70 width=128 pass=backward scaling=", scaling), rows = "glu " + rest;
    const std::string sums = rows + " bias_gradient=f32", both = sums + " direction=both";
    for (const char* operand : {"x", "gradient", "x_gradient", "scales", "given_scale"})
      EXPECT_EQ(span(sums, operand), span(rows, operand)) << scaling << " " << operand;
    for (const char* none : {"out", "out_col", "x_gradient_col", "scales_col"})
      EXPECT_EQ(span(sums, none), 0) << scaling << " " << none;
    EXPECT_EQ(span(sums, "bias_gradient"), 256 * 4);
    EXPECT_EQ(span(sums, "workspace"), span(both, "workspace"));
    EXPECT_GT(span(sums, "workspace"), 0);
  }
}

TEST(GluVariants, OfRowsBesideABiasGradientAreTiles) {
  const std::string rest = "pass=backward scaling=mx bias_gradient=f32";
  EXPECT_EQ(summary("glu rows=16384 width=4096 " + rest), "tile:16:16 element:2:1");
  EXPECT_EQ(summary("glu width=4096 " + rest).substr(0, 6), "whole:");
  EXPECT_EQ(summary("glu rows=16384 width=4096 pass=backward scaling=mx").substr(0, 7), "vector:");
}

TEST(GluOperands, OfColumnsAreTransposed) {
  const std::string col = "glu rows=70 width=100 scaling=mx direction=col",
                    both = "glu rows=70 width=100 scaling=mx direction=both";
  EXPECT_EQ(span(col, "out"), 100 * 70);
  EXPECT_EQ(span(col, "scales"), 3 * 100) << "the last block has 6 rows";
  EXPECT_EQ(span(col, "out_col"), 0);
  EXPECT_EQ(span(both, "out"), 70 * 100);
  EXPECT_EQ(span(both, "scales"), 70 * 4);
  EXPECT_EQ(span(both, "out_col"), 100 * 70);
  EXPECT_EQ(span(both, "scales_col"), 3 * 100);
  const std::string backward = "glu rows=70 width=96 scaling=mx direction=both pass=backward bias_gradient=f32";
  EXPECT_EQ(span(backward, "out"), 0);
  EXPECT_EQ(span(backward, "x_gradient"), 70 * 192);
  EXPECT_EQ(span(backward, "x_gradient_col"), 192 * 70);
  EXPECT_EQ(span(backward, "scales_col"), 3 * 192);
  EXPECT_EQ(span(backward, "bias_gradient"), 192 * 4);
  EXPECT_EQ(span("glu rows=70 width=100 scaling=tensor direction=both", "scales_col"), 0);
}

TEST(GluVariants, OfColumnsAreTilesWhoseVectorsDivideAllOperands) {
  EXPECT_EQ(summary("glu rows=16384 width=4096 scaling=mx direction=both"), "tile:16:16 element:2:1");
  EXPECT_EQ(summary("glu rows=16384 width=4098 scaling=mx direction=both"), "tile:4:16 element:2:1");
  EXPECT_EQ(summary("glu rows=16384 width=4097 scaling=mx direction=both"), "tile:2:1");
  EXPECT_EQ(summary("glu rows=16384 width=4096 x_stride=8196 scaling=mx direction=both"), "tile:8:16 element:2:1");
  EXPECT_EQ(summary("glu rows=16384 width=4096 layout=blocks block=4 scaling=mx direction=both"),
            "tile:8:16 element:2:1");
}

// By asynchronous copies, and so many blocks to a multiprocessor.
TEST(GluVariants, OfColumnsCopyWholeTilesWhereThreeFit) {
  const std::string forward = "glu rows=16384 width=4096 scaling=mx direction=both ",
                    backward = forward + "pass=backward ";
  const auto copies = [](const std::string& text, const Target& target = {90, "a"}) {
    const Config config = variants_of(problem(text), target).front().config;
    return std::to_string(config[10]) + ":" + std::to_string(config[7]);
  };
  EXPECT_EQ(copies(forward), "1:3");
  EXPECT_EQ(copies(backward), "1:4") << "both gradients from one read";
  EXPECT_EQ(copies(backward + "bias_gradient=f32"), "1:3");
  EXPECT_EQ(copies(backward + "layout=interleaved"), "1:3");
  EXPECT_EQ(copies(forward, {100, "a"}), "1:3");
  EXPECT_EQ(copies(backward, {100, "a"}), "1:3") << "gelu would spill";
  EXPECT_EQ(copies(forward, {80, ""}).substr(0, 1), "0");
  EXPECT_EQ(copies(forward, {120, "a"}).substr(0, 1), "0");
  EXPECT_EQ(copies(forward + "layout=interleaved"), "0:4") << "read in two";
  EXPECT_EQ(copies(backward + "layout=blocks block=32").substr(0, 1), "0");
  EXPECT_EQ(copies(forward + "x_stride=8196").substr(0, 1), "0") << "of 8 bytes";
  EXPECT_EQ(copies("glu rows=16384 width=4104 scaling=tensor direction=both pass=backward").substr(0, 1), "0")
      << "three inputs of one gradient";
}

TEST(GluOperands, OfAScalingHaveEightBits) {
  const std::string mx = "glu rows=10 width=100 scaling=mx ";
  EXPECT_EQ(span(mx, "out"), 10 * 100);
  EXPECT_EQ(span(mx, "scales"), 10 * 4);
  EXPECT_EQ(span(mx, "given_scale"), 0);
  EXPECT_EQ(span(mx + "scale_layout=blocked", "scales"), 128 * 4);
  EXPECT_EQ(span("glu rows=10 width=100 scaling=block128", "scales"), 10 * 4);
  EXPECT_EQ(span("glu rows=10 width=100 scaling=row", "scales"), 10 * 4);
  EXPECT_EQ(span("glu rows=10 width=100 scaling=tensor", "scales"), 0);
  EXPECT_EQ(span("glu rows=10 width=100 scaling=tensor", "given_scale"), 4);
  const std::string backward = "glu rows=10 width=96 scaling=mx pass=backward recompute=out";
  EXPECT_EQ(span(backward, "x_gradient"), 10 * 192);
  EXPECT_EQ(span(backward, "out"), 10 * 96 * 2) << "it has the type of x";
  EXPECT_EQ(span(backward, "scales"), 10 * 6);
  EXPECT_EQ(span(backward + " scale_layout=blocked", "scales"), 128 * 8);
}

TEST(GluOperands, FollowFromTheLayoutAndThePass) {
  const std::string forward = "glu rows=10 width=6 groups=2 counts=i64 bias=f32 scale=bf16 ";
  EXPECT_EQ(span(forward, "x"), 20 * 12 * 2);
  EXPECT_EQ(span(forward, "gate"), 0);
  EXPECT_EQ(span(forward, "bias"), 12 * 4);
  EXPECT_EQ(span(forward, "scale"), 20 * 2);
  EXPECT_EQ(span(forward, "counts"), 2 * 8);
  EXPECT_EQ(span(forward, "out"), 20 * 6 * 2);
  for (const char* none : {"gradient", "x_gradient", "gate_gradient", "bias_gradient", "scale_gradient", "workspace"})
    EXPECT_EQ(span(forward, none), 0) << none;
  const std::string split = forward + "layout=split x_stride=7 ";
  EXPECT_EQ(span(split, "x"), (19 * 7 + 6) * 2);
  EXPECT_EQ(span(split, "gate"), (19 * 7 + 6) * 2);
  const std::string backward = split + "pass=backward bias_gradient=f32 gradient_stride=8 x_gradient_stride=9 ";
  EXPECT_EQ(span(backward, "gradient"), (19 * 8 + 6) * 2);
  EXPECT_EQ(span(backward, "x_gradient"), (19 * 9 + 6) * 2);
  EXPECT_EQ(span(backward, "gate_gradient"), (19 * 9 + 6) * 2);
  EXPECT_EQ(span(backward, "bias_gradient"), 12 * 4);
  EXPECT_EQ(span(backward, "scale_gradient"), 20 * 2);
  EXPECT_EQ(span(backward, "out"), 0);
  EXPECT_EQ(span(backward + "recompute=out", "out"), 20 * 6 * 2);
}

// Of columns: tiles, chunks, and a counter for each chunk and their sum; of rows: sums of segments, where there are
// several, and a counter for every 16 rows of a tile.
TEST(GluOperands, TheWorkspaceHasAWordForEachSumOnItsWay) {
  const auto words = [](const std::string& fields) { return span("glu pass=backward " + fields, "workspace") / 4; };
  EXPECT_EQ(words("rows=129 width=33 bias_gradient=f32"), 2 * 2 * 33 + 2 * 33 + 2 * 2);
  EXPECT_EQ(words("rows=0 width=33 bias_gradient=f32"), 2 * 33 + 2 * 33 + 2 * 2);
  EXPECT_EQ(words("rows=4097 width=32 bias_gradient=f32"), 33 * 2 * 32 + 2 * 2 * 32 + 3);
  EXPECT_EQ(words("rows=129 width=256 scale=f32"), 0);
  EXPECT_EQ(words("rows=129 width=257 scale=f32"), 2 * 129 + 2 * 8);
  EXPECT_EQ(words("rows=129 width=257"), 0);
}

TEST(GluVariants, OpenRowsOfWholeBlocksHaveTheImageOfClosedOnes) {
  const auto first_spec = [](const std::string& fields) {
    const AnyProblem p = test::problem("glu scaling=" + fields);
    Spec spec;
    test::step_of(p).specialize(p.data(), {90, "a"}, test::variants_of(p).front().config, spec);
    return spec_header(spec);
  };
  for (const char* rest : {"mx direction=both width=4096 ", "mx direction=col width=100 ",
                           "tensor direction=both width=4096 pass=backward ", "block128 direction=both width=256 ",
                           "mx direction=both width=4096 scale_layout=blocked pass=backward layout=swapped "})
    EXPECT_EQ(first_spec(cat(rest, "rows=open")), first_spec(cat(rest, "rows=1048576"))) << rest;
  EXPECT_EQ(summary("glu width=4096 scaling=mx direction=both"), "whole:16:16 tile:8:8 element:2:1");
  EXPECT_EQ(summary("glu width=100 scaling=mx direction=both"), "tile:8:8 element:2:1") << "no whole blocks";
}

TEST(GluVariants, ALaunchWithRowsOfWholeBlocksTakesTheirImage) {
  const auto fits = [](const char* fields, const char* rows) {
    const std::string text = std::string("glu width=256 direction=both ") + fields + " rows=";
    return test::variants_of(test::problem(text + "open")).at(0).fits(test::problem(text + rows).data());
  };
  EXPECT_TRUE(fits("scaling=mx", "64") && fits("scaling=mx", "0"));
  EXPECT_FALSE(fits("scaling=mx", "65"));
  EXPECT_FALSE(fits("scaling=mx groups=3", "31"));
  EXPECT_TRUE(fits("scaling=mx groups=4", "8")) << "of all groups";
  EXPECT_TRUE(fits("scaling=tensor", "32"));
  EXPECT_FALSE(fits("scaling=block128", "64"));
  EXPECT_TRUE(fits("scaling=block128", "128"));
}

TEST(GluVariants, ReadWithAHintWhereThereIsLittle) {
  const auto load_stream = [](const char* text) {
    return test::variants_of(test::problem(text)).front().config[glu::kLoadStream];
  };
  EXPECT_EQ(load_stream("glu rows=64 width=4096"), 1);
  EXPECT_EQ(load_stream("glu rows=1024 width=128 dtype=f32 pass=backward"), 1);
  EXPECT_EQ(load_stream("glu rows=2947 width=128 dtype=f32 pass=backward"), 0);
  EXPECT_EQ(load_stream("glu rows=4096 width=4096"), 0);
}

TEST(GluVariants, TakeVectorsThatDivideRowsAndThenAnyAddress) {
  EXPECT_EQ(summary("glu width=4096"), "vector:16:16 element:16:1");
  EXPECT_EQ(summary("glu width=4096 dtype=f32 pass=backward"), "vector:8:8 element:16:1");
  EXPECT_EQ(summary("glu rows=638 width=816 pass=backward"), "vector:8:8 element:16:1");
  EXPECT_EQ(summary("glu rows=3000 width=256 pass=backward"), "vector:8:8 element:16:1");
  EXPECT_EQ(summary("glu rows=2947 width=128 dtype=f32 pass=backward"), "vector:8:8 element:16:1");
  EXPECT_EQ(summary("glu width=4096 activation=gelu"), "vector:8:8 element:16:1") << "of code that is long";
  EXPECT_EQ(summary("glu width=4096 pass=backward scaling=mx"), "vector:16:16 element:16:1");
  EXPECT_EQ(summary("glu width=4096 layout=interleaved"), "vector:16:16 element:16:1") << "of which out has 8";
  EXPECT_EQ(summary("glu width=4096 bias=f32"), "vector:16:16 element:16:1") << "of the bias in two";
  EXPECT_EQ(summary("glu width=4096 bias=bf16 dtype=f32"), "vector:16:16 element:16:1");
  EXPECT_EQ(summary("glu width=1004"), "vector:8:8 element:16:1");
  EXPECT_EQ(summary("glu width=770"), "vector:4:4 element:16:1");
  EXPECT_EQ(summary("glu width=770 dtype=f32"), "vector:8:8 element:16:1");
  EXPECT_EQ(summary("glu width=1001"), "packed:16:16 element:16:1");
  EXPECT_EQ(summary("glu width=33 layout=swapped dtype=f16"), "packed:16:16 element:16:1");
  EXPECT_EQ(summary("glu rows=1000 width=1001"), "element:16:1") << "there are few";
  EXPECT_EQ(summary("glu rows=20000 width=33"), "packed:16:16 element:16:1") << "of which lanes would idle";
  for (const char* rest : {"bias=f32", "scale=f32", "counts=i32 groups=2", "layout=split", "layout=interleaved",
                           "pass=backward", "scaling=tensor", "x_stride=2003", "out_stride=1003"})
    EXPECT_EQ(summary(cat("glu width=1001 ", rest)).substr(0, 7), "element") << rest;
  EXPECT_EQ(summary("glu width=7"), "element:16:1") << "three rows in 16 bytes";
  EXPECT_EQ(summary("glu width=1001 dtype=f32"), "element:16:1");
  EXPECT_EQ(summary("glu width=96 layout=blocks block=12"), "vector:8:8 element:16:1");
  EXPECT_EQ(summary("glu width=64 x_stride=132"), "vector:8:8 element:16:1");
  EXPECT_EQ(summary("glu width=64 layout=interleaved x_stride=136"), "vector:16:16 element:16:1");
  EXPECT_EQ(summary("glu width=64 out_stride=65"), "element:16:1");
  EXPECT_EQ(summary("glu width=4096", {100, "a"}), "vector:32:32 element:16:1");
  EXPECT_EQ(summary("glu width=4096 pass=backward bias_gradient=f32", {100, "a"}), "vector:16:16 element:16:1")
      << "a lane has eight elements";
}

TEST(GluVariants, HaveNarrowAccessesWhereThereIsLittleToDo) {
  EXPECT_EQ(summary("glu rows=16 width=4096"), "vector:8:8 element:16:1");
  EXPECT_EQ(summary("glu rows=1600 width=4096"), "vector:16:16 element:16:1");
  EXPECT_EQ(summary("glu rows=16 width=4096 dtype=f32 scaling=block128"), "vector:16:16 element:16:1")
      << "of 8 bytes a block would have 64 lanes";
  EXPECT_EQ(summary("glu rows=16 width=4096 dtype=f32 layout=interleaved"), "vector:16:16 element:16:1")
      << "of 8 bytes there would be one element";
}

Launch glu_launch(const std::string& fields, std::size_t variant = 0) {
  const AnyProblem p = test::problem("glu " + fields);
  Launch launch;
  unsigned workspace = 0;  // only its address is used
  GluArgs args;
  args.workspace = &workspace;
  test::step_of(p).launch(p.data(), &args, generic_model(90), test::variants_of(p).at(variant).config, launch);
  return launch;
}

TEST(GluLaunch, HasAThreadForEachSlot) {
  const Launch wide = glu_launch("rows=4096 width=4096");
  EXPECT_EQ(wide.block[0], 128U);
  EXPECT_EQ(wide.grid[0], 4096U * 512 / 128);
  const Launch odd = glu_launch("rows=4096 width=4097", 1);
  EXPECT_EQ(odd.grid[0], 4096U * 32 * 33 / 128) << "33 warps' 128 elements";
  EXPECT_EQ(glu_launch("rows=4096 groups=3 counts=i32 width=4096").grid[0], 3U * 4096 * 512 / 128);
  EXPECT_TRUE(glu_launch("rows=0 width=4096").empty);
  EXPECT_TRUE(glu_launch("rows=4096 width=0").empty);
}

// 16572 rows of 11 took 1.8 times as long as torch.compile's kernel while each row had a warp.
TEST(GluLaunch, HasNoWarpOfItsOwnForANarrowRow) {
  EXPECT_EQ(glu_launch("rows=65536 width=33", 1).grid[0], 65536U * 33 / 8 / 128) << "eight elements a thread";
  EXPECT_EQ(glu_launch("rows=65536 width=33 dtype=f32").grid[0], 65536U * 33 / 4 / 128);
  EXPECT_EQ(glu_launch("rows=4096 width=33").grid[0], 4096U * 33 / 2 / 128) << "two, since there are few";
  EXPECT_EQ(glu_launch("rows=65536 width=11 pass=backward").grid[0], 65536U * 11 / 4 / 128);
  EXPECT_EQ(glu_launch("rows=65536 width=81 scaling=tensor").grid[0], 65536U * 81 / 8 / 128);
  EXPECT_EQ(glu_launch("rows=65536 width=81 pass=backward").grid[0], 65536U * 32 / 128) << "a third of the lanes idle";
  EXPECT_EQ(glu_launch("rows=65536 width=101", 1).grid[0], 65536U * 32 / 128) << "most lanes have something to do";
  EXPECT_EQ(glu_launch("rows=65536 width=33 scaling=mx").grid[0], 65536U * 32 / 128) << "a warp has both blocks of 32";
}

// Of many elements: parts are whole rows and whole windows, and what is left is the last one's.
TEST(GluLaunch, HasAThreadForEachWindowOfPackedRows) {
  EXPECT_EQ(glu_launch("rows=300001 width=11").grid[0], (300001U * 11 / 8 + 1 + 127) / 128);
  const auto parts = [](std::int64_t rows, std::int64_t width) {
    const AnyProblem p = test::problem(cat("glu rows=", rows, " width=", width));
    return glu::packed_slots(*static_cast<const Glu*>(p.data()));
  };
  for (const std::int64_t width : {9, 4097, 67108863}) {
    const std::int64_t rows = (std::int64_t{5} << 30) / width;
    const common::Slots slots = parts(rows, width);
    EXPECT_EQ(slots.per_row, width);
    EXPECT_EQ(slots.rows_of_part % 8, 0U);
    EXPECT_EQ(slots.of_part * std::int64_t{8}, slots.rows_of_part * width);
    EXPECT_LT(slots.rows_of_part * width, std::int64_t{1} << 31);
    EXPECT_EQ(slots.last_part, (rows * width - 1) / (slots.rows_of_part * width));
    EXPECT_EQ(slots.last_part * std::int64_t{slots.of_part} + slots.of_last, (rows * width + 7) / 8);
  }
  EXPECT_EQ(parts(3, 9).of_last, 4U);
  EXPECT_EQ(parts(3, 9).last_part, 0U);
}

TEST(GluLaunch, HasTwoElementsAThreadOfManyLongOddGradients) {
  EXPECT_EQ(glu_launch("rows=3000 width=1001 pass=backward").grid[0], 3000U * 16 * 32 / 128);
  EXPECT_EQ(glu_launch("rows=300 width=1001 pass=backward").grid[0], 300U * 8 * 32 / 128) << "of four: there are few";
  EXPECT_EQ(glu_launch("rows=65536 width=201 pass=backward").grid[0], 65536U * 2 * 32 / 128)
      << "of four: rows are short";
}

TEST(GluLaunch, HasThreadsForThePaddingOfBlockedScales) {
  EXPECT_EQ(glu_launch("rows=4000 width=4096 scaling=mx").grid[0], 4000U * 512 / 128);
  EXPECT_EQ(glu_launch("rows=4000 width=4096 scaling=mx scale_layout=blocked").grid[0], 4096U * 512 / 128);
  EXPECT_EQ(glu_launch("rows=4096 width=4000 scaling=mx scale_layout=blocked").grid[0], 4096U * 512 / 128)
      << "125 blocks of 32, then 3";
  EXPECT_EQ(glu_launch("rows=4096 width=2032 scaling=mx pass=backward layout=interleaved").grid[0], 4096U * 508 / 256)
      << "of four elements, two a thread";
}

TEST(GluLaunch, KeepsARowWithAScaleInSharedMemoryWhereItFits) {
  const Launch row = glu_launch("rows=300 width=4096 scaling=row");
  EXPECT_EQ(row.grid[0], 300U);
  EXPECT_EQ(row.block[0], 128U);
  EXPECT_EQ(row.shared_bytes, 128U + 2 * 4096);
  EXPECT_EQ(glu_launch("rows=30000 width=512 scaling=row").block[0], 64U) << "64 vectors";
  EXPECT_EQ(glu_launch("rows=300 width=14336 scaling=row").block[0], 256U);
  const Launch wide = glu_launch("rows=300 width=16384 scaling=row pass=backward");
  EXPECT_EQ(wide.block[0], 512U);
  EXPECT_EQ(wide.shared_bytes, 128U + 65536) << "of a and g";
  EXPECT_EQ(glu_launch("rows=300 width=16392 scaling=row pass=backward").shared_bytes, 128U) << "made again";
  EXPECT_EQ(glu_launch("rows=300 width=0 scaling=row").shared_bytes, 128U + 8) << "one slot that nothing is read for";
}

TEST(GluLaunch, HasABlockForEachTileOfSums) {
  const Launch tiles = glu_launch("rows=300 width=600 pass=backward bias_gradient=f32");
  EXPECT_EQ(tiles.block[0], 256U);
  EXPECT_EQ(tiles.grid[0], 9U);
  EXPECT_EQ(glu_launch("rows=0 width=600 pass=backward bias_gradient=f32").grid[0], 3U) << "zeros are written";
  EXPECT_FALSE(glu_launch("rows=0 width=600 pass=backward bias_gradient=f32").empty);
  EXPECT_FALSE(glu_launch("rows=9 width=0 pass=backward scale=f32").empty);
  EXPECT_TRUE(glu_launch("rows=0 width=0 pass=backward bias_gradient=f32").empty);
  EXPECT_EQ(glu_launch("rows=549755813888 width=32 pass=backward bias_gradient=f32").grid[0], ~0U)
      << "the caller refuses that";
}

}  // namespace
}  // namespace quern
