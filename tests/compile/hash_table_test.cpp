// hash_table through NVRTC.
#include "base/text.h"
#include "compile/support.h"

namespace quern::test {
namespace {

using HashTableCompile = CompileTest;

TEST_F(HashTableCompile, EachKernelOnEveryArchitecture) {
  std::vector<Job> jobs;
  for (const char* dtype : {"i64", "i32"}) {
    for (const char* op : {"op=build", "op=find capacity=1024"}) {
      for (const std::string& arch : kArchitectures) jobs.push_back({cat("hash_table ", op, " dtype=", dtype), arch});
    }
  }
  jobs.push_back({"hash_table op=find capacity=64", "sm_90a", "find.unroll=8"});
  jobs.push_back({"hash_table", "sm_90a", "write.unroll=8"});
  expect_each_good(jobs);
}

// An entry is one access of 16 bytes: of a look-up's four keys the first ones at once, then each one's further ones.
TEST_F(HashTableCompile, EntriesAreReadAndWrittenWhole) {
  const Compiled build = compile("hash_table", "sm_90a"), find = compile("hash_table op=find capacity=64", "sm_90a");
  EXPECT_EQ(build.result.images.size(), 3U) << "one of insert, two of write";
  EXPECT_EQ(accesses(build, 1, true, 16), 4);
  EXPECT_EQ(widths(build, 1, true), "4 16") << "and the zeros of the workspace";
  EXPECT_EQ(widths(build, 2, true), "4 8");
  EXPECT_EQ(accesses(find, 0, false, 16), 4 + 4);
  EXPECT_EQ(widths(find, 0, false), "8 16");
  EXPECT_EQ(widths(find, 1, false), "8");
}

}  // namespace
}  // namespace quern::test
