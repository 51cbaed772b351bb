#include "call.h"

#include <cmath>
#include <cstring>

#include "setting.h"

namespace quern::python {
namespace {

bool is_input(const quern_operand& operand) { return std::strcmp(operand.role, "input") == 0; }

std::string without_underscore(std::string name) {
  if (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

// A bound: views point into themselves, so they must not move.
std::size_t most_tensors(PyObject* const* args, Py_ssize_t count) {
  Py_ssize_t most = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const bool is_list = PyList_Check(args[i]) != 0 || PyTuple_Check(args[i]) != 0;
    most += is_list ? PySequence_Size(args[i]) : 1;
  }
  return static_cast<std::size_t>(most);
}

}  // namespace

Keywords::Keywords(const quern_family& family) : family_(family), names_(owned(PyDict_New())) {
  for (std::size_t i = 0; i < family.field_count; ++i) {
    const quern_field& field = family.fields[i];
    add(field.name, is_open_extent(field) ? number : setting);
    // pass is a word of Python, and a field may have an operand's name: pass_="backward", map_="mask".
    if (!is_open_extent(field)) add((std::string(field.name) + "_").c_str(), setting);
  }
  for (std::size_t i = 0; i < family.number_count; ++i) add(family.numbers[i].name, number);
  // An operand goes before the field that gives its type: scale=x.
  for (std::size_t i = 0; i < family.operand_count; ++i)
    if (std::strcmp(family.operands[i].role, "workspace") != 0) add(family.operands[i].name, operand, i);
  add("stream", stream);
  add("runtime", runtime);
  add("config", config);
}

void Keywords::add(const char* name, Kind kind, std::size_t index) {
  const Ref key = owned(PyUnicode_InternFromString(name));
  check(PyDict_SetItem(names_.get(), key.get(), owned(PyLong_FromSize_t(kind + 16 * index)).get()));
}

Keywords::Meaning Keywords::find(PyObject* name) const {
  PyObject* const code = PyDict_GetItemWithError(names_.get(), name);
  if (code == nullptr)
    raise(PyExc_TypeError, std::string(family_.name) + " has no field, operand or number " + text_of(name) +
                               "; help(quern." + family_.name + ") lists them");
  const long value = PyLong_AsLong(code);
  return {static_cast<Kind>(value % 16), static_cast<int>(value / 16)};
}

Call::Call(const quern_family& family, const Keywords& keywords, PyObject* const* args, Py_ssize_t count,
           PyObject* names)
    : family_(family) {
  const Py_ssize_t words = names == nullptr ? 0 : PyTuple_Size(names);
  tensors_.reserve(most_tensors(args, count + words));
  std::size_t next = 0;
  for (Py_ssize_t i = 0; i < count; ++i, ++next) {
    while (next < family.operand_count && !is_input(family.operands[next])) ++next;
    if (next == family.operand_count)
      raise(PyExc_TypeError, std::string(family.name) + " takes fewer tensors than " + std::to_string(count) +
                                 " by position: its inputs; results are given by name");
    add_operand(static_cast<int>(next), args[i]);
  }
  for (Py_ssize_t i = 0; i < words; ++i) {
    PyObject* const name = PyTuple_GetItem(names, i);
    add(name, keywords.find(name), args[count + i]);
  }
  if (runtime_ == nullptr) runtime_ = default_runtime();
  if (tensors_.empty()) raise(PyExc_TypeError, std::string(family.name) + " takes at least one tensor");
}

void Call::add(PyObject* name, const Keywords::Meaning& meaning, PyObject* value) {
  switch (meaning.kind) {
    case Keywords::operand:
      // A type or a word is for the field of that name.
      if (PyUnicode_Check(value) != 0 || PyType_Check(value) != 0) {
        settings_.push_back({name, value});
      } else {
        add_operand(meaning.index, value);
      }
      break;
    case Keywords::number:
      if (value != Py_None) add_number(name, value);
      break;
    case Keywords::setting:
      settings_.push_back({name, value});
      break;
    case Keywords::stream:
      stream_ = value;
      break;
    case Keywords::runtime:
      runtime_ = as_runtime(value);
      break;
    case Keywords::config:
      config_ = value == Py_None ? nullptr : text_of(value, "config");
      break;
  }
}

void Call::add_operand(int operand, PyObject* value) {
  if (value == Py_None) return;
  const quern_operand& row = family_.operands[operand];
  if (row.is_list == 0) {
    add_tensor(operand, 0, value);
    return;
  }
  if (PyList_Check(value) == 0 && PyTuple_Check(value) == 0)
    raise(PyExc_TypeError, std::string(row.name) + " takes a list of tensors");
  for (Py_ssize_t i = 0, size = PySequence_Size(value); i < size; ++i) {
    const Ref entry = owned(PySequence_GetItem(value, i));
    if (entry.get() != Py_None) add_tensor(operand, static_cast<int>(i), entry.get());
  }
}

void Call::add_tensor(int operand, int entry, PyObject* value) {
  if (find(operand, entry) != nullptr)
    raise(PyExc_TypeError, std::string(family_.operands[operand].name) + " is given twice");
  if (tensors_.size() == tensors_.capacity())
    raise(PyExc_RuntimeError, std::string(family_.operands[operand].name) + " grew during the call");
  GivenTensor& given = tensors_.emplace_back();
  given.operand = operand;
  given.entry = entry;
  given.object = copy(value);
  view(value, family_.operands[operand].name, given.tensor);
  if (given.tensor.read_only && !is_input(family_.operands[operand]))
    raise(PyExc_ValueError, std::string(family_.operands[operand].name) + " is read-only");
}

quern_number number_of(PyObject* name, PyObject* value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  quern_number number{text_of(name), PyFloat_AsDouble(value), INT64_MIN};
  if (PyErr_Occurred() != nullptr) throw Raised();
  if (PyLong_Check(value) != 0) {
    number.integer = PyLong_AsLongLong(value);
  } else if (number.real >= -kExact && number.real <= kExact && std::trunc(number.real) == number.real) {
    number.integer = static_cast<std::int64_t>(number.real);
  }
  if (PyErr_Occurred() != nullptr) throw Raised();
  return number;
}

void Call::add_number(PyObject* name, PyObject* value) { numbers_.push_back(number_of(name, value)); }

const GivenTensor* Call::find(int operand, int entry) const {
  for (const GivenTensor& given : tensors_) {
    if (given.operand == operand && given.entry == entry) return &given;
  }
  return nullptr;
}

quern_stream Call::stream() const {
  if (is_on_host(runtime())) return nullptr;
  for (const GivenTensor& given : tensors_) {
    if (given.tensor.table != nullptr) return stream_of(stream_, &given.tensor, 1);
  }
  return stream_of(stream_, nullptr, 0);
}

std::string Call::text(bool whole) const {
  std::string text = family_.name;
  for (const GivenSetting& setting : settings_)
    text += " " + without_underscore(text_of(setting.name)) + "=" + setting_text(setting.value);
  for (const quern_number& number : numbers_) {
    for (std::size_t i = 0; i < family_.field_count && whole; ++i) {
      if (std::strcmp(family_.fields[i].name, number.name) == 0)
        text += std::string(" ") + number.name + "=" + std::to_string(number.integer);
    }
  }
  return text;
}

}  // namespace quern::python
