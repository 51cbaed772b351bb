// A family that asks for what no family of the library does: operands as a list, a list and a text as fields, a source
// that is generated, and a run-time number of 64 bits.
#ifndef QUERN_TESTS_SUPPORT_JOINED_H_
#define QUERN_TESTS_SUPPORT_JOINED_H_

#include <cstdint>

#include "quern/family.h"

namespace quern::test {

struct JoinedArgs {
  InList sources = {};   // of rows and widths[i] each
  Out out = {};          // [rows, the sum of widths]
  std::int64_t add = 0;  // to each element
  double unused = 1;
  std::int64_t rows = kOpen;
};

// The sources side by side: out[r, first_i + c] = formula(sources_i[r, c]) + add, in fp32.
struct Joined {
  using Args = JoinedArgs;
  std::int64_t rows = kOpen;
  List<64> widths = {8};
  Text<64> formula = "x";  // of x; one of joined::kFormulas

  static const Family& family();
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_JOINED_H_
