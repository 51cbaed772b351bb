// quern.gather and its like: from tensors to a plan, to results, to a launch.
#ifndef QUERN_PYTHON_FUNCTION_H_
#define QUERN_PYTHON_FUNCTION_H_

#include <string>

#include "python.h"

namespace quern::python {

// The docstring of a family's function, from its tables.
std::string function_doc(const quern_family& family);

}  // namespace quern::python

#endif  // QUERN_PYTHON_FUNCTION_H_
