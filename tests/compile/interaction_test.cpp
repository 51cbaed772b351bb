// interaction through NVRTC.
#include "base/text.h"
#include "compile/support.h"

namespace quern::test {
namespace {

using InteractionCompile = CompileTest;

TEST_F(InteractionCompile, EachFormTypeAndPassOnEveryArchitecture) {
  std::vector<Job> jobs;
  for (const char* form : {"dense=128", "features=9 dim=127 dense=127 diagonal=1", "form=outer features=1 dim=432"}) {
    for (const char* type : {"f32", "bf16", "f16"}) {
      for (const char* pass : {"forward", "backward"}) {
        for (const std::string& arch : kArchitectures)
          jobs.push_back({cat("interaction ", form, " dtype=", type, " pass=", pass), arch});
      }
    }
  }
  expect_each_costly_good(jobs);
}

// Architectures in turn.
TEST_F(InteractionCompile, EachConfig) {
  std::vector<Job> jobs;
  const auto add = [&](const std::string& problem, const std::string& config) {
    jobs.push_back({cat("interaction ", problem), kArchitectures[jobs.size() % kArchitectures.size()], config});
  };
  for (const char* pass : {"", "pass=backward"}) {
    for (const char* unroll : {"unroll=1", "unroll=2", "unroll=4"}) {
      for (const char* band : {"band=16", "band=32"}) add(pass, cat(unroll, ",", band));
    }
    add(cat("features=40 diagonal=1 dense=40 ", pass), "");
  }
  for (const char* numbers : {"numbers=32", "numbers=128"}) add("dtype=f32", numbers);
  for (const char* unroll : {"unroll=1", "unroll=8"}) {
    add("form=outer features=1 dim=432", unroll);
    add("form=outer features=1 dim=432 pass=backward", unroll);
    add("form=upper features=1 dim=432", unroll);
  }
  for (const char* type : {"f32", "bf16"})
    for (const std::string& arch : kArchitectures)
      jobs.push_back({cat("interaction form=upper features=1 dim=432 pass=backward dtype=", type), arch, "unroll=4"});
  expect_each_good(jobs);
}

TEST_F(InteractionCompile, AlignedRowsMoveInWideAccesses) {
  const Compiled forward = compile("interaction", "sm_90a"), backward = compile("interaction pass=backward", "sm_90a");
  EXPECT_EQ(widths(forward, 0, false), "16");
  EXPECT_EQ(widths(forward, 0, true), "2 16") << "the ends of a row of pairs";
  EXPECT_EQ(widths(backward, 0, false), "2 16") << "gradients of pairs";
  EXPECT_EQ(widths(backward, 0, true), "16");
  EXPECT_EQ(accesses(backward, 0, true, 16), 8);
  const Compiled outer = compile("interaction form=outer features=1 dim=432 dtype=f32", "sm_90a");
  EXPECT_EQ(widths(outer, 0, true), "4 16");
}

// 6 tiles of 16 by 8 of a sample's 8 are at or below the diagonal; two operations each for 32 numbers, 4 times.
TEST_F(InteractionCompile, TensorCoresMultiplyWhatIsWanted) {
  const auto operations = [](const Compiled& compiled) {
    int count = 0;
    const std::string& ptx = compiled.result.ptx[0];
    for (std::size_t at = ptx.find("mma.sync"); at != std::string::npos; at = ptx.find("mma.sync", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(operations(compile("interaction", "sm_90a")), 6 * 2 * 4);
  EXPECT_EQ(operations(compile("interaction pass=backward", "sm_90a")), 2 * 8 * 2);
  EXPECT_EQ(operations(compile("interaction dtype=f32", "sm_90a")), 0);
}

}  // namespace
}  // namespace quern::test
