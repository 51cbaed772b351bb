// A family whose configs are wrong, each in a different way, for the correctness check to find. out[r, c] = x[r, c]
// + 1.
#ifndef QUERN_TESTS_SUPPORT_FLAWED_H_
#define QUERN_TESTS_SUPPORT_FLAWED_H_

#include <cstdint>

#include "quern/family.h"

namespace quern::test {

struct FlawedArgs {
  In x = {};
  Out out = {};
  std::int64_t rows = kOpen;
};

// The values of the parameter `flaw`, in the order of flawed.cu.
enum class Flaw : std::int32_t {
  none,
  last_tile,      // wrong in the last tile only
  past_the_end,   // writes one element after out
  uninitialized,  // its result depends on what was in out
  accumulates,    // adds to out instead of assigning
  unstable,       // its result depends on the time
  endless,        // does not end
  address,        // writes to an invalid address
  local_memory,   // 100 KB of local memory a thread
  compile_time,   // the compiler does not come to an end
  compile_error,  // the compiler refuses it
  launch,         // more threads in a block than there are
  nan,            // NaN instead of a number
  input,          // changes x
  gap,            // writes between the rows of out
  slow,           // right, and twice the work
  odd_rows,       // wrong for an odd number of rows
  finite,         // right for finite numbers only
  count,
};

struct Flawed {
  using Args = FlawedArgs;
  std::int64_t rows = kOpen;
  std::int64_t width = 100;
  std::int64_t out_stride = 0;  // 0: width

  static const Family& family();
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_FLAWED_H_
