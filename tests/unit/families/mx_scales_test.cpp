// mx_scales' refusals, the memory of its operands, its geometry, and errors for old texts of mxfp8.
#include "mx_scales/mx_scales.h"

#include <gtest/gtest.h>

#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::parse_error;
using test::span;

std::string mx_scales_refusal(const std::string& fields) { return test::refusal("mx_scales " + fields); }

TEST(MxScalesProblem, WhatIsBlockedMustBeWholeBlocksUnlessATailIsAskedFor) {
  EXPECT_EQ(mx_scales_refusal("rows=33 cols=64"), "");
  EXPECT_EQ(mx_scales_refusal("rows=64 cols=33 direction=col"), "");
  EXPECT_EQ(mx_scales_refusal("rows=33 cols=33 block=square tail=pad"), "");
  EXPECT_TRUE(has(mx_scales_refusal("cols=33"), "tail=pad"));
  EXPECT_TRUE(has(mx_scales_refusal("rows=33 cols=64 direction=col"), "rows=33 is not a multiple of 32"));
  EXPECT_TRUE(has(mx_scales_refusal("rows=33 cols=64 block=square"), "rows=33"));
}

TEST(MxScalesProblem, GroupsAreRowsOfOneMatrix) {
  EXPECT_EQ(mx_scales_refusal("rows=256 cols=64 groups=3"), "");
  EXPECT_TRUE(has(mx_scales_refusal("rows=256 cols=64 groups=3 experts=2"), "experts=1"));
  EXPECT_TRUE(has(mx_scales_refusal("rows=256 cols=64 groups=2147483648"), "2^31"));
}

// A thread's index in a strip has 32 bits. Regression: longer columns were accepted, and their scales lost.
TEST(MxScalesProblem, ALineWhoseUnitsOverflowIsRefused) {
  EXPECT_TRUE(has(mx_scales_refusal("rows=34359738368 cols=32 direction=col"), "2^33"));
  EXPECT_EQ(mx_scales_refusal("rows=34359738368 cols=32"), "") << "its lines are short";
  EXPECT_TRUE(has(mx_scales_refusal("rows=1 cols=8589934592"), "2^33"));
  EXPECT_TRUE(has(mx_scales_refusal("rows=8589934560 cols=8589934560 direction=col"), "2^46"));
}

TEST(MxScalesOperands, AreWhatMxfp8Writes) {
  for (const char* rest : {"", "direction=col ", "block=square ", "block=square_spread direction=col ", "groups=3 ",
                           "groups=3 direction=col "}) {
    const std::string fields = " rows=96 cols=416 " + std::string(rest);
    const std::string there = "mx_scales" + fields, back = "mx_scales to=plain" + fields;
    EXPECT_EQ(span(there, "source"), span("mxfp8" + fields, "scales")) << rest;
    EXPECT_EQ(span(there, "out"), span("mxfp8" + fields + "scale_layout=blocked", "scales")) << rest;
    EXPECT_EQ(span(back, "source"), span(there, "out")) << rest;
    EXPECT_EQ(span(back, "out"), span(there, "source")) << rest;
  }
}

TEST(MxScalesOperands, PaddedAreWhatMxfp8Writes) {
  for (const char* rest :
       {"", "direction=col ", "block=square_spread ", "groups=3 ", "groups=3 direction=col ", "experts=3 "}) {
    const std::string fields = " scale_layout=padded rows=96 cols=416 " + std::string(rest);
    EXPECT_EQ(span("mx_scales" + fields, "source"), span("mxfp8" + fields, "scales")) << rest;
    EXPECT_EQ(span("mx_scales to=plain" + fields, "out"), span("mxfp8" + fields, "scales")) << rest;
  }
  EXPECT_TRUE(has(mx_scales_refusal("scale_layout=padded block=square"), "block=square_spread"));
  EXPECT_TRUE(has(parse_error("mx_scales scale_layout=blocked"), "padded"));
}

TEST(MxScalesProblem, OldTextsOfMxfp8AreToldTheNewOnes) {
  EXPECT_EQ(parse_error("mxfp8 op=to_blocked rows=64 cols=32 direction=col"),
            "mxfp8 no longer has op=to_blocked; write \"mx_scales to=blocked rows=64 cols=32 direction=col\"");
  EXPECT_TRUE(has(parse_error("mxfp8 rows=64 op=from_blocked"), "\"mx_scales to=plain rows=64\""));
}

}  // namespace
}  // namespace quern
