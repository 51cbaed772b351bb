// concat through NVRTC.
#include "base/text.h"
#include "compile/support.h"

namespace quern::test {
namespace {

using ConcatCompile = CompileTest;

TEST_F(ConcatCompile, EachFormOnEveryArchitecture) {
  std::vector<Job> jobs;
  for (const char* shape :
       {"widths=64,32", "widths=13,64,1,33", "widths=13,3 pass=backward", "widths=64,32 pass=backward",
        "layout=flat widths=33,7", "layout=flat widths=33,7 pass=backward",
        "widths=64,13 index=i32 source_rows=9,9 mode=zero"}) {
    for (const std::string& arch : kArchitectures) jobs.push_back({cat("concat ", shape), arch});
  }
  expect_each_good(jobs);
}

// Architectures in turn.
TEST_F(ConcatCompile, EachTypeWithFewAndManySources) {
  std::vector<Job> jobs;
  std::string many = "1";
  for (int i = 1; i < 64; ++i) many += cat(",", i % 9 == 0 ? 16 : 3);
  for (const char* type : {"u8", "bf16", "f32", "f64", "c128"}) {
    for (const std::string& widths : {std::string("5,16,3"), std::string("8,8,8,8,8,8,8,8,8"), many}) {
      const std::string& arch = kArchitectures[jobs.size() % kArchitectures.size()];
      jobs.push_back({cat("concat widths=", widths, " dtype=", type), arch});
    }
  }
  expect_each_good(jobs);
}

TEST_F(ConcatCompile, IndicesOfEachTypeAndMode) {
  std::vector<Job> jobs;
  for (const char* index : {"i32", "i64"}) {
    for (const char* mode : {"assume_valid", "minus_one_is_zero", "zero"}) {
      for (const char* layout : {"columns", "flat", "flat pass=backward", "columns pass=backward"}) {
        const std::string& arch = kArchitectures[(jobs.size() + jobs.size() / 4) % kArchitectures.size()];
        jobs.push_back(
            {cat("concat widths=64,33 source_rows=7,8 layout=", layout, " index=", index, " mode=", mode), arch});
      }
    }
  }
  expect_each_good(jobs);
}

TEST_F(ConcatCompile, AlignedRowsMoveInWideAccesses) {
  for (const char* pass : {"forward", "backward"}) {
    const Compiled wide = compile(cat("concat widths=64,32 pass=", pass), "sm_90a");
    EXPECT_EQ(widths(wide, 0, false), "16");
    EXPECT_EQ(widths(wide, 0, true), "16");
    EXPECT_EQ(widths(compile(cat("concat widths=64,32 pass=", pass), "sm_100a"), 0, true), "32");
  }
}

// The side of the matrix is wide in the ragged form too, and its ends are slots.
TEST_F(ConcatCompile, RaggedRowsMoveInWideAccessesOfTheMatrix) {
  const Compiled joined = compile("concat widths=13,64", "sm_90a"),
                 split = compile("concat widths=13,64 pass=backward", "sm_90a");
  EXPECT_EQ(widths(joined, 0, false), "2");
  EXPECT_EQ(widths(joined, 0, true), "2 16");
  EXPECT_EQ(widths(split, 0, false), "2 16");
  EXPECT_EQ(widths(split, 0, true), "2");
}

}  // namespace
}  // namespace quern::test
