// embedding's backward pass through NVRTC.
#include "base/text.h"
#include "compile/support.h"

namespace quern::test {
namespace {

using EmbeddingBackwardCompile = CompileTest;

TEST_F(EmbeddingBackwardCompile, EachOptimizerOnEveryArchitecture) {
  std::vector<Job> jobs;
  for (const char* optimizer : {"none", "sgd", "row_adagrad", "adam"}) {
    for (const char* table :
         {"dim=16", "dim=128 dtype=bf16", "dim=13 dtype=f16 table_dtype=f32", "dim=1000 tables=2"}) {
      for (const std::string& arch : kArchitectures)
        jobs.push_back({cat("embedding pass=backward dense=4 optimizer=", optimizer, " ", table), arch});
    }
  }
  expect_each_costly_good(jobs);
}

// Architectures in turn.
TEST_F(EmbeddingBackwardCompile, EachPoolingModeAndHash) {
  std::vector<Job> jobs;
  for (const char* pooling : {"pooling=sum", "pooling=mean", "pooling=mean padding=1", "pooling=max",
                              "pooling=sum sample_weights=bf16", "padding=-1"}) {
    for (const char* how : {"hash=modulus", "mode=zero", "mode=trap", "mode=report_first offsets=i32 index=i32"}) {
      const std::string& arch = kArchitectures[(jobs.size() + jobs.size() / 4) % kArchitectures.size()];
      jobs.push_back({cat("embedding pass=backward ", pooling, " ", how), arch});
    }
  }
  expect_each_costly_good(jobs);
}

TEST_F(EmbeddingBackwardCompile, MixedTypesAndRoundingByChance) {
  std::vector<Job> jobs;
  for (const char* optimizer : {"sgd", "row_adagrad", "adam"}) {
    for (const char* types : {"table_dtype=bf16", "tables=3 table_dtype=f16,bf16,f32 dim=16,8,40"}) {
      const std::string& arch = kArchitectures[jobs.size() % kArchitectures.size()];
      jobs.push_back({cat("embedding pass=backward rounding=stochastic optimizer=", optimizer, " ", types), arch});
    }
  }
  expect_each_costly_good(jobs);
}

// Gradients, rows and what is written of them; not words of the workspace.
TEST_F(EmbeddingBackwardCompile, AlignedRowsMoveInWideAccesses) {
  const Compiled update = compile("embedding batch=4096 pass=backward optimizer=sgd", "sm_90a");
  constexpr int kSum = 1;  // after the sort, which has one image of a closed problem
  EXPECT_GE(accesses(update, kSum, false, 16), 2);
  EXPECT_GE(accesses(update, kSum, true, 16), 1);
}

}  // namespace
}  // namespace quern::test
