// scatter through NVRTC.
#include "base/text.h"
#include "compile/support.h"

namespace quern::test {
namespace {

using ScatterCompile = CompileTest;

// The kernels: with and without order, of rows that are copied and added.
const std::vector<std::string> kKernels = {"",
                                           "op=add",
                                           "op=add factor=alpha scale=f16",
                                           "order=given rest=zero",
                                           "op=add order=given",
                                           "op=add order=given rest=zero",
                                           "rest=zero indices=unique",
                                           "op=add rest=zero indices=unique scale=f16",
                                           "op=add pass=backward factor=alpha scale=f16",
                                           "op=add pass=backward scale=f32 scale_of=rows"};

TEST_F(ScatterCompile, EachKernelOnEveryArchitecture) {
  std::vector<Job> jobs;
  for (const std::string& kernel : kKernels) {
    for (const std::string& arch : kArchitectures) jobs.push_back({cat("scatter width=2048 ", kernel), arch});
  }
  expect_each_good(jobs);
}

// Architectures in turn.
TEST_F(ScatterCompile, EachKernelOfShortAndOddRowsAndOtherTypes) {
  std::vector<Job> jobs;
  for (const std::string& kernel : kKernels) {
    for (const char* rest :
         {" width=4097", " width=32 dtype=f32", " width=1 dtype=f16", " width=333 dtype=f32 mode=skip",
          " width=2052 mode=skip index=i32", " rows=64 count=64 width=7168"})
      jobs.push_back({cat("scatter ", kernel, rest), kArchitectures[jobs.size() % kArchitectures.size()]});
  }
  for (const char* rest :
       {"outer=open width=4096", "op=add outer=open width=4097", "op=add order=given outer=open",
        "rest=zero indices=unique outer=open width=4096", "op=add pass=backward scale=f32 outer=open",
        "op=add pass=backward scale=f32 scale_of=rows outer=open", "dtype=u8 width=77", "dtype=c128 width=3",
        "dtype=i64 order=given width=5", "op=add order=given scale=f32 width=1000",
        "op=add order=given scale=bf16 scale_of=rows", "op=add scale=bf16 scale_of=rows factor=alpha width=515"})
    jobs.push_back({cat("scatter ", rest), kArchitectures[jobs.size() % kArchitectures.size()]});
  expect_each_good(jobs);
}

// Accesses of 16 bytes, and four rows are read before the first is added.
TEST_F(ScatterCompile, RowsAreReadInWideAccesses) {
  const Compiled copy = compile("scatter width=7168", "sm_90a");
  EXPECT_EQ(accesses(copy, 0, false, 16), 2);
  EXPECT_EQ(accesses(copy, 0, true, 16), 2);
  const Compiled sums = compile("scatter op=add order=given rest=zero width=2048", "sm_90a");
  EXPECT_EQ(accesses(sums, 0, false, 16), 4);
  const Compiled unique = compile("scatter width=7168 rest=zero indices=unique", "sm_90a");
  EXPECT_EQ(accesses(unique, 0, false, 16), 4);
  EXPECT_EQ(accesses(unique, 0, true, 16), 4);
  const Compiled add = compile("scatter op=add width=5120", "sm_90a");
  EXPECT_EQ(accesses(add, 0, false, 16), 2 + 2) << "rows, and what out has";
  const Compiled gradients = compile("scatter op=add width=5120 pass=backward factor=alpha", "sm_90a");
  EXPECT_EQ(accesses(gradients, 0, false, 16), 4);
  EXPECT_EQ(accesses(gradients, 0, true, 16), 4);
  const Compiled dots = compile("scatter op=add width=5120 pass=backward scale=f32 scale_of=rows", "sm_90a");
  EXPECT_EQ(accesses(dots, 0, false, 16), 4 + 4) << "of gradient, and of source";
}

}  // namespace
}  // namespace quern::test
