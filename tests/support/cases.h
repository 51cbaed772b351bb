// Conformance cases, one table per family: the gpu tier runs them, and the compile tier compiles them.
#ifndef QUERN_TESTS_SUPPORT_CASES_H_
#define QUERN_TESTS_SUPPORT_CASES_H_

#include <string>
#include <vector>

namespace quern::test {

enum class Indices { generated, all_equal, reversed };

struct Case {
  std::string problem;    // text, extents closed
  int offset = 0;         // elements past an aligned address, for every operand
  bool in_place = false;  // out takes the memory of the first operand
  Indices indices = Indices::generated;
  float multiplier = 0.5f;           // if the family has one; scatter's alpha
  std::string config = {};           // changes to the default, "unroll=2"
  bool full = false;                 // one of many large ones: only with QUERN_TEST_FULL=1
  std::string scalars = {};          // numbers of the launch, "offset=15"
  std::vector<int> cu_seqlens = {};  // instead of generated ones
};

std::string describe(const Case& c);
Case with(const std::string& config, const std::string& problem, int offset = 0);

// Common shapes, types and modes, and edge cases; a few seconds on a GPU.
std::vector<Case> gather_cases();
std::vector<Case> scatter_cases();
std::vector<Case> pointwise_cases();
std::vector<Case> pointwise_program_cases();
std::vector<Case> pointwise_reduction_cases();
std::vector<Case> pointwise_scaled_cases();
std::vector<Case> glu_cases();
std::vector<Case> skeleton_cases();
// The shapes that torchao and TransformerEngine test, and others.
std::vector<Case> mxfp8_cases();
std::vector<Case> mxfp8_prologue_cases();  // some of these
std::vector<Case> mxfp8_dequantize_cases();
std::vector<Case> mx_scales_cases();
std::vector<Case> row_pad_cases();
std::vector<Case> multi_row_pad_cases();
std::vector<Case> moe_map_cases();
std::vector<Case> moe_permute_cases();
std::vector<Case> moe_unpermute_cases();
std::vector<Case> chunk_sort_cases();
std::vector<Case> index_sort_cases();
std::vector<Case> hash_table_cases();
std::vector<Case> concat_cases();
std::vector<Case> interaction_cases();
std::vector<Case> interaction_upper_cases();
std::vector<Case> rope_cases();
std::vector<Case> embedding_cases();
std::vector<Case> embedding_backward_cases();
std::vector<Case> embedding_scaling_cases();
std::vector<Case> embedding_lengths_cases();
// More than 2^31 elements; needs tens of GB.
std::vector<Case> huge_cases();

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_CASES_H_
