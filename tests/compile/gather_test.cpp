#include "base/text.h"
#include "compile/support.h"

namespace quern::test {
namespace {

using GatherCompile = CompileTest;

const char* const kElementTypes[] = {"f64", "f32", "f16", "bf16", "e4m3", "e5m2", "e8m0",
                                     "i64", "i32", "i16", "i8",   "u8",   "c64",  "c128"};
const char* const kModes[] = {"assume_valid", "minus_one_is_zero", "zero", "clamp", "wrap_negative", "trap", "report"};
const char* const kIndices[] = {"i64", "i32", "i16", "i8", "u8"};

TEST_F(GatherCompile, EveryTypeOnEveryArchitecture) {
  std::vector<Job> jobs;
  for (const char* type : kElementTypes) {
    for (const std::string& arch : kArchitectures) jobs.push_back({cat("gather width=4096 dtype=", type), arch});
  }
  expect_each_good(jobs);
}

// Every pair of mode and index type, in both forms; architectures in turn.
TEST_F(GatherCompile, EveryModeWithEveryIndex) {
  std::vector<Job> jobs;
  for (const char* mode : kModes) {
    for (const char* index : kIndices) {
      const std::string rest = cat(" rows=9 mode=", mode, " index=", index);
      const std::size_t turn = jobs.size();
      jobs.push_back({cat("gather width=1000 dtype=bf16", rest), kArchitectures[turn / 2 % kArchitectures.size()]});
    }
  }
  expect_each_good(jobs);
}

// Every pair of a floating type and a scale's.
TEST_F(GatherCompile, EveryScaleOfEveryFloat) {
  std::vector<Job> jobs;
  for (const char* type : {"f64", "f32", "f16", "bf16", "e4m3", "e5m2"}) {
    for (const char* scale : {"f32", "f16", "bf16"})
      jobs.push_back({cat("gather width=4096 dtype=", type, " scale=", scale), kArchitectures[jobs.size() % 4]});
  }
  expect_each_good(jobs);
}

// Every vector that a row length can ask for.
TEST_F(GatherCompile, EveryVector) {
  std::vector<Job> jobs;
  for (const int width : {1, 2, 4, 8, 16, 32, 33, 36, 66, 68}) {
    for (const std::string& arch : kArchitectures) jobs.push_back({cat("gather dtype=u8 width=", width), arch});
  }
  const std::vector<Compiled> all = compile(part_of(jobs));
  expect_good(all);
  for (const Compiled& one : all) {
    const int unroll = parameter(one, 0, "unroll");
    if (parameter(one, 0, "form") != 0) continue;
    EXPECT_EQ(accesses(one, 0, true, parameter(one, 0, "vector")), unroll) << one.job.problem << " " << one.job.arch;
    EXPECT_EQ(widths(one, 0, true), std::to_string(parameter(one, 0, "vector"))) << one.job.problem;
  }
}

TEST_F(GatherCompile, TheDefaultMovesWholeVectorsOnly) {
  for (const std::string& arch : kArchitectures) {
    const Compiled one = compile("gather width=4096 dtype=bf16", arch);
    ASSERT_EQ(one.error, "");
    const int vector = arch == "sm_100a" ? 32 : 16;
    const int unroll = parameter(one, 0, "unroll");
    EXPECT_GE(unroll, 2);
    EXPECT_EQ(parameter(one, 0, "vector"), vector);
    EXPECT_EQ(accesses(one, 0, false, vector), unroll) << arch;
    EXPECT_EQ(accesses(one, 0, true, vector), unroll) << arch;
    EXPECT_EQ(widths(one, 0, true), std::to_string(vector)) << arch;
    EXPECT_EQ(widths(one, 0, false), cat("8 ", vector)) << arch << ": the index and the data";
  }
}

TEST_F(GatherCompile, TheRaggedFormStoresWholeWindowsAndElementsAtTheEnds) {
  for (const std::string& arch : kArchitectures) {
    const Compiled one = compile("gather width=4097 dtype=bf16 out_stride=4099", arch);
    ASSERT_EQ(one.error, "");
    EXPECT_EQ(one.result.images[0].variant, "ragged");
    const int unroll = parameter(one, 0, "unroll");
    EXPECT_EQ(accesses(one, 0, true, 16), unroll) << arch;
    EXPECT_EQ(accesses(one, 0, false, 16), 2 * unroll) << arch << ": two aligned reads a window";
    EXPECT_EQ(widths(one, 0, true), "2 16") << arch;
  }
}

TEST_F(GatherCompile, ShortRowsReadAndStoreWholeWindows) {
  for (const std::string& arch : kArchitectures) {
    const Compiled one = compile("gather width=42 dtype=bf16", arch);
    ASSERT_EQ(one.error, "");
    EXPECT_EQ(one.result.images[0].variant, "ragged");
    const int unroll = parameter(one, 0, "unroll");
    EXPECT_EQ(accesses(one, 0, true, 16), unroll) << arch;
    EXPECT_EQ(accesses(one, 0, false, 16), 4 * unroll) << arch << ": two aligned reads a row, of two rows";
  }
}

TEST_F(GatherCompile, AScaleLeavesTheVectorsWhole) {
  for (const char* type : {"f32", "bf16", "e4m3"}) {
    const Compiled one = compile(cat("gather width=4096 scale=f32 dtype=", type), "sm_90a");
    ASSERT_EQ(one.error, "");
    EXPECT_EQ(accesses(one, 0, true, 16), parameter(one, 0, "unroll")) << type;
    EXPECT_EQ(widths(one, 0, true), "16") << type;
  }
}

bool has(const Compiled& one, const char* words) { return one.result.ptx.at(0).find(words) != std::string::npos; }

// The loop over tiles spills nothing and reads and writes as before.
TEST_F(GatherCompile, PersistentKernelsMoveWholeVectorsToo) {
  std::vector<Job> jobs;
  for (const std::string& arch : kArchitectures) {
    for (const char* rest : {"width=4096 dtype=bf16", "width=4097 dtype=bf16", "width=4096 dtype=f16 scale=f32",
                             "width=4097 dtype=bf16 mode=report rows=9", "width=4096 dtype=bf16 outer=open",
                             "width=42 dtype=bf16 outer=open"})
      jobs.push_back({cat("gather ", rest), arch});
  }
  const std::vector<Compiled> all = compile_with_and_without("persistent=1", jobs);
  expect_good(all);
  for (std::size_t i = 0; i < all.size(); i += 2) {
    EXPECT_EQ(widths(all[i + 1], 0, true), widths(all[i], 0, true)) << all[i].job.problem;
    EXPECT_EQ(accesses(all[i + 1], 0, true, 16), accesses(all[i], 0, true, 16)) << all[i].job.problem;
    EXPECT_EQ(accesses(all[i + 1], 0, false, 16), accesses(all[i], 0, false, 16)) << all[i].job.problem;
  }
}

TEST_F(GatherCompile, TheHintsReachTheInstructions) {
  const Compiled hopper = compile("gather width=4096 dtype=bf16", "sm_90a", "load_once=1,store_stream=1");
  const Compiled blackwell = compile("gather width=4096 dtype=bf16", "sm_100a", "load_once=1,store_stream=1");
  const Compiled plain = compile("gather width=4096 dtype=bf16", "sm_90a", "load_once=0,store_stream=0");
  EXPECT_TRUE(has(hopper, "ld.global.nc.L1::no_allocate.v4.u32"));
  EXPECT_TRUE(has(hopper, "ld.global.nc.L1::evict_last.v2.u32"));
  EXPECT_TRUE(has(hopper, "st.global.cs.v4.u32"));
  EXPECT_TRUE(has(plain, "ld.global.v4.u32"));
  EXPECT_TRUE(has(plain, "st.global.v4.u32"));
  EXPECT_TRUE(has(blackwell, "ld.global.nc.L1::no_allocate.L2::evict_first.v8.b32"));
  EXPECT_TRUE(has(blackwell, "st.global.L1::no_allocate.L2::evict_first.v8.b32"));
}

}  // namespace
}  // namespace quern::test
