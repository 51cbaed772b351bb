// The problem that given tensors are operands of.
#ifndef QUERN_TENSORS_INFER_H_
#define QUERN_TENSORS_INFER_H_

#include <string>
#include <string_view>
#include <vector>

#include "quern/c.h"
#include "quern/runtime.h"

namespace quern {

struct NamedTensor {
  std::string name;  // of the operand, or of an entry: "sources.1"
  const quern_tensor* tensor;
};

// Completes a problem: sets dtypes, extents, strides and lists so that its operands have the tensors' types, shapes and
// strides. Fields in `given` keep their values, as do choices and texts; extents that are open stay open. Where the
// tensors fit no such problem, the result is the one that fits them best: a launch then says what does not fit. Throws
// Error (bad_input) for an unknown operand, and for a dimension that is cut, such as the two halves of an odd one.
AnyProblem infer(AnyProblem problem, const std::vector<std::string>& given, const std::vector<NamedTensor>& tensors);

}  // namespace quern

#endif  // QUERN_TENSORS_INFER_H_
