// Operands of plans and how tensors lie in them, without Python: for the families' functions and for PyTorch's
// operators.
#ifndef QUERN_PYTHON_PLACE_H_
#define QUERN_PYTHON_PLACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "quern/c.h"

namespace quern::python {

inline constexpr int kMaxDimensions = 16;
inline constexpr std::int32_t kCpu = 1, kCuda = 2;  // types of devices, DLPack's

// The operand of a place, and the entry of a list.
struct Where {
  int operand;
  int entry;
};
Where where_is(const quern_family& family, const char* place);
// "source", "sources.1"
std::string place_name(const quern_family& family, Where where);

bool is_role(const quern_place& place, const char* role);
// Whether a call returns the place: an output, or an update that was not given. Not a single number of those, which
// says how a launch went: for who gives it.
bool is_result(const quern_place& place, bool given);
// Whether the family's field is an extent that may stay open: a call gives it as a number.
bool is_open_extent(const quern_field& field);

// A place's dimensions in the order of memory, outermost first. Returns false if there are gaps between the elements.
bool find_order(const quern_place& place, int* order);
// Whether the results that a call does not give can be made: a plan of an earlier call may be for given ones with gaps
// between their rows.
template <class Given, class Places>
bool can_make_results(const Given& given, const Places& places) {
  int order[5];
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (given[i] == nullptr && !find_order(places[i], order)) return false;
  }
  return true;
}

// A result's dimensions as the first tensor has its own: split in the same way where it has more than its operand,
// and without those of 1 that it lacks. Returns their number.
int with_leading_dimensions(const quern_place& place, const quern_tensor& first, const quern_place& first_place,
                            std::int64_t* extents);

// A problem's text from settings and tensors. Extents that are given as numbers stay open in it.
quern_code infer_problem(quern_runtime* runtime, const std::string& settings, const std::vector<std::string>& names,
                         const std::vector<const quern_tensor*>& tensors, const quern_number* numbers,
                         std::size_t number_count, std::string& problem, quern_error** error);

}  // namespace quern::python

#endif  // QUERN_PYTHON_PLACE_H_
