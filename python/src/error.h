// quern.Error.
#ifndef QUERN_PYTHON_ERROR_H_
#define QUERN_PYTHON_ERROR_H_

#include "python.h"

namespace quern::python {

// Adds the type to the module.
void add_error(PyObject* module);

// Raises `error` as quern.Error and frees it, unless `code` is QUERN_OK. By reference: the call that gives `code` sets
// it.
void check(quern_code code, quern_error* const& error);
// As check, of a call with tensors in CPU memory: without a GPU the message says how to run it.
void check_of_cpu(quern_code code, quern_error* const& error);

// Whether the error that is set says that no context is current in this thread.
bool is_without_context();

}  // namespace quern::python

#endif  // QUERN_PYTHON_ERROR_H_
