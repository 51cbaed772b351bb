// The module's types: quern.Runtime, quern.Plan, and a function for each family.
#ifndef QUERN_PYTHON_OBJECTS_H_
#define QUERN_PYTHON_OBJECTS_H_

#include "python.h"

namespace quern::python {

struct RuntimeObject {
  PyObject_HEAD  // NOLINT
      quern_runtime* runtime;
  std::shared_ptr<quern_runtime>* owner;
  PyObject* log;  // a callable, or null
};

struct PlanObject {
  PyObject_HEAD                // NOLINT
      RuntimeObject* runtime;  // held
  quern_plan* plan;
  const quern_plan_info* info;
  bool on_host;
};

void add_runtime(PyObject* module);
void add_plan(PyObject* module);
void add_functions(PyObject* module);
void add_program(PyObject* module);
void add_torch(PyObject* module);

struct DecrementRuntime {
  void operator()(RuntimeObject* runtime) const { Py_DecRef(reinterpret_cast<PyObject*>(runtime)); }
};
// Held: set_device replaces the default one while other threads use it.
using RuntimeRef = std::unique_ptr<RuntimeObject, DecrementRuntime>;

// The runtime of the module's own functions, made at the first use.
RuntimeRef default_runtime();
// The same without the interpreter lock, which is taken only where there is none yet.
std::shared_ptr<quern_runtime> shared_default_runtime();
// Its address, to compare; null where there is none yet.
const quern_runtime* current_default_runtime();
// Throws Raised for an object that is none.
RuntimeRef as_runtime(PyObject* object);
bool is_on_host(const RuntimeObject* runtime);

// A problem's text, of a str or of an object whose str() it is.
std::string problem_text(PyObject* problem);

// A new quern.Plan.
// of_cpu_tensors: for a call with tensors in CPU memory, which a refusal for want of a GPU tells how to run.
Ref prepare(RuntimeObject* runtime, const std::string& problem, const char* config, bool of_cpu_tensors = false);

// Launches with an argument for each place, of the places' tensors; null entries are absent. Without the interpreter
// lock on the host, whose kernels take long.
struct Tensor;
void launch(const PlanObject* plan, quern_stream stream, const quern_tensor* const* tensors, std::size_t count,
            const quern_number* numbers, std::size_t number_count);

}  // namespace quern::python

#endif  // QUERN_PYTHON_OBJECTS_H_
