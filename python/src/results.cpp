#include "results.h"

#include <algorithm>
#include <cstring>

namespace quern::python {

Results::Results(const quern_family& family, KnownPlan& plan, const Call& call, Placed& placed, quern_stream stream)
    : family_(family), plan_(plan), call_(call), placed_(placed), made_(placed.places.size()) {
  tensors_.resize(placed.places.size());
  for (std::size_t i = 0; i < placed.places.size(); ++i) {
    if (placed.given[i] == nullptr) make_at(i, stream);
  }
}

Ref Results::take() {
  std::vector<Ref> all;
  for (std::size_t i = 0; i < placed_.places.size();) {
    const int operand = plan_.places[i].operand;
    std::size_t end = i + 1;
    while (end < placed_.places.size() && plan_.places[end].operand == operand) ++end;
    if (is_result(placed_.places[i], placed_.given[i] != nullptr)) all.push_back(operand_of(i, end));
    i = end;
  }
  if (all.size() == 1) return std::move(all.front());
  Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(all.size())));
  for (std::size_t i = 0; i < all.size(); ++i)
    check(PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), all[i].release()));
  return tuple;
}

Ref Results::object_of(std::size_t i) {
  return placed_.given[i] != nullptr ? copy(placed_.given[i]->object.get()) : std::move(made_[i]);
}

Ref Results::operand_of(std::size_t begin, std::size_t end) {
  if (family_.operands[plan_.places[begin].operand].is_list == 0) return object_of(begin);
  Ref list = owned(PyList_New(0));
  for (std::size_t i = begin; i < end; ++i) check(PyList_Append(list.get(), object_of(i).get()));
  return list;
}

// A tensor of the same elements, if there is one, else the first.
const GivenTensor& Results::like(const quern_place& place, const char** dtype) const {
  for (std::size_t i = 0; i < placed_.given.size(); ++i) {
    if (placed_.given[i] == nullptr || std::strcmp(placed_.places[i].dtype, place.dtype) != 0) continue;
    *dtype = place.dtype;
    return *placed_.given[i];
  }
  *dtype = nullptr;
  return call_.tensors().front();
}

void Results::make_at(std::size_t i, quern_stream stream) {
  const quern_place& place = placed_.places[i];
  const bool workspace = is_role(place, "workspace");
  made_[i] = workspace ? workspace_of(place, stream) : new_tensor(place);
  view(made_[i].get(), place.name, tensors_[i]);
  // The short way makes it on the current device.
  if (short_way_ && tensors_[i].view.device_id != call_.tensors().front().tensor.view.device_id) {
    short_way_ = false;
    return make_at(i, stream);
  }
  placed_.tensors[i] = &tensors_[i].view;
}

// A result is not initialized, a workspace is zeros. Where the dimensions lie in another order in memory, it is a
// view.
Ref Results::new_tensor(const quern_place& place) const {
  int order[5];
  if (!find_order(place, order))
    raise(PyExc_TypeError, std::string(place.name) + " has gaps between its rows; give it by name");
  if (std::is_sorted(order, order + place.rank)) {
    std::int64_t extents[kMaxDimensions + 5];
    const int rank = extents_of(place, extents);
    return new_packed(place, rank, extents);
  }
  std::int64_t extents[5];
  for (int i = 0; i < place.rank; ++i) extents[i] = place.shape[order[i]];
  return permuted(new_packed(place, place.rank, extents), order, place.rank);
}

Ref Results::new_packed(const quern_place& place, int rank, const std::int64_t* extents) const {
  const char* dtype = nullptr;
  const GivenTensor& model = like(place, &dtype);
  return make(model.object.get(), model.tensor, dtype, {place.dtype, rank, extents},
              is_role(place, "output") ? nullptr : &place.initial, short_way_);
}

// The view whose dimension order[i] is the tensor's i.
Ref Results::permuted(Ref tensor, const int* order, int rank) const {
  Ref axes = owned(PyTuple_New(rank));
  for (int i = 0; i < rank; ++i) check(PyTuple_SetItem(axes.get(), order[i], owned(PyLong_FromLong(i)).release()));
  const char* const method = call_.tensors().front().tensor.table != nullptr ? "permute" : "transpose";
  return owned(PyObject_CallMethod(tensor.get(), method, "O", axes.get()));
}

int Results::extents_of(const quern_place& place, std::int64_t* extents) const {
  std::size_t first = 0;
  while (placed_.given[first] == nullptr) ++first;
  return with_leading_dimensions(place, placed_.given[first]->tensor.view, placed_.places[first], extents);
}

// The host's launches run without the interpreter lock, side by side, and so may graphs: each has its own.
Ref Results::workspace_of(const quern_place& place, quern_stream stream) {
  if (plan_.object()->on_host || quern_is_capturing(call_.runtime()->runtime, stream) != 0) return new_tensor(place);
  for (const KnownPlan::Workspace& workspace : plan_.workspaces) {
    if (workspace.stream != stream) continue;
    Ref memory = copy(workspace.memory.get());
    Tensor tensor;
    view(memory.get(), place.name, tensor);
    if (tensor.view.shape[0] >= place.shape[0]) return memory;
    break;
  }
  Ref made = new_tensor(place);  // other threads may run meanwhile, and add theirs
  for (KnownPlan::Workspace& workspace : plan_.workspaces) {
    if (workspace.stream != stream) continue;
    workspace.memory = copy(made.get());
    return made;
  }
  plan_.workspaces.push_back({stream, copy(made.get())});
  return made;
}

}  // namespace quern::python
