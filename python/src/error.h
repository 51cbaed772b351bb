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

// Whether the error that is set says that no context is current in this thread.
bool is_without_context();

}  // namespace quern::python

#endif  // QUERN_PYTHON_ERROR_H_
