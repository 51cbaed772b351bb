// What a call of an operator did not give, made by PyTorch: results, and workspaces. As results.h, without Python.
#ifndef QUERN_PYTHON_TORCH_RESULTS_H_
#define QUERN_PYTHON_TORCH_RESULTS_H_

#include "torch_plan.h"

namespace quern::python {

class TorchResults {
 public:
  // Makes them and puts them in their places. Throws std::runtime_error.
  TorchResults(TorchPlan& plan, const TorchCall& call, TorchPlaced& placed, quern_stream stream);
  TorchResults(const TorchResults&) = delete;
  TorchResults& operator=(const TorchResults&) = delete;
  ~TorchResults();
  // The next result of those that the operator returns, in the order of the places, which the caller then owns; null
  // after the last.
  TorchTensor* next();

 private:
  void release();
  void make_at(std::size_t i, quern_stream stream);
  TorchOwner<TorchTensor> new_tensor(const quern_place& place) const;
  TorchOwner<TorchTensor> lasting_tensor(const quern_place& place, quern_stream stream) const;
  TorchOwner<TorchTensor> workspace_of(std::size_t i, quern_stream stream);

  TorchPlan& plan_;
  const TorchCall& call_;
  TorchPlaced& placed_;
  std::size_t next_ = 0;
  Small<TorchTensor*, 16> made_;
  Small<quern_tensor, 16> views_;
};

}  // namespace quern::python

#endif  // QUERN_PYTHON_TORCH_RESULTS_H_
