#include "place.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace quern::python {
namespace {

// Whether the first dimensions are the same number of the same open extent, not only equal by chance.
bool is_same_extent(const quern_place& a, const quern_place& b) {
  if (a.rank == 0 || b.rank == 0 || a.extents[0] == nullptr || b.extents[0] == nullptr) return false;
  return std::strcmp(a.extents[0], b.extents[0]) == 0 && a.factors[0] == b.factors[0];
}

void erase_word(std::string& text, const char* name) {
  const std::string word = std::string(" ") + name + "=";
  const std::size_t begin = text.find(word);
  if (begin != std::string::npos) text.erase(begin, text.find(' ', begin + 1) - begin);
}

}  // namespace

Where where_is(const quern_family& family, const char* place) {
  const std::string name = place;
  const std::size_t dot = name.find('.');
  for (std::size_t i = 0; i < family.operand_count; ++i) {
    if (name.substr(0, dot) == family.operands[i].name)
      return {static_cast<int>(i),
              dot == std::string::npos ? 0 : static_cast<int>(std::strtol(name.c_str() + dot + 1, nullptr, 10))};
  }
  return {-1, 0};
}

std::string place_name(const quern_family& family, Where where) {
  const quern_operand& operand = family.operands[where.operand];
  return operand.is_list == 0 ? operand.name : std::string(operand.name) + "." + std::to_string(where.entry);
}

bool is_role(const quern_place& place, const char* role) { return std::strcmp(place.role, role) == 0; }

bool is_result(const quern_place& place, bool given) {
  const bool number = place.rank == 1 && place.shape[0] == 1;
  return is_role(place, "output") || (is_role(place, "update") && !given && !number);
}

bool is_open_extent(const quern_field& field) {
  return std::strcmp(field.kind, "extent") == 0 && std::strcmp(field.default_value, "open") == 0;
}

// Whether the dimensions lie packed in this order, the last one innermost.
static bool is_packed(const quern_place& place, const int* order) {
  std::int64_t stride = 1;
  for (int i = place.rank - 1; i >= 0; --i) {
    const int d = order[i];
    if (place.shape[d] != 1 && place.strides[d] != stride) return false;
    stride *= place.shape[d];
  }
  return true;
}

bool find_order(const quern_place& place, int* order) {
  bool empty = false;
  for (int d = 0; d < place.rank; ++d) {
    order[d] = d;
    empty = empty || place.shape[d] == 0;
  }
  if (empty || is_packed(place, order)) return true;
  const auto is_outer = [&](int a, int b) {
    return place.shape[a] != 1 && place.shape[b] != 1 && place.strides[a] > place.strides[b];
  };
  std::stable_sort(order, order + place.rank, is_outer);
  return is_packed(place, order);
}

int with_leading_dimensions(const quern_place& place, const quern_tensor& first, const quern_place& first_place,
                            std::int64_t* extents) {
  const int extra = first.ndim - first_place.rank;
  if (extra > 0 && extra < kMaxDimensions && is_same_extent(place, first_place)) {
    std::copy_n(first.shape, extra + 1, extents);
    std::copy_n(place.shape + 1, place.rank - 1, extents + extra + 1);
    return place.rank + extra;
  }
  int missing = 0;
  while (missing < -extra && missing + 1 < place.rank && place.shape[missing] == 1) ++missing;
  std::copy_n(place.shape + missing, place.rank - missing, extents);
  return place.rank - missing;
}

quern_code infer_problem(quern_runtime* runtime, const std::string& settings, const std::vector<std::string>& names,
                         const std::vector<const quern_tensor*>& tensors, const quern_number* numbers,
                         std::size_t number_count, std::string& problem, quern_error** error) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  size_t length = 0;
  for (size_t bytes = 8192;; bytes = length + 1) {
    problem.assign(bytes, '\0');
    const quern_code code = quern_problem_of(runtime, settings.c_str(), pointers.data(), tensors.data(), tensors.size(),
                                             problem.data(), bytes, &length, error);
    if (code != QUERN_OK) return code;
    if (length < bytes) break;
  }
  problem.resize(length);
  problem += ' ';
  for (std::size_t i = 0; i < number_count; ++i) erase_word(problem, numbers[i].name);
  problem.pop_back();
  return QUERN_OK;
}

}  // namespace quern::python
