// torch.ops.quern.gather and its like: from a call of PyTorch's dispatcher to a launch and to results.
#ifndef QUERN_PYTHON_TORCH_OPERATOR_H_
#define QUERN_PYTHON_TORCH_OPERATOR_H_

#include <string>

#include "torch_plan.h"

namespace quern::python {

class TorchOperator {
 public:
  // returns_list: a list also if it is of one tensor.
  TorchOperator(TorchSignature signature, bool returns_list)
      : signature_(std::move(signature)), returns_list_(returns_list) {}
  // Runs a call and puts its results, if there are any to return, on the stack. Needs neither Python nor its lock.
  // Throws std::runtime_error.
  void run(StableValue* stack, std::uint64_t outputs);

 private:
  StableValue run(TorchCall& call, std::uint64_t outputs);
  StableValue run_in_context(const TorchCall& call, std::uint64_t outputs);
  StableValue run_once(const TorchCall& call, std::uint64_t outputs);

  TorchSignature signature_;
  const bool returns_list_;
  TorchPlans plans_;
};

// Gives an operator to PyTorch as the kernel of `name` for tensors of the CPU and of CUDA. Both live as long as the
// process.
void register_kernels(TorchOperator& run, const std::string& name);

}  // namespace quern::python

#endif  // QUERN_PYTHON_TORCH_OPERATOR_H_
