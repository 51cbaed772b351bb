#include "setting.h"

namespace quern::python {
namespace {

std::string string_of(PyObject* value) { return text_of(owned(PyObject_Str(value)).get()); }

std::string quoted(const std::string& text) {
  if (!text.empty() && text.find_first_of(" \t\n\"\\") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

// Of a type: its name; of an element type of a package: without the package.
std::string type_text(PyObject* value) {
  const Ref name(PyObject_GetAttrString(value, "__name__"));
  if (name != nullptr) return string_of(name.get());
  PyErr_Clear();
  const std::string whole = string_of(value);
  const std::size_t dot = whole.rfind('.');
  return dot == std::string::npos ? whole : whole.substr(dot + 1);
}

}  // namespace

std::string setting_text(PyObject* value) {
  if (value == Py_None) return "none";
  if (PyUnicode_Check(value) != 0) return quoted(text_of(value));
  if (PyLong_Check(value) != 0) return string_of(owned(PyNumber_Long(value)).get());  // True is 1
  if (PyList_Check(value) == 0 && PyTuple_Check(value) == 0) return quoted(type_text(value));
  std::string all;
  for (Py_ssize_t i = 0, size = PySequence_Size(value); i < size; ++i)
    all += (i == 0 ? "" : ",") + setting_text(owned(PySequence_GetItem(value, i)).get());
  return all.empty() ? "none" : all;
}

}  // namespace quern::python
