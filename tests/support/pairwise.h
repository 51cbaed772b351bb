// Selects a small subset of a case table that covers the pairs of settings that occur together in the table: not those
// of two numbers, and of an activation only those with the arithmetic around it.
#ifndef QUERN_TESTS_SUPPORT_PAIRWISE_H_
#define QUERN_TESTS_SUPPORT_PAIRWISE_H_

#include <cstddef>
#include <vector>

#include "support/cases.h"

namespace quern::test {

struct Cover {
  std::vector<Case> cases;  // in the order of the table
  std::size_t pairs = 0;    // in the table
  std::size_t covered = 0;  // by `cases`; fewer only where `limit` cut it
};

// Greedy: always takes the case with the most pairs that are not covered yet. A setting is a field with its value,
// numbers by their kind (0, 1, odd, a multiple of 8, …) and lists by the kinds that they have, or a property of the
// case.
Cover pairwise(const std::vector<Case>& table, std::size_t limit);

// The case with smaller extents, so that it takes milliseconds on the CPU; odd extents stay odd, and multiples of 8
// stay multiples of 8.
Case scaled_down(const Case& c);

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_PAIRWISE_H_
