#include "problem.h"

#include <vector>

#include "error.h"
#include "objects.h"
#include "tensor.h"

namespace quern::python {
namespace {

Ref numbers_of(const std::int64_t* numbers, int count) {
  Ref tuple = owned(PyTuple_New(count));
  for (int i = 0; i < count; ++i) {
    Ref value = numbers[i] == QUERN_OPEN ? none() : owned(PyLong_FromLongLong(numbers[i]));
    check(PyTuple_SetItem(tuple.get(), i, value.release()));
  }
  return tuple;
}

// None, or (extent, factor): the dimension is that many times the open extent.
Ref multiples_of(const quern_place& place) {
  Ref tuple = owned(PyTuple_New(place.rank));
  for (int d = 0; d < place.rank; ++d) {
    const auto factor = static_cast<long long>(place.factors[d]);
    Ref pair = place.extents[d] == nullptr ? none() : owned(Py_BuildValue("(sL)", place.extents[d], factor));
    check(PyTuple_SetItem(tuple.get(), d, pair.release()));
  }
  return tuple;
}

std::int64_t integer(PyObject* object) {
  const long long value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred() != nullptr) throw Raised();
  return value;
}

// A tensor that does not exist: (dtype, shape, strides), of which only the description is read.
struct Described {
  Tensor tensor;
  std::string name;
};

void describe(PyObject* name, PyObject* row, Described& out) {
  PyObject *shape = nullptr, *strides = nullptr;
  const char* dtype = nullptr;
  if (PyArg_ParseTuple(row, "sO!O!", &dtype, &PyTuple_Type, &shape, &PyTuple_Type, &strides) == 0) throw Raised();
  const Py_ssize_t rank = PyTuple_Size(shape);
  if (rank > kMaxDimensions || PyTuple_Size(strides) != rank)
    raise(PyExc_ValueError, "a tensor has as many strides as dimensions, at most 16");
  quern_tensor& view = out.tensor.view;
  view = {};
  set_dtype(view, dtype);
  view.ndim = static_cast<std::int32_t>(rank);
  view.shape = out.tensor.numbers;
  view.strides = out.tensor.numbers + kMaxDimensions;
  for (Py_ssize_t d = 0; d < rank; ++d) {
    view.shape[d] = integer(PyTuple_GetItem(shape, d));
    view.strides[d] = integer(PyTuple_GetItem(strides, d));
  }
  out.name = text_of(name);
}

Ref problem_of(PyObject* args) {
  const char* settings = nullptr;
  PyObject* rows = nullptr;
  if (PyArg_ParseTuple(args, "sO!", &settings, &PyDict_Type, &rows) == 0) throw Raised();
  std::vector<Described> described(static_cast<std::size_t>(PyDict_Size(rows)));
  std::vector<const char*> names;
  std::vector<const quern_tensor*> tensors;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(rows, &position, &key, &value) != 0) {
    Described& next = described[tensors.size()];
    describe(key, value, next);
    names.push_back(next.name.c_str());
    tensors.push_back(&next.tensor.view);
  }
  const RuntimeRef runtime = default_runtime();
  std::string text(8192, '\0');
  size_t length = 0;
  quern_error* error = nullptr;
  check(quern_problem_of(runtime->runtime, settings, names.data(), tensors.data(), tensors.size(), text.data(),
                         text.size(), &length, &error),
        error);
  return owned(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(std::min(length, text.size() - 1))));
}

Ref places_of(PyObject* problem) {
  const std::string text = problem_text(problem);
  const RuntimeRef runtime = default_runtime();
  std::vector<quern_place> places(256);
  size_t count = 0;
  quern_error* error = nullptr;
  check(quern_problem_places(runtime->runtime, quern_text(text.c_str()), places.data(), places.size(), &count, &error),
        error);
  Ref list = owned(PyList_New(0));
  for (size_t i = 0; i < count && i < places.size(); ++i)
    check(PyList_Append(list.get(), description_of(places[i]).get()));
  return list;
}

PyMethodDef methods[] = {
    {"problem_of", [](PyObject*, PyObject* args) { return guarded([&] { return problem_of(args); }); }, METH_VARARGS,
     "problem_of(settings, tensors, /)\n--\n\n"
     "The problem's text that tensors are of. settings: 'glu activation=gelu'; tensors: a dict of operands' names and\n"
     "(dtype, shape, strides), as in {'x': ('bf16', (8, 64), (64, 1))}."},
    {"places", [](PyObject*, PyObject* problem) { return guarded([&] { return places_of(problem); }); }, METH_O,
     "places(problem, /)\n--\n\n"
     "The operands that a problem has: dicts of name, role, dtype, shape, strides, and multiples: (extent, factor) of\n"
     "each dimension that is so many times an open extent. None: known at the launch."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Ref description_of(const quern_place& place) {
  const Ref shape = numbers_of(place.shape, place.rank), strides = numbers_of(place.strides, place.rank),
            multiples = multiples_of(place);
  return owned(Py_BuildValue("{s:s,s:s,s:s,s:O,s:O,s:O}", "name", place.name, "role", place.role, "dtype", place.dtype,
                             "shape", shape.get(), "strides", strides.get(), "multiples", multiples.get()));
}

void add_problem(PyObject* module) { check(PyModule_AddFunctions(module, methods)); }

}  // namespace quern::python
