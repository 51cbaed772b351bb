#include "context.h"

namespace quern::python {

// A kernel of PyTorch's makes the context current; setting the device does not where it is the thread's already.
bool made_context_current(PyObject* tensor) {
  if (tensor == nullptr || !is_without_context()) return false;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const Ref made(PyObject_CallMethod(tensor, "new_zeros", "i", 1));
  if (made == nullptr) {
    PyErr_Restore(type, value, trace);
    return false;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return true;
}

}  // namespace quern::python
