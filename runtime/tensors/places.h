// The operands of a problem as tensors see them: the dimensions and strides of each, as far as the problem says.
#ifndef QUERN_TENSORS_PLACES_H_
#define QUERN_TENSORS_PLACES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "quern/family.h"

namespace quern {

// A dimension or a stride: a number, or that many times an open extent.
struct Term {
  std::int64_t factor = 0;
  int extent = -1;  // of OpenExtent, -1: none
};

// An operand that the problem has, or an entry of a list.
struct Place {
  const Operand* operand = nullptr;
  int entry = 0;
  Role role = Role::input;  // in this problem: an update that it writes whole is an output
  DType dtype = DType::none;
  int rank = 0;
  // Its layout is not made of Terms (a number of blocks, say), so the family is asked for it at each launch.
  bool computed = false;
  Term extents[kMaxRank];
  Term strides[kMaxRank];
  std::string name;  // "outs.2"
};

// A dimension that gives an extent: shape[dimension] of a place is `factor` times the extent.
struct Source {
  std::size_t place = 0;
  int dimension = 0;
  std::int64_t factor = 1;
};

// An extent that the problem leaves open.
struct OpenExtent {
  const Field* field = nullptr;
  std::uint16_t offset = 0;  // in the arguments
  bool needed = true;
  std::vector<Source> sources;  // in order of preference; none: a launch gives it as a number
};

struct Places {
  std::vector<OpenExtent> extents;
  std::vector<Place> places;
};

// Finds them by asking the family for the layouts of the problem with its extents closed in several ways.
Places places_of(const Family& family, const void* problem);

}  // namespace quern

#endif  // QUERN_TENSORS_PLACES_H_
