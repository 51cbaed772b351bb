// Problem texts of mxfp8, for its tables of cases.
#ifndef QUERN_TESTS_SUPPORT_MXFP8_TEXT_H_
#define QUERN_TESTS_SUPPORT_MXFP8_TEXT_H_

#include <string>
#include <vector>

#include "base/text.h"
#include "support/cases.h"

namespace quern::test {

inline const std::vector<std::string> kDirections = {"row", "col", "both"};

inline std::string mxfp8(int rows, int cols, const std::string& rest, int experts = 1) {
  return cat("mxfp8 rows=", rows, " cols=", cols, experts == 1 ? "" : cat(" experts=", experts), " ", rest);
}

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_MXFP8_TEXT_H_
