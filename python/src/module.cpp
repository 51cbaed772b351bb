// The module quern._quern.
#include "error.h"
#include "objects.h"
#include "problem.h"
#include "setting.h"

namespace quern::python {
namespace {

Ref text_or_none(const char* text) { return text == nullptr ? none() : owned(PyUnicode_FromString(text)); }

Ref field_row(const quern_field& field) {
  Ref choices = none();
  if (field.choices != nullptr) {
    choices = owned(PyList_New(0));
    for (int i = 0; field.choices[i] != nullptr; ++i)
      check(PyList_Append(choices.get(), text_or_none(field.choices[i]).get()));
  }
  return owned(Py_BuildValue("{s:s,s:s,s:s,s:s,s:O,s:s}", "name", field.name, "kind", field.kind, "default",
                             field.default_value, "accepted", field.accepted, "choices", choices.get(), "sentence",
                             field.sentence));
}
Ref operand_row(const quern_operand& operand) {
  return owned(Py_BuildValue("{s:s,s:s,s:s,s:s,s:O}", "name", operand.name, "role", operand.role, "shape",
                             operand.shape, "sentence", operand.sentence, "is_list",
                             operand.is_list != 0 ? Py_True : Py_False));
}
Ref number_row(const quern_number_field& number) {
  return owned(Py_BuildValue("{s:s,s:s,s:d,s:s}", "name", number.name, "dtype", number.dtype, "default",
                             number.default_value, "sentence", number.sentence));
}

template <class T>
Ref rows(const T* table, std::size_t count, Ref (*row)(const T&)) {
  Ref list = owned(PyList_New(0));
  for (std::size_t i = 0; i < count; ++i) check(PyList_Append(list.get(), row(table[i]).get()));
  return list;
}

PyObject* families(PyObject*, PyObject*) {
  return guarded([] {
    Ref all = owned(PyDict_New());
    size_t count = 0;
    const quern_family* const table = quern_families(&count);
    for (size_t i = 0; i < count; ++i) {
      const quern_family& f = table[i];
      const Ref fields = rows(f.fields, f.field_count, &field_row),
                operands = rows(f.operands, f.operand_count, &operand_row),
                numbers = rows(f.numbers, f.number_count, &number_row);
      const Ref family = owned(Py_BuildValue("{s:s,s:s,s:O,s:O,s:O}", "name", f.name, "sentence", f.sentence, "fields",
                                             fields.get(), "operands", operands.get(), "numbers", numbers.get()));
      check(PyDict_SetItemString(all.get(), f.name, family.get()));
    }
    return all;
  });
}

PyObject* setting(PyObject*, PyObject* value) {
  return guarded([&] { return owned(PyUnicode_FromString(setting_text(value).c_str())); });
}

PyMethodDef methods[] = {
    {"families", &families, METH_NOARGS,
     "families()\n--\n\n"
     "The tables of every family, by name: its sentence, and its fields, operands and numbers as lists of dicts."},
    {"setting_text", &setting, METH_O, "setting_text(value, /)\n--\n\nA field's value as problem texts write it."},
    {nullptr, nullptr, 0, nullptr},
};

// Types and plans are the process's, so other interpreters cannot have them.
int execute(PyObject* module) {
  try {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
      PyErr_SetString(PyExc_ImportError, "quern can be imported in the main interpreter only, not in a subinterpreter");
      return -1;
    }
    add_error(module);
    add_runtime(module);
    add_plan(module);
    add_functions(module);
    add_problem(module);
    add_program(module);
    add_torch(module);
    check(PyModule_AddStringConstant(module, "__version__", quern_version()));
    return 0;
  } catch (const Raised&) {
    return -1;
  }
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(&execute)},
    {0, nullptr},
};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "quern._quern", nullptr, 0, methods, slots, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace quern::python

PyMODINIT_FUNC PyInit__quern() { return PyModuleDef_Init(&quern::python::definition); }
