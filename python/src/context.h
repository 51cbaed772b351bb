// A thread's first use of a GPU.
#ifndef QUERN_PYTHON_CONTEXT_H_
#define QUERN_PYTHON_CONTEXT_H_

#include "error.h"

namespace quern::python {

// Where the error that is set says that no context is current, has PyTorch's `tensor` make its device's so, clears the
// error and returns true. Null, or another package's: returns false.
bool made_context_current(PyObject* tensor);

// Runs `work`, and once more if it lacked a context.
template <class Work>
auto in_context(PyObject* tensor, const Work& work) {
  try {
    return work();
  } catch (const Raised&) {
    if (!made_context_current(tensor)) throw;
  }
  return work();
}

}  // namespace quern::python

#endif  // QUERN_PYTHON_CONTEXT_H_
