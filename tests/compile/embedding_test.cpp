// embedding through NVRTC.
#include "base/text.h"
#include "compile/support.h"

namespace quern::test {
namespace {

using EmbeddingCompile = CompileTest;

TEST_F(EmbeddingCompile, EachFormOnEveryArchitecture) {
  std::vector<Job> jobs;
  for (const char* shape : {"dense=16 hash=modulus", "dim=13 dtype=bf16 mode=report", "pooling=sum sample_weights=f16",
                            "pooling=max padding=0", "hash=index capacity=1024 dense=16",
                            "tables=6 dim=16 dtype=bf16 scale=f32 table_dtype=f32,f16,bf16,e4m3,e5m2,i8"}) {
    for (const std::string& arch : kArchitectures) jobs.push_back({cat("embedding ", shape), arch});
  }
  expect_each_good(jobs);
}

TEST_F(EmbeddingCompile, EachScalingLengthsAndWideKeys) {
  std::vector<Job> jobs;
  for (const char* shape :
       {"scaling=tensor", "scaling=row dtype=bf16", "scaling=block128 dense=16 scale_mode=exact",
        "scaling=mx dense=16 hash=modulus", "scaling=mx dtype=bf16 pooling=mean scale_layout=blocked",
        "pooling=sum bags=lengths", "pooling=sum bags=lengths offsets=i32 pass=backward"})
    jobs.push_back({cat("embedding ", shape), kArchitectures[jobs.size() % kArchitectures.size()]});
  for (const std::string& arch : kArchitectures) jobs.push_back({"embedding rows=100000000 pass=backward", arch});
  expect_each_good(jobs);
}

// Architectures in turn.
TEST_F(EmbeddingCompile, EachModeAndPooling) {
  std::vector<Job> jobs;
  for (const char* mode : {"assume_valid", "minus_one_is_zero", "zero", "clamp", "wrap_negative", "trap", "report",
                           "first", "report_first"}) {
    for (const char* pooling : {"none", "sum", "mean", "max"}) {
      const std::string& arch = kArchitectures[(jobs.size() + jobs.size() / 4) % kArchitectures.size()];
      const char* const index = jobs.size() % 2 == 0 ? "i64" : "i32";
      jobs.push_back({cat("embedding mode=", mode, " pooling=", pooling, " index=", index), arch});
    }
  }
  expect_each_good(jobs);
}

TEST_F(EmbeddingCompile, EachTypeWithFewAndManyTables) {
  std::vector<Job> jobs;
  for (const char* table : {"f32", "f16", "bf16", "e4m3", "e5m2", "i8"}) {
    for (const int tables : {1, 8, 26, 64}) {
      const std::string& arch = kArchitectures[jobs.size() % kArchitectures.size()];
      const char* const type = jobs.size() % 3 == 0 ? "f32" : jobs.size() % 3 == 1 ? "f16" : "bf16";
      jobs.push_back({cat("embedding table_dtype=", table, " tables=", tables, " dtype=", type), arch});
    }
  }
  expect_each_good(jobs);
}

TEST_F(EmbeddingCompile, RowsMoveInWideAccesses) {
  for (const char* fields : {"dense=16 hash=modulus", "dim=128 dtype=bf16"}) {
    const Compiled compiled = compile(cat("embedding ", fields), "sm_90a");
    EXPECT_EQ(widths(compiled, 0, false), "8 16") << "ids and rows";
    EXPECT_EQ(widths(compiled, 0, true), "16");
  }
  EXPECT_EQ(widths(compile("embedding dim=16 dtype=bf16 table_dtype=i8", "sm_90a"), 0, true), "16");
}

}  // namespace
}  // namespace quern::test
