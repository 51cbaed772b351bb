// Tensors of a problem's operands, for tests.
#ifndef QUERN_TESTS_SUPPORT_TENSORS_H_
#define QUERN_TESTS_SUPPORT_TENSORS_H_

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "plan/problem.h"
#include "quern/c.h"
#include "quern/runtime.h"
#include "tensors/arguments.h"
#include "tensors/element.h"

namespace quern::test {

inline AnyProblem parsed(const std::string& text) { return Runtime().parse(text); }

// A tensor with its own shape and strides.
struct OwnTensor {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  quern_tensor tensor{};

  OwnTensor(const Layout& layout, void* data, int device_type = 1)
      : shape(layout.extents, layout.extents + layout.rank), strides(layout.strides, layout.strides + layout.rank) {
    tensor.data = data;
    tensor.device_type = device_type;
    set_element(tensor, layout.dtype);
  }
  // Of what `shape` and `strides` now say.
  const quern_tensor* get() {
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.shape = shape.data();
    tensor.strides = strides.data();
    return &tensor;
  }
};

// One for each operand that a closed problem has, all at the same address.
struct Tensors {
  std::deque<OwnTensor> own;
  std::vector<const quern_tensor*> pointers;

  Tensors(const Family& family, const void* problem, int device_type = 1) {
    static double memory[4];
    for (const Operand& operand : family.operands) {
      for (int entry = 0; entry < entries_of(operand, problem); ++entry) {
        const Layout layout = operand.layout(problem, entry);
        if (layout.dtype != DType::none) own.emplace_back(layout, memory, device_type);
      }
    }
    for (OwnTensor& each : own) pointers.push_back(each.get());
  }
  Given given() {
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (pointers[i] != nullptr) pointers[i] = own[i].get();
    }
    return {pointers.data(), pointers.size(), nullptr, 0};
  }
};

// A number for each extent that no tensor gives, as a caller would have to pass.
inline std::vector<quern_number> missing_numbers(const Arguments& arguments, const AnyProblem& closed,
                                                 Tensors& tensors) {
  std::vector<quern_number> numbers;
  FilledArguments filled;
  for (int tries = 0; tries < 8; ++tries) {
    Given given = tensors.given();
    given.numbers = numbers.data();
    given.number_count = numbers.size();
    const Refusal refusal = arguments.fill(given, filled);
    if (refusal.reason != Refusal::Reason::missing) break;
    const std::string text = arguments.text(refusal, given);
    const Field* const field = find_field(closed.family(), text.substr(0, text.find(' ')));
    numbers.push_back({field->name, 0, get_integer(*field, closed.data())});
  }
  return numbers;
}

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_TENSORS_H_
