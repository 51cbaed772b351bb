#include "tensors/places.h"

#include <algorithm>

#include "base/text.h"
#include "plan/problem.h"

namespace quern {
namespace {

// Values for open extents: distinct primes, so that a dimension that is a multiple of one of them is of no other; and
// small ones, where what is limited to a number of blocks differs from what is not.
constexpr std::size_t kMaxOpen = 8;
constexpr std::size_t kClosings = 3;
constexpr std::int64_t kValues[kClosings][kMaxOpen] = {{1009, 2003, 3001, 4001, 5003, 6007, 7001, 8009},
                                                       {10007, 20011, 30011, 40009, 50021, 60013, 70001, 80021},
                                                       {1, 2, 3, 4, 5, 6, 7, 8}};

// The problem with its open extents closed by `values`.
class Closing {
 public:
  Closing(const Family& family, const void* problem, const std::vector<OpenExtent>& open, const std::int64_t* values)
      : bytes_(static_cast<const unsigned char*>(problem),
               static_cast<const unsigned char*>(problem) + family.problem_bytes) {
    for (std::size_t i = 0; i < open.size(); ++i) set_integer(*open[i].field, bytes_.data(), values[i]);
  }
  const void* data() const { return bytes_.data(); }

 private:
  std::vector<unsigned char> bytes_;
};

bool holds(const Term& term, const std::int64_t (&seen)[kClosings]) {
  for (std::size_t c = 0; c < kClosings; ++c) {
    if (seen[c] != (term.extent < 0 ? term.factor : term.factor * kValues[c][term.extent])) return false;
  }
  return true;
}

// The Term that has these values in the closings. Returns false if there is none.
bool find_term(const std::int64_t (&seen)[kClosings], std::size_t open, Term& term) {
  term = {seen[0], -1};
  if (holds(term, seen)) return true;
  for (std::size_t i = 0; i < open; ++i) {
    term = {seen[0] / kValues[0][i], static_cast<int>(i)};
    if (term.factor > 0 && holds(term, seen)) return true;
  }
  term = {};
  return false;
}

void add_place(Places& result, const Operand& operand, int entry, const std::vector<Closing>& closings) {
  Layout layouts[kClosings];
  for (std::size_t c = 0; c < kClosings; ++c) layouts[c] = operand.layout(closings[c].data(), entry);
  if (layouts[0].dtype == DType::none) return;
  Place place;
  place.operand = &operand;
  place.entry = entry;
  place.role = operand.role;
  if (operand.written_whole != nullptr && operand.written_whole(closings[0].data())) place.role = Role::output;
  place.dtype = layouts[0].dtype;
  place.rank = layouts[0].rank;
  place.name = entry_name(operand, entry);
  for (int d = 0; d < place.rank; ++d) {
    std::int64_t extents[kClosings], strides[kClosings];
    for (std::size_t c = 0; c < kClosings; ++c) {
      extents[c] = layouts[c].extents[d];
      strides[c] = layouts[c].strides[d];
    }
    if (!find_term(extents, result.extents.size(), place.extents[d]) ||
        !find_term(strides, result.extents.size(), place.strides[d]))
      place.computed = true;
  }
  result.places.push_back(std::move(place));
}

// Where an extent is read: a dimension that is the extent itself rather than a multiple of it, of an input rather than
// of a result.
void find_sources(Places& result, std::size_t extent) {
  std::vector<Source>& sources = result.extents[extent].sources;
  for (std::size_t p = 0; p < result.places.size(); ++p) {
    const Place& place = result.places[p];
    if (place.operand->role == Role::workspace) continue;
    for (int d = 0; d < place.rank; ++d) {
      const Term& term = place.extents[d];
      if (term.extent == static_cast<int>(extent) && term.factor > 0) sources.push_back({p, d, term.factor});
    }
  }
  const auto cost = [&](const Source& source) {
    return (source.factor == 1 ? 0 : 2) + (result.places[source.place].operand->role == Role::input ? 0 : 1);
  };
  std::stable_sort(sources.begin(), sources.end(), [&](const Source& a, const Source& b) { return cost(a) < cost(b); });
}

}  // namespace

Places places_of(const Family& family, const void* problem) {
  Places result;
  for (const LaunchExtent& extent : family.launch_extents) {
    const Field* const field = find_field(family, extent.field);
    if (get_integer(*field, problem) != kOpen) continue;
    if (result.extents.size() == kMaxOpen)
      throw problem_error(family, problem,
                          cat("tensors can give at most ", kMaxOpen, " open extents; close the others"));
    result.extents.push_back({field, extent.offset, extent.needed == nullptr || extent.needed(problem), {}});
  }
  std::vector<Closing> closings;
  for (const auto& values : kValues) closings.emplace_back(family, problem, result.extents, values);
  for (const Operand& operand : family.operands) {
    for (int entry = 0, count = entries_of(operand, problem); entry < count; ++entry)
      add_place(result, operand, entry, closings);
  }
  for (std::size_t i = 0; i < result.extents.size(); ++i) find_sources(result, i);
  return result;
}

}  // namespace quern
