// Python's limited interface of 3.10, and owners of its references.
#ifndef QUERN_PYTHON_PYTHON_H_
#define QUERN_PYTHON_PYTHON_H_

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <memory>
#include <string>

#include "quern/c.h"

namespace quern::python {

struct Decrement {
  void operator()(PyObject* object) const { Py_DecRef(object); }
};
// An owned reference.
using Ref = std::unique_ptr<PyObject, Decrement>;

inline Ref copy(PyObject* object) {
  Py_IncRef(object);
  return Ref(object);
}

// A C++ exception that stands for the Python one that is set.
struct Raised {};

// Takes a new reference. Throws Raised if it is null.
inline Ref owned(PyObject* object) {
  if (object == nullptr) throw Raised();
  return Ref(object);
}

inline void check(int status) {
  if (status < 0) throw Raised();
}

// Raises a built-in exception.
[[noreturn]] void raise(PyObject* type, const std::string& message);

// The UTF-8 of a str; valid as long as the object. Throws Raised for another type, and for a zero in it, which C's
// texts end with. `what`: for the message.
const char* text_of(PyObject* object, const char* what = "a text");

// Runs `work`, which returns a new reference, behind Python's boundary.
template <class Work>
PyObject* guarded(const Work& work) {
  try {
    return work().release();
  } catch (const Raised&) {
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

inline Ref none() { return copy(Py_None); }

// Takes the interpreter lock again. While the interpreter ends it is not given to other threads, which Python up
// to 3.13 then unwinds, through frames that must not be: such a thread stays here until the process ends.
void lock_again(PyThreadState* state);

// Runs `work` without the global interpreter lock. It must not touch Python.
template <class Work>
auto unlocked(const Work& work) {
  PyThreadState* const state = PyEval_SaveThread();
  auto result = work();
  lock_again(state);
  return result;
}

}  // namespace quern::python

#endif  // QUERN_PYTHON_PYTHON_H_
