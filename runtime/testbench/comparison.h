// A result compared with the reference's, element by element.
#ifndef QUERN_TESTBENCH_COMPARISON_H_
#define QUERN_TESTBENCH_COMPARISON_H_

#include <cstdint>
#include <string>

#include "quern/layout.h"
#include "testbench/operands.h"

namespace quern {

// The element of an operand that holds byte `offset` of it: "out[12, 5]", or the gap after a row.
std::string element_name(const std::string& operand, const Layout& layout, std::int64_t offset);

// A result compared with the reference's.
struct Comparison {
  bool equal = true;       // within the family's tolerance
  double max_error = 0;    // in units of the last place of the stored type; 0: bit for bit
  std::string difference;  // the first element outside the tolerance: operand, position, both values
};
Comparison compare(const HostOperands& got, const HostOperands& expected);

}  // namespace quern

#endif  // QUERN_TESTBENCH_COMPARISON_H_
