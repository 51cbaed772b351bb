#include "setting.h"

namespace quern::python {
namespace {

std::string string_of(PyObject* value) { return text_of(owned(PyObject_Str(value)).get()); }

// Of a type of a package, torch.bfloat16: without the package.
std::string type_text(PyObject* value) {
  const std::string whole = string_of(value);
  const std::size_t dot = whole.rfind('.');
  return dot == std::string::npos ? whole : whole.substr(dot + 1);
}

// A whole number without a point, since most fields are integers.
std::string float_text(PyObject* value) {
  if (owned(PyObject_CallMethod(value, "is_integer", nullptr)).get() == Py_True)
    return string_of(owned(PyNumber_Long(value)).get());
  return text_of(owned(PyObject_Repr(value)).get());
}

std::string list_text(PyObject* value) {
  std::string all;
  for (Py_ssize_t i = 0, size = PySequence_Size(value); i < size; ++i) {
    const Ref entry = owned(PySequence_GetItem(value, i));
    if (PyList_Check(entry.get()) != 0 || PyTuple_Check(entry.get()) != 0)
      raise(PyExc_TypeError, "a field takes a list of integers, not of lists");
    all += (i == 0 ? "" : ",") + setting_text(entry.get());
  }
  return all.empty() ? "none" : all;
}

}  // namespace

std::string quoted(const std::string& text) {
  if (!text.empty() && text.find_first_of(" \t\n\"\\") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string setting_text(PyObject* value) {
  if (value == Py_None) return "none";
  if (PyUnicode_Check(value) != 0) return quoted(text_of(value));
  if (PyLong_Check(value) != 0) return string_of(owned(PyNumber_Long(value)).get());  // True is 1
  if (PyFloat_Check(value) != 0) return float_text(owned(PyNumber_Float(value)).get());
  if (PyList_Check(value) != 0 || PyTuple_Check(value) != 0) return list_text(value);
  if (PyType_Check(value) != 0) return string_of(owned(PyObject_GetAttrString(value, "__name__")).get());
  if (const Ref plain(PyObject_CallMethod(value, "tolist", nullptr)); plain != nullptr)  // NumPy's arrays and numbers
    return setting_text(plain.get());
  PyErr_Clear();
  return quoted(type_text(value));
}

}  // namespace quern::python
