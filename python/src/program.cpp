// Programs of formulas, for quern.fuse.
#include <vector>

#include "error.h"
#include "objects.h"

namespace quern::python {
namespace {

struct Free {
  void operator()(quern_program* program) const { quern_program_free(program); }
};

Ref rows_of(const quern_program_operand* operands, std::size_t count) {
  Ref rows = owned(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; i < count; ++i) {
    Ref row = owned(Py_BuildValue("(sss)", operands[i].name, operands[i].dtype, operands[i].kind));
    check(PyTuple_SetItem(rows.get(), static_cast<Py_ssize_t>(i), row.release()));
  }
  return rows;
}

Ref program(PyObject* args) {
  const char* text = nullptr;
  PyObject* wanted = nullptr;
  if (PyArg_ParseTuple(args, "s|O!", &text, &PyTuple_Type, &wanted) == 0) throw Raised();
  std::vector<const char*> names;
  for (Py_ssize_t i = 0; wanted != nullptr && i < PyTuple_Size(wanted); ++i)
    names.push_back(text_of(PyTuple_GetItem(wanted, i), "an input's name"));
  quern_program* made = nullptr;
  quern_error* error = nullptr;
  check(wanted == nullptr ? quern_program_read(text, &made, &error)
                          : quern_program_gradient(text, names.data(), names.size(), &made, &error),
        error);
  const std::unique_ptr<quern_program, Free> read(made);
  const Ref inputs = rows_of(read->inputs, read->input_count), outputs = rows_of(read->outputs, read->output_count);
  return owned(Py_BuildValue("(sOO)", read->text, inputs.get(), outputs.get()));
}

PyMethodDef methods[] = {
    {"_program", [](PyObject*, PyObject* args) { return guarded([&] { return program(args); }); }, METH_VARARGS,
     "_program(text, names=None, /)\n--\n\n"
     "(text, inputs, outputs) of a program, canonical; or of its gradient by the inputs `names`. An input or output "
     "is\n"
     "(name, dtype, kind), 'none' the problem's type."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_program(PyObject* module) { check(PyModule_AddFunctions(module, methods)); }

}  // namespace quern::python
