// The cheapest type that a package could give: tensors in no memory, on cuda:0, with DLPack's exchange table. What a
// launch costs with it is quern's own part.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <cstdlib>
#include <cstring>

#include "dlpack.h"

namespace {

using quern::python::DlpackVersioned;
using quern::python::ExchangeTable;

struct Tensor {
  PyObject_HEAD  // NOLINT
      quern_tensor view;
  std::int64_t shape[2];
  std::int64_t strides[2];
};
PyTypeObject* tensor_type = nullptr;

PyObject* make(std::uint8_t code, std::uint8_t bits, int rank, std::int64_t rows, std::int64_t width) {
  const auto allocate =
      reinterpret_cast<PyObject* (*)(PyTypeObject*, Py_ssize_t)>(PyType_GetSlot(tensor_type, Py_tp_alloc));
  PyObject* const object = allocate(tensor_type, 0);
  if (object == nullptr) return nullptr;
  auto* const self = reinterpret_cast<Tensor*>(object);
  self->shape[0] = rows;
  self->shape[1] = width;
  self->strides[0] = rank == 1 ? 1 : width;
  self->strides[1] = 1;
  self->view = {reinterpret_cast<void*>(0x1000), 2, 0, rank, code, bits, 1, self->shape, self->strides, 0};
  return object;
}

PyObject* tensor(PyObject*, PyObject* args) {
  int code = 0, bits = 0, rank = 0;
  long long rows = 0, width = 0;
  if (PyArg_ParseTuple(args, "iiiLL", &code, &bits, &rank, &rows, &width) == 0) return nullptr;
  return make(static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), rank, rows, width);
}

// Carries the shape only.
int allocate(quern_tensor* prototype, DlpackVersioned** out, void*, void (*)(void*, const char*, const char*)) {
  *out = static_cast<DlpackVersioned*>(std::calloc(1, sizeof(DlpackVersioned)));
  (*out)->tensor = *prototype;
  return 0;
}
int to_object(DlpackVersioned* managed, void** object) {
  const quern_tensor& t = managed->tensor;
  *object = make(t.dtype_code, t.dtype_bits, t.ndim, t.shape[0], t.ndim == 1 ? 1 : t.shape[1]);
  std::free(managed);
  return *object == nullptr ? -1 : 0;
}
int view_object(void* object, quern_tensor* out) {
  *out = static_cast<Tensor*>(object)->view;
  return 0;
}
int current_stream(std::int32_t, std::int32_t, void** stream) {
  *stream = nullptr;
  return 0;
}

ExchangeTable table = {{1, 1}, nullptr, &allocate, nullptr, &to_object, &view_object, &current_stream};

void dealloc(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  reinterpret_cast<void (*)(void*)>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DecRef(reinterpret_cast<PyObject*>(type));
}

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)}, {0, nullptr}};
PyType_Spec spec = {"cost_tensor.Tensor", sizeof(Tensor), 0, Py_TPFLAGS_DEFAULT, slots};
PyMethodDef methods[] = {{"tensor", &tensor, METH_VARARGS, "tensor(code, bits, rank, rows, width)"},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "cost_tensor", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_cost_tensor() {
  PyObject* const module = PyModule_Create(&definition);
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  PyObject* const capsule = PyCapsule_New(&table, "dlpack_exchange_api", nullptr);
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__dlpack_c_exchange_api__", capsule) < 0)
    return nullptr;
  Py_DecRef(capsule);
  return module;
}
