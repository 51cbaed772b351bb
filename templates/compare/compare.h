// compare: the first byte in which two ranges of device memory differ. The tuner checks results with it, so that
// checking a candidate on gigabytes is as fast as running it. Not listed among the families.
#ifndef QUERN_COMPARE_H_
#define QUERN_COMPARE_H_

#include <cstdint>

#include "quern/family.h"

namespace quern {

struct CompareArgs {
  In a = {};       // [bytes] of u8
  In b = {};       // [bytes] of u8
  Out first = {};  // one i64; the caller sets it to -1, and it stays -1 if no byte differs
  std::int64_t bytes = kOpen;
};

struct Compare {
  using Args = CompareArgs;

  std::int64_t bytes = kOpen;

  static const Family& family();
};

}  // namespace quern

#endif  // QUERN_COMPARE_H_
