// The matrices of a problem one by one, experts or groups of rows, for references.
#ifndef QUERN_MXFP8_PARTS_H_
#define QUERN_MXFP8_PARTS_H_

#include <vector>

#include "mx/groups.h"
#include "mxfp8/matrix.h"

namespace quern::mxfp8 {

struct Part {
  Mxfp8 problem;            // this matrix only: one expert, no groups
  std::int64_t source_row;  // its first row, among source's rows in memory
  std::int64_t out_row;     // its first row, in outputs laid out as [experts, rows, cols]
  std::int64_t lines;       // where its transposed lines begin, in elements
  std::int64_t line_pitch;  // from one to the next
  std::int64_t row_scales;  // where its scales begin, in bytes
  std::int64_t col_scales;
};

// Empty if a group is invalid; then *status is 1 + its number.
std::vector<Part> parts_of(const Mxfp8& p, const Mxfp8Args& a);

mx::Groups groups_of(const Mxfp8& p);

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_PARTS_H_
