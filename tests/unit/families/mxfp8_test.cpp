// mxfp8's refusals, its choice of variants and the memory of its operands.
#include "mxfp8/mxfp8.h"

#include <gtest/gtest.h>

#include "mxfp8/matrix.h"
#include "unit/plan/support.h"

namespace quern {
namespace {

AnyProblem parsed(const std::string& fields) {
  AnyProblem problem(Mxfp8::family());
  parse_fields(Mxfp8::family(), " " + fields, problem.data());
  return problem;
}

std::string refusal(const std::string& fields) { return Mxfp8::family().check(parsed(fields).data()); }

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST(Mxfp8Problem, WhatIsBlockedMustBeWholeBlocksUnlessATailIsAskedFor) {
  EXPECT_EQ(refusal("rows=33 cols=64"), "");
  EXPECT_EQ(refusal("rows=64 cols=33 direction=col"), "");
  EXPECT_EQ(refusal("rows=open cols=64 direction=both"), "");
  EXPECT_EQ(refusal("rows=33 cols=31 direction=both block=square tail=pad"), "");
  EXPECT_TRUE(has(refusal("rows=64 cols=33"), "cols=33 is no multiple of 32")) << refusal("rows=64 cols=33");
  EXPECT_TRUE(has(refusal("rows=33 cols=64 direction=col"), "rows=33 is no multiple of 32"));
  EXPECT_TRUE(has(refusal("rows=33 cols=64 direction=both"), "tail=pad"));
  EXPECT_TRUE(has(refusal("rows=33 cols=64 block=square"), "rows=33"));
  EXPECT_TRUE(has(refusal("rows=64 cols=33 direction=col block=square_spread"), "cols=33"));
}

TEST(Mxfp8Problem, APolicyHasItsModesAndASourceItsOutput) {
  for (const char* mode : {"floor", "ceil", "even"}) {
    EXPECT_EQ(refusal(std::string("mode=") + mode), "");
    EXPECT_TRUE(
        has(refusal(std::string("policy=te mode=") + mode), std::string("mode=") + mode + " goes with policy=ao"));
  }
  EXPECT_EQ(refusal("policy=te mode=rceil"), "");
  EXPECT_TRUE(has(refusal("source_order=rows out_order=cols"), "out_order=rows"));
  EXPECT_TRUE(has(refusal("cols=64 source_stride=63"), "source_stride"));
  EXPECT_EQ(refusal("cols=64 source_stride=64"), "");
  EXPECT_TRUE(has(refusal("cols=1073741824"), "2^30"));
}

// Products that wrapped around were taken for small problems.
TEST(Mxfp8Problem, WhatNoMemoryHoldsIsRefused) {
  EXPECT_EQ(refusal("rows=1073741824 cols=32"), "");
  for (const char* fields :
       {"rows=1048576 cols=32 experts=17592186044417", "rows=262144 cols=32 experts=70368744177664",
        "rows=128 cols=128 experts=70368744177664 direction=col",
        "rows=0 cols=65536 experts=70368744177664 direction=col",
        "rows=70368744177664 cols=65536 experts=0 scale_layout=blocked",
        "rows=1048576 cols=64 source_stride=70368744177664", "rows=70368744177664 cols=32"})
    EXPECT_TRUE(has(refusal(fields), "too large")) << fields << ": " << refusal(fields);
}

std::string summary(const std::string& fields, const Target& target = {90, "a"}) {
  std::string all;
  for (const Variant& v : test::variants_of(parsed(fields), target))
    all += (all.empty() ? "" : " ") + std::string(v.name) + ":" + std::to_string(v.config[1]) + ":" +
           std::to_string(v.alignment);
  return all;
}

TEST(Mxfp8Variants, FollowDirectionLineLengthAndElement) {
  EXPECT_EQ(summary("cols=4096"), "stream:16:16 element:2:1");
  EXPECT_EQ(summary("cols=4096", {100, "a"}), "stream:32:32 element:2:1");
  EXPECT_EQ(summary("cols=4096 dtype=f32"), "stream:16:16 element:4:1");
  EXPECT_EQ(summary("cols=44 tail=pad"), "stream:8:8 element:2:1");
  EXPECT_EQ(summary("cols=33 tail=pad"), "stream:2:1");
  EXPECT_EQ(summary("cols=64 source_stride=66"), "stream:4:4 element:2:1");
  EXPECT_EQ(summary("cols=4096 block=square"), "tile:8:8 element:2:1");
  EXPECT_EQ(summary("cols=4096 direction=col"), "tile:8:16 element:2:1");
  EXPECT_EQ(summary("cols=4096 direction=col out_order=cols"), "tile:8:8 element:2:1");
  EXPECT_EQ(summary("cols=4096 direction=col rows=993 tail=pad"), "tile:4:4 element:2:1");
  EXPECT_EQ(summary("cols=4096 direction=both dtype=f32"), "tile:8:16 element:4:1");
  EXPECT_EQ(summary("cols=4096 direction=col source_order=rows"), "tile:8:8 element:2:1") << "nothing is transposed";
  EXPECT_EQ(summary("cols=100 direction=col source_order=rows"), "tile:4:4 element:2:1") << "a cut band";
  EXPECT_EQ(summary("cols=4096 source_order=rows"), "tile:2:1") << "any number of rows, which lie along memory";
  EXPECT_EQ(summary("cols=4096 source_order=rows rows=64"), "tile:8:16 element:2:1");
  EXPECT_EQ(summary("cols=4096 direction=col source_order=rows scale_layout=blocked"), "stream:16:16 element:2:1");
}

// Bytes of an operand.
std::int64_t span(const std::string& fields, int operand) {
  return Mxfp8::family().operands[operand].layout(parsed(fields).data()).span_bytes();
}

TEST(Mxfp8Operands, HaveTheSizesOfTheirLayouts) {
  const std::string row = "rows=96 cols=416 experts=3";
  EXPECT_EQ(span(row, 0), 3 * 96 * 416 * 2);
  EXPECT_EQ(span(row, 1), 3 * 96 * 416);
  EXPECT_EQ(span(row, 2), 3 * 96 * 13);
  EXPECT_EQ(span(row, 3), 0) << "of direction both";
  EXPECT_EQ(span(row + " direction=col", 2), 3 * 3 * 416);
  EXPECT_EQ(span(row + " direction=both", 2), 3 * 96 * 13);
  EXPECT_EQ(span(row + " direction=both", 4), 3 * 3 * 416);
  EXPECT_EQ(span(row + " block=square direction=both", 2), 3 * 3 * 13);
  EXPECT_EQ(span(row + " block=square direction=both", 4), 3 * 3 * 13);
  EXPECT_EQ(span(row + " block=square_spread", 2), 3 * 96 * 13);
  EXPECT_EQ(span(row + " scale_layout=blocked", 2), 3 * 128 * 16);
  EXPECT_EQ(span(row + " scale_layout=blocked direction=col", 2), 3 * 512 * 4);
  EXPECT_EQ(span("rows=993 cols=512 direction=col tail=pad", 2), 32 * 512);
  EXPECT_EQ(span("rows=96 cols=416 source_stride=424", 0), (95 * 424 + 416) * 2);
}

TEST(Mxfp8Operands, AreWhatMustMove) {
  const std::int64_t elements = 3 * 96 * 416;
  const auto moved = [](const std::string& fields) { return Mxfp8::family().bytes(parsed(fields).data()); };
  EXPECT_EQ(moved("rows=96 cols=416 experts=3"), 3 * elements + elements / 32);
  EXPECT_EQ(moved("rows=96 cols=416 experts=3 direction=both dtype=f32"), 6 * elements + elements / 16);
  EXPECT_EQ(moved("rows=96 cols=416 experts=3 direction=col block=square"), 3 * elements + elements / 1024);
}

// What is compared with kernels must itself meet blocks of every kind.
TEST(Mxfp8Data, HasBlocksOfEverySizeAndSomeThatAreNotFinite) {
  Mxfp8 problem;
  problem.rows = 1024;
  problem.cols = 1024;
  problem.dtype = f32;
  problem.block = Mxfp8Block::square;
  std::vector<float> source(1024 * 1024);
  mxfp8::generate_source(problem, 7, source.data());
  std::vector<unsigned char> scales(1024), out(source.size());
  Mxfp8Args args;
  args.source = source.data();
  args.out = out.data();
  args.scales = scales.data();
  mxfp8::reference(problem, args);
  const auto count = [&](auto test) { return std::count_if(scales.begin(), scales.end(), test); };
  EXPECT_GT(count([](int s) { return s == 255; }), 20);
  EXPECT_GT(count([](int s) { return s == 0; }), 5);
  EXPECT_GT(count([](int s) { return s > 0 && s < 255; }), 700);
}

}  // namespace
}  // namespace quern
