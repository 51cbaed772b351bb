// The families of mixtures of experts through NVRTC.
#include "base/text.h"
#include "compile/support.h"

namespace quern::test {
namespace {

using MoeCompile = CompileTest;

TEST_F(MoeCompile, AMapOfEachKindOnEveryArchitecture) {
  std::vector<Job> jobs;
  for (const char* map :
       {"topk=8 map=ids global=512", "topk=8 map=mask row_id_map=write", "topk=1 map=counts ranks=16 empty=fill"}) {
    for (const std::string& arch : kArchitectures) jobs.push_back({cat("moe_map experts=256 align=16 ", map), arch});
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
  for (const char* rest : {"experts=1 ranks=4096 index=i64", "experts=1024 ranks=4 align=8 tail=list offset=i64"})
    jobs.push_back({cat("moe_map map=counts topk=1 ", rest), kArchitectures[jobs.size() % kArchitectures.size()]});
  expect_each_good(jobs);
}

// Four loads of 16 bytes for a mask, in both readings, and 16 of the blocks' counts. Ranges of rows are written in 16
// bytes too.
TEST_F(MoeCompile, AMapIsReadInWideAccessesAndItsRangesWritten) {
  const Compiled mask = compile("moe_map map=mask experts=128 topk=6 tokens=16384", "sm_90a");
  EXPECT_EQ(accesses(mask, 0, false, 16), 2 * 4);
  EXPECT_EQ(widths(mask, 1, false).substr(0, 1), "1") << "at any address";
  EXPECT_GE(accesses(mask, 0, true, 16), 2);
  EXPECT_EQ(accesses(compile("moe_map experts=128 topk=8 tokens=120", "sm_90a"), 0, false, 4), 2 * 2)
      << "two routes, in both readings";
}

// The forms of the kernel that moves rows, with and without probabilities.
const std::vector<std::string> kForms = {"moe_permute probs=f32",       "moe_permute pass=backward probs=f32",
                                         "moe_unpermute probs=f32",     "moe_unpermute probs=bf16 residual=add",
                                         "moe_unpermute pass=backward", "moe_unpermute pass=backward probs=f32"};
const std::vector<std::string> kFactorForms = {"moe_permute scale=f32", "moe_permute scale=f32 scale_of=routes",
                                               "moe_permute scale=f32 pass=backward"};
const std::vector<std::string> kReorders = {"chunk_sort probs=f32", "chunk_sort pass=backward index=i64"};

TEST_F(MoeCompile, EachFormThatMovesRowsOnEveryArchitecture) {
  std::vector<Job> jobs;
  for (const std::string& form : kForms) {
    for (const std::string& arch : kArchitectures)
      jobs.push_back({cat(form, " experts=256 hidden=7168 topk=8 align=16"), arch});
  }
  for (const std::string& form : kFactorForms) {
    for (const std::string& arch : kArchitectures)
      jobs.push_back({cat(form, " experts=256 hidden=7168 topk=8 align=16"), arch});
  }
  for (const std::string& form : kReorders) {
    for (const std::string& arch : kArchitectures) jobs.push_back({cat(form, " hidden=7168"), arch});
  }
  expect_each_good(jobs);
}

TEST_F(MoeCompile, ASortOfIndicesOnEveryArchitecture) {
  std::vector<Job> jobs;
  for (const std::string& arch : kArchitectures) jobs.push_back({"index_sort rows=8192 count=65536", arch});
  jobs.push_back({"index_sort index=i32", "sm_90a"});
  expect_each_good(jobs);
}

// Architectures in turn.
TEST_F(MoeCompile, EachFormWithFewAndManyRoutesInShortAndOddRows) {
  std::vector<Job> jobs;
  for (const std::string& form : kForms) {
    for (const char* rest : {" tokens=512 hidden=4096 topk=2", " hidden=4097 topk=6", " hidden=32 topk=1 dtype=f32",
                             " hidden=2056 topk=33 dtype=f16", " hidden=7168 topk=12 align=128 tail=list"})
      jobs.push_back({cat(form, rest), kArchitectures[jobs.size() % kArchitectures.size()]});
  }
  for (const char* rest : {"dtype=u8", "dtype=e4m3 scaling=block128 align=128", "dtype=e4m3 scaling=mx probs=f32"})
    jobs.push_back({cat("moe_permute hidden=7168 topk=8 ", rest), "sm_90a"});
  for (const std::string& form : kForms) {
    if (form.find("probs=") != std::string::npos)
      jobs.push_back({cat(form, " prob_layout=experts experts=256 hidden=7168 topk=8 align=16"),
                      kArchitectures[jobs.size() % kArchitectures.size()]});
  }
  for (const char* rest :
       {"scaling=mx", "scaling=row mode=exact align=16 probs=f32", "scaling=row",
        "scaling=mx scale_layout=blocked align=128 probs=f32 dtype=f32", "scaling=block128 mode=exact", ""})
    jobs.push_back({cat("moe_permute hidden=7168 topk=8 element=e4m3 ", rest),
                    kArchitectures[jobs.size() % kArchitectures.size()]});
  for (const char* rest : {"hidden=4097", "hidden=32 dtype=f32", "hidden=7168 dtype=e4m3 scaling=mx"}) {
    for (const std::string& form : kReorders)
      jobs.push_back({cat(form, " ", rest), kArchitectures[jobs.size() % kArchitectures.size()]});
  }
  for (const std::string& form : kFactorForms) {
    for (const char* rest : {" hidden=4097", " hidden=32 topk=1 dtype=f32", " hidden=2052 topk=9 probs=f32 dtype=f16"})
      jobs.push_back({cat(form, rest), kArchitectures[jobs.size() % kArchitectures.size()]});
  }
  for (const char* rest : {"scaling=mx scale_of=routes", "scaling=row", "scaling=mx scale_layout=blocked align=128"})
    jobs.push_back({cat("moe_permute hidden=7168 topk=8 scale=f32 element=e4m3 ", rest),
                    kArchitectures[jobs.size() % kArchitectures.size()]});
  expect_each_good(jobs);
}

// The defaults of few tokens differ from those of any number: sums that look all rows up first, groups that clear much
// padding at once.
TEST_F(MoeCompile, SumsAndMovesOfFewTokens) {
  std::vector<Job> jobs;
  for (const std::string& form : kForms) {
    if (form == "moe_unpermute pass=backward probs=f32") continue;  // products of rows, whose defaults do not
    for (const char* rest : {" tokens=40 hidden=3136 topk=14 experts=182", " tokens=12 hidden=129 topk=9 align=128"})
      jobs.push_back({cat(form, rest), kArchitectures[jobs.size() % kArchitectures.size()]});
  }
  for (const std::string& arch : kArchitectures) jobs.push_back({"moe_unpermute tokens=40 hidden=3136 topk=14", arch});
  expect_each_good(jobs);
}

// ptxas moves no read behind a branch that it does not know to be false: one is after the rows of a turn, and in a
// small sum of many rows one after their numbers.
TEST_F(MoeCompile, RowsOfSmallSumsAreLookedUpBeforeTheFirstIsRead) {
  const auto branches = [&](const std::string& problem) {
    const std::string ptx = compile(problem, "sm_90a").result.ptx.at(0);
    std::size_t count = 0;
    for (std::size_t at = ptx.find("trap;"); at != std::string::npos; at = ptx.find("trap;", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(branches("moe_unpermute tokens=40 hidden=3136 experts=182 topk=14"), 2U);
  EXPECT_EQ(branches("moe_unpermute tokens=4724 hidden=320 experts=9 topk=11"), 1U) << "others hide the wait";
  EXPECT_EQ(branches("moe_unpermute tokens=40 hidden=3136 experts=182 topk=4"), 1U);
}

// With room for more threads ptxas 12.9 spilled 16 bytes of fourteen rows on sm_100a.
TEST_F(MoeCompile, RowsThatAreLookedUpFirstHaveTheRegistersOfSmallBlocks) {
  const Compiled sum = compile("moe_unpermute tokens=40 hidden=3136 experts=182 topk=14", "sm_100a");
  EXPECT_NE(sum.result.ptx.at(0).find(".maxntid 128"), std::string::npos);
}

// Accesses of 16 bytes: of a token's rows all loads at once, and two each for the numbers and the factors of 8 rows.
TEST_F(MoeCompile, RowsAndTheirNumbersAreReadInWideAccesses) {
  const Compiled combine = compile("moe_unpermute probs=f32 hidden=7168 topk=8", "sm_90a");
  EXPECT_EQ(accesses(combine, 0, false, 16), 8 + 2 + 2);
  EXPECT_EQ(widths(combine, 0, false), "16");
  EXPECT_EQ(accesses(combine, 0, true, 16), 1);
  const Compiled dispatch = compile("moe_permute hidden=7168 topk=8", "sm_90a");
  EXPECT_EQ(accesses(dispatch, 0, false, 16), 2 + 2) << "read once";
  EXPECT_EQ(accesses(dispatch, 0, true, 16), 2 * 8) << "written for each route";
  const Compiled quantized = compile("moe_permute hidden=7168 topk=8 element=e4m3 scaling=mx", "sm_90a");
  EXPECT_EQ(accesses(quantized, 0, false, 16), 4 + 2) << "read once";
  EXPECT_EQ(accesses(quantized, 0, true, 8), 4 * 8) << "half of what was read, for each route";
  EXPECT_EQ(accesses(quantized, 0, true, 4), 8) << "four scales at once, for each route";
  EXPECT_EQ(accesses(quantized, 0, true, 1), 0);
  for (const char* blocks : {"hidden=7168", "hidden=7200"}) {
    const Compiled blocked =
        compile(cat("moe_permute topk=8 align=128 element=e4m3 scaling=mx scale_layout=blocked ", blocks), "sm_90a");
    EXPECT_EQ(accesses(blocked, 0, true, 16), 4) << "whole atoms";
    EXPECT_EQ(accesses(blocked, 0, true, 1), 0);
    EXPECT_LE(blocked.result.images.at(0).resources.registers, 65536 / (2 * 512))
        << "two blocks of 512 threads are co-resident";
  }
  const Compiled row = compile("moe_permute hidden=7168 topk=8 element=e4m3 scaling=row", "sm_90a");
  EXPECT_EQ(accesses(row, 0, false, 16), 3 * 4 + 2 * 2) << "kept, or read twice; rows' numbers for both";
  EXPECT_EQ(accesses(row, 0, true, 8), 2 * 4 * 8) << "half of what was read, for each route";
  const Compiled odd = compile("moe_permute hidden=7200 topk=8 element=e4m3 scaling=mx", "sm_90a");
  EXPECT_EQ(accesses(odd, 0, true, 1), 8) << "225 scales of a row: its first may be at any address";
  // Rows at any address: two blocks of each column are read, and a column is written as a window.
  const Compiled misaligned = compile("moe_permute hidden=1283 topk=8", "sm_90a");
  EXPECT_EQ(accesses(misaligned, 0, false, 16), 2 * 2) << "read once";
  EXPECT_EQ(accesses(misaligned, 0, true, 16), 2) << "written for one route after the other";
  const Compiled sum = compile("moe_unpermute hidden=1283 topk=8 probs=f32", "sm_90a");
  EXPECT_EQ(accesses(sum, 0, false, 16), 2 * 4);
  EXPECT_EQ(accesses(sum, 0, true, 16), 1);
  const Compiled gradient = compile("moe_unpermute pass=backward hidden=1283 topk=8 probs=f32", "sm_90a");
  EXPECT_EQ(accesses(gradient, 0, false, 16), 2 * 4 + 2 * 4) << "the token's gradient, and a row";
  EXPECT_EQ(accesses(gradient, 0, true, 16), 4);
  const Compiled reorder = compile("chunk_sort hidden=7168", "sm_90a");
  EXPECT_EQ(accesses(reorder, 0, false, 16), 2 + 2) << "the first part, and the next one";
  EXPECT_EQ(accesses(reorder, 0, true, 16), 2);
}

}  // namespace
}  // namespace quern::test
