#include "torch_results.h"

#include <algorithm>
#include <exception>
#include <thread>

namespace quern::python {

TorchResults::TorchResults(TorchPlan& plan, const TorchCall& call, TorchPlaced& placed, quern_stream stream)
    : plan_(plan), call_(call), placed_(placed) {
  const std::size_t count = placed.places.size();
  made_.resize(count);
  views_.resize(count);
  std::fill_n(made_.data(), count, nullptr);
  try {
    for (std::size_t i = 0; i < count; ++i) {
      if (placed.given[i] == nullptr) make_at(i, stream);
    }
  } catch (...) {
    release();
    throw;
  }
}

TorchResults::~TorchResults() { release(); }

void TorchResults::release() {
  for (TorchTensor* const tensor : made_) {
    if (tensor != nullptr) torch_abi().delete_tensor(tensor);
  }
}

TorchTensor* TorchResults::next() {
  for (; next_ < made_.size(); ++next_) {
    if (made_[next_] != nullptr && is_result(placed_.places[next_], false)) return std::exchange(made_[next_], nullptr);
  }
  return nullptr;
}

void TorchResults::make_at(std::size_t i, quern_stream stream) {
  const quern_place& place = placed_.places[i];
  made_[i] = (is_role(place, "workspace") ? workspace_of(i, stream) : new_tensor(place)).release();
  view(made_[i], place.name, views_[i]);
  placed_.tensors[i] = &views_[i];
}

// What an update or a workspace is before the first launch.
static void fill(TorchTensor* tensor, std::int64_t number) {
  const TorchAbi& abi = torch_abi();
  if (number == 0) {
    require(abi.zero(tensor), "fill a tensor");
    return;
  }
  TorchTensor *self = nullptr, *value = nullptr;
  require(abi.new_handle(tensor, &self), "share a tensor");
  TorchOwner<TorchTensor> held(self);
  require(abi.scalar(number, &value), "make a tensor");
  StableValue stack[2] = {value_of(held.release()), value_of(value)};
  require(abi.call("aten::fill_", "Tensor", stack, kTorchVersion), "fill a tensor");
  abi.delete_tensor(handle_of<TorchTensor>(stack[0]));
}

// Packed, with the dimensions in the place's order of memory.
TorchOwner<TorchTensor> TorchResults::new_tensor(const quern_place& place) const {
  int order[5];
  if (!find_order(place, order))
    throw std::runtime_error(std::string(place.name) + " has gaps between its rows; give it by name");
  std::int64_t sizes[kMaxDimensions + 5], strides[kMaxDimensions + 5];
  int rank = place.rank;
  const bool is_reordered = !std::is_sorted(order, order + place.rank);
  std::copy_n(place.shape, rank, sizes);
  if (!is_reordered) {
    std::size_t first = 0;
    while (placed_.given[first] == nullptr) ++first;
    rank = with_leading_dimensions(place, placed_.given[first]->view, placed_.places[first], sizes);
  }
  std::int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const int d = is_reordered ? order[i] : i;
    strides[d] = stride;
    stride *= std::max<std::int64_t>(sizes[d], 1);
  }
  TorchOwner<TorchTensor> made = new_torch_tensor(call_.first(), torch_dtype_of(place), rank, sizes, strides);
  if (!is_role(place, "output")) fill(made.get(), place.initial);
  return made;
}

// One that outlives the call. PyTorch can have a thread take all its memory from the pool of a graph that is to be
// recorded, which must get it back before that: so it comes from another thread, in the same stream.
TorchOwner<TorchTensor> TorchResults::lasting_tensor(const quern_place& place, quern_stream stream) const {
  const TorchAbi& abi = torch_abi();
  if (abi.new_stream_guard == nullptr) return new_tensor(place);
  TorchOwner<TorchTensor> made;
  std::exception_ptr failure;
  std::thread([&] {
    try {
      TorchStreamGuard* guard = nullptr;
      require(abi.new_stream_guard(stream, call_.first().device_id, &guard), "change the stream");
      const TorchOwner<TorchStreamGuard> held(guard);
      made = new_tensor(place);
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure != nullptr) std::rethrow_exception(failure);
  return made;
}

// The host's launches run side by side, and so may graphs: each has its own.
TorchOwner<TorchTensor> TorchResults::workspace_of(std::size_t i, quern_stream stream) {
  const quern_place& place = placed_.places[i];
  if (plan_.is_on_host() || plan_.is_capturing(stream)) return new_tensor(place);
  if (TorchOwner<TorchTensor> known = plan_.find_workspace(i, stream, place.shape[0])) return known;
  TorchOwner<TorchTensor> made = lasting_tensor(place, stream);
  plan_.keep_workspace(i, stream, place.shape[0], made.get());
  return made;
}

}  // namespace quern::python
