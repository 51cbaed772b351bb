#include "torch_operator.h"

#include <exception>

#include "torch_results.h"

namespace quern::python {
namespace {

constexpr int kNoContext = 201;  // CUDA_ERROR_INVALID_CONTEXT

// Makes the tensors' device the current one, since a plan belongs to the current context.
TorchOwner<TorchGuard> guard_of(const quern_tensor& tensor) {
  const TorchAbi& abi = torch_abi();
  if (tensor.device_type == kCpu) return nullptr;
  std::int32_t current = -1;
  require(abi.current_device(&current), "read the current device");
  TorchGuard* guard = nullptr;
  if (current != tensor.device_id) require(abi.new_guard(tensor.device_id, &guard), "change the device");
  return TorchOwner<TorchGuard>(guard);
}

quern_stream stream_of(const quern_tensor& tensor) {
  const TorchAbi& abi = torch_abi();
  void* stream = nullptr;
  if (tensor.device_type != kCpu && abi.current_stream != nullptr)
    require(abi.current_stream(tensor.device_id, &stream), "read the current stream");
  return static_cast<quern_stream>(stream);
}

// A thread's first use of CUDA: any kernel of PyTorch's makes the device's context current.
void make_context_current(const quern_tensor& tensor) {
  const std::int64_t one = 1;
  quern_place byte{};
  byte.dtype_code = 1;
  byte.dtype_bits = 8;
  const TorchOwner<TorchTensor> made = new_torch_tensor(tensor, torch_dtype_of(byte), 1, &one, &one);
  require(torch_abi().zero(made.get()), "use the device");
}

StableValue list_of(TorchResults& results) {
  TorchList* made = nullptr;
  require(torch_abi().new_list(4, &made), "make a list");
  TorchOwner<TorchList> list(made);
  while (TorchTensor* const tensor = results.next())
    require(torch_abi().list_push(made, value_of(tensor)), "fill a list");
  return value_of(list.release());
}

}  // namespace

void TorchOperator::run(StableValue* stack, std::uint64_t outputs) {
  StableValue result = 0;
  {
    TorchCall call(signature_, stack);
    call.read();
    result = run(call, outputs);
  }
  if (outputs != 0) stack[0] = result;
}

// Strides that no field of the family describes, such as a transposed matrix's, cost a copy.
StableValue TorchOperator::run(TorchCall& call, std::uint64_t outputs) {
  const TorchOwner<TorchGuard> guard = guard_of(call.first());
  std::exception_ptr first;
  try {
    return run_in_context(call, outputs);
  } catch (const Refused& refused) {
    if (refused.code != QUERN_BAD_INPUT || !call.pack()) throw;
    first = std::current_exception();
  }
  try {
    return run_in_context(call, outputs);
  } catch (const Refused& refused) {
    if (refused.code == QUERN_BAD_INPUT) std::rethrow_exception(first);  // of the tensors that were given
    throw;
  }
}

StableValue TorchOperator::run_in_context(const TorchCall& call, std::uint64_t outputs) {
  try {
    return run_once(call, outputs);
  } catch (const Refused& refused) {
    const bool no_context = refused.code == QUERN_NO_DEVICE || refused.driver_code == kNoContext;
    if (!no_context || call.first().device_type == kCpu) throw;
  }
  make_context_current(call.first());
  return run_once(call, outputs);
}

StableValue TorchOperator::run_once(const TorchCall& call, std::uint64_t outputs) {
  TorchPlaced placed;
  const std::shared_ptr<TorchPlan> plan = plans_.find(call, placed);
  const quern_stream stream = plan->is_on_host() ? nullptr : stream_of(call.first());
  TorchResults results(*plan, call, placed, stream);
  plan->launch(call, placed, stream);
  if (outputs == 0) return 0;
  if (returns_list_) return list_of(results);
  TorchTensor* const result = results.next();
  if (result == nullptr) throw std::runtime_error(std::string(call.family().name) + " made no result");
  return value_of(result);
}

}  // namespace quern::python
