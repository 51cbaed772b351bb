// Problems without a plan: what they are of given tensors, and what operands they have.
#ifndef QUERN_PYTHON_PROBLEM_H_
#define QUERN_PYTHON_PROBLEM_H_

#include "python.h"

namespace quern::python {

void add_problem(PyObject* module);

// A dict of a place's name, role, dtype, shape and strides, and what its open dimensions are multiples of.
Ref description_of(const quern_place& place);

}  // namespace quern::python

#endif  // QUERN_PYTHON_PROBLEM_H_
