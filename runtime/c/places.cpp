#include <algorithm>
#include <cstring>

#include "c/error.h"
#include "c/runtime.h"
#include "plan/problem.h"
#include "tensors/element.h"

namespace quern::c {
namespace {

quern_place describe(const Places& places, const Place& place) {
  quern_place out{};
  place.name.copy(out.name, sizeof(out.name) - 1);
  out.role = name(place.role);
  out.dtype = name(place.dtype);
  quern_tensor element{};
  set_element(element, place.dtype);
  out.dtype_code = element.dtype_code;
  out.dtype_bits = element.dtype_bits;
  out.rank = place.rank;
  out.initial = place.operand->initial;
  for (int d = 0; d < place.rank; ++d) {
    const Term &extent = place.extents[d], &stride = place.strides[d];
    const bool known = !place.computed && extent.extent < 0;
    out.shape[d] = known ? extent.factor : QUERN_OPEN;
    out.strides[d] = place.computed || stride.extent >= 0 ? QUERN_OPEN : stride.factor;
    if (extent.extent < 0) continue;
    out.extents[d] = places.extents[static_cast<std::size_t>(extent.extent)].field->name;
    out.factors[d] = extent.factor;
  }
  return out;
}

}  // namespace

std::vector<quern_place> describe(const Places& places) {
  std::vector<quern_place> all;
  for (const Place& place : places.places) all.push_back(describe(places, place));
  return all;
}

}  // namespace quern::c

extern "C" quern_code quern_problem_places(quern_runtime* runtime, quern_problem problem, quern_place* places,
                                           size_t capacity, size_t* count, quern_error** error) {
  return quern::c::guarded(quern::Stage::problem, error, [&] {
    quern::c::require(runtime, "runtime");
    const quern::AnyProblem read = quern::c::read_problem(runtime->runtime, problem);
    quern::check_problem(read.family(), read.data());
    const auto all = quern::c::describe(quern::places_of(read.family(), read.data()));
    if (count != nullptr) *count = all.size();
    if (capacity > 0) quern::c::require(places, "places");
    std::copy_n(all.begin(), std::min(capacity, all.size()), places);
  });
}
