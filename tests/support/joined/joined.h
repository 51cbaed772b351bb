// A family that uses features that no family of the library uses: operands as a list, a list and a text as fields, a
// generated source, and a 64-bit run-time number.
#ifndef QUERN_TESTS_SUPPORT_JOINED_H_
#define QUERN_TESTS_SUPPORT_JOINED_H_

#include <cstdint>

#include "quern/family.h"

namespace quern::test {

struct JoinedArgs {
  InList sources = {};   // source i: [rows, widths[i]]
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
