// mx_scales' refusals, the memory of its operands, its geometry, and what old texts of mxfp8 are told.
#include "mx_scales/mx_scales.h"

#include <gtest/gtest.h>

#include "mxfp8/mxfp8.h"
#include "unit/plan/support.h"

namespace quern {
namespace {

using test::problem;

std::string refusal(const std::string& fields) {
  const AnyProblem p = problem("mx_scales " + fields);
  return MxScales::family().check(p.data());
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

std::int64_t span(const std::string& text, std::string_view operand) {
  const AnyProblem p = problem(text);
  for (const Operand& each : p.family().operands) {
    if (each.name == operand) return each.layout(p.data()).span_bytes();
  }
  return -1;
}

std::string error_of(const std::string& text) {
  try {
    problem(text);
  } catch (const Error& error) {
    return error.sentence;
  }
  return "";
}

TEST(MxScalesProblem, WhatIsBlockedMustBeWholeBlocksUnlessATailIsAskedFor) {
  EXPECT_EQ(refusal("rows=33 cols=64"), "");
  EXPECT_EQ(refusal("rows=64 cols=33 direction=col"), "");
  EXPECT_EQ(refusal("rows=33 cols=33 block=square tail=pad"), "");
  EXPECT_TRUE(has(refusal("cols=33"), "tail=pad"));
  EXPECT_TRUE(has(refusal("rows=33 cols=64 direction=col"), "rows=33 is no multiple of 32"));
  EXPECT_TRUE(has(refusal("rows=33 cols=64 block=square"), "rows=33"));
}

TEST(MxScalesProblem, GroupsAreRowsOfOneMatrix) {
  EXPECT_EQ(refusal("rows=256 cols=64 groups=3"), "");
  EXPECT_TRUE(has(refusal("rows=256 cols=64 groups=3 experts=2"), "experts=1"));
  EXPECT_TRUE(has(refusal("rows=256 cols=64 groups=2147483648"), "2^31"));
}

// A thread's place in a strip has 32 bits. Longer columns were accepted, and their scales lost.
TEST(MxScalesProblem, ALineWhoseUnitsOverflowIsRefused) {
  EXPECT_TRUE(has(refusal("rows=34359738368 cols=32 direction=col"), "2^33"));
  EXPECT_EQ(refusal("rows=34359738368 cols=32"), "") << "its lines are short";
  EXPECT_TRUE(has(refusal("rows=1 cols=8589934592"), "2^33"));
  EXPECT_TRUE(has(refusal("rows=8589934560 cols=8589934560 direction=col"), "2^46"));
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

TEST(MxScalesProblem, OldTextsOfMxfp8AreToldTheNewOnes) {
  EXPECT_EQ(error_of("mxfp8 op=to_blocked rows=64 cols=32 direction=col"),
            "mxfp8 has no op=to_blocked any more; write \"mx_scales to=blocked rows=64 cols=32 direction=col\"");
  EXPECT_TRUE(has(error_of("mxfp8 rows=64 op=from_blocked"), "\"mx_scales to=plain rows=64\""));
}

}  // namespace
}  // namespace quern
