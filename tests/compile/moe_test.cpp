// The families of mixtures of experts through NVRTC.
#include "base/text.h"
#include "compile/support.h"

namespace quern::test {
namespace {

using MoeCompile = CompileTest;

TEST_F(MoeCompile, AMapOfEachKindOnEveryArchitecture) {
  std::vector<Job> jobs;
  for (const char* map : {"map=ids global=512", "map=mask row_id_map=write"}) {
    for (const std::string& arch : kArchitectures)
      jobs.push_back({cat("moe_map experts=256 topk=8 align=16 ", map), arch});
  }
  expect_each_good(jobs);
}

// Architectures in turn.
TEST_F(MoeCompile, EachTypeOfMapWithFewAndManyExperts) {
  std::vector<Job> jobs;
  for (const char* map : {"map=ids", "index=i64 offset=i64", "map=mask", "map=mask index=i32", "map=bits tail=list"}) {
    for (const char* rest : {" experts=7 topk=2 align=16", " experts=1024 topk=1 empty=fill"})
      jobs.push_back({cat("moe_map ", map, rest), kArchitectures[jobs.size() % kArchitectures.size()]});
  }
  expect_each_good(jobs);
}

}  // namespace
}  // namespace quern::test
