// A family whose plans have two steps: sums of chunks, then their sum. Small problems have another variant of the first
// step, and its operands require different alignments.
#ifndef QUERN_TESTS_SUPPORT_TWO_STAGE_H_
#define QUERN_TESTS_SUPPORT_TWO_STAGE_H_

#include <cstdint>

#include "quern/family.h"

namespace quern::test {

struct TwoStageArgs {
  In x = {};        // [count] of f32
  Out chunks = {};  // [count / 256, rounded up]: the sum of each chunk
  Out total = {};   // stages=2, [1]: the sum of all
  std::int64_t count = kOpen;
};

struct TwoStage {
  using Args = TwoStageArgs;
  std::int64_t count = kOpen;
  std::int64_t stages = 2;

  static const Family& family();
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_TWO_STAGE_H_
