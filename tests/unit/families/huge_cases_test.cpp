// The cases of more than 2^31 elements, which only a GPU runs: what can be known of them without one.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/text.h"
#include "support/cases.h"
#include "unit/families/support.h"

namespace quern {
namespace {

TEST(HugeCases, AreProblemsWhoseOperandsFitAGpu) {
  constexpr std::int64_t kMost = 100'000'000'000, kWords = std::int64_t{1} << 31;
  for (const test::Case& c : test::huge_cases()) {
    const AnyProblem problem = test::problem(c.problem);
    EXPECT_EQ(test::refusal(c.problem), "") << c.problem;
    std::int64_t all = 0, largest = 0;
    for (int i = 0; i < problem.family().operands.count; ++i) {
      const Operand& operand = problem.family().operands[i];
      const int entries = operand.count == nullptr ? 1 : operand.count(problem.data());
      for (int entry = 0; entry < entries; ++entry) {
        const Layout layout = operand.layout(problem.data(), entry);
        if (layout.dtype == DType::none) continue;
        all += layout.span_bytes();
        largest = std::max(largest, layout.span_bytes() / bytes(layout.dtype));
      }
    }
    EXPECT_LE(all, kMost) << c.problem;
    EXPECT_GT(largest, kWords) << c.problem;
  }
}

TEST(HugeCases, AreOfEachFamilyWhoseRowsMove) {
  std::set<std::string> families;
  for (const test::Case& c : test::huge_cases()) families.insert(c.problem.substr(0, c.problem.find(' ')));
  for (const char* family : {"gather", "scatter", "concat", "row_pad", "multi_row_pad", "moe_map", "moe_permute",
                             "moe_unpermute", "chunk_sort", "index_sort", "hash_table", "embedding", "rope",
                             "interaction", "pointwise", "glu", "mxfp8", "mxfp8_dequantize"})
    EXPECT_EQ(families.count(family), 1U) << family;
}

}  // namespace
}  // namespace quern
