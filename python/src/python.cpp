#include "python.h"

#include <cxxabi.h>
#include <unistd.h>

#include <cstring>

namespace quern::python {
void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw Raised();
}

const char* text_of(PyObject* object, const char* what) {
  if (PyUnicode_Check(object) == 0) raise(PyExc_TypeError, std::string(what) + " is not a str");
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) throw Raised();
  if (std::strlen(text) != static_cast<std::size_t>(size))
    raise(PyExc_ValueError, std::string(what) + " has a zero character");
  return text;
}

void lock_again(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

}  // namespace quern::python
