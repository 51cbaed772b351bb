#include "error.h"

#include <iterator>

#include "hints.h"

namespace quern::python {
namespace {

PyObject* error_type = nullptr;
constexpr int kInvalidContext = 201;        // CUDA_ERROR_INVALID_CONTEXT
thread_local bool without_context = false;  // of the last error

constexpr const char* kDoc =
    "What quern refuses or cannot do. str() is the whole message; the attributes are its parts:\n"
    "\n"
    "code         'bad_input', 'unsupported', 'no_compiler', 'no_driver', 'no_device', 'compile', 'driver', 'io',\n"
    "             'resources' or 'internal'\n"
    "stage        'problem', 'specialize', 'compile', 'store', 'load' or 'launch'\n"
    "sentence     names the field or operand, its value and what would be accepted\n"
    "family       the family, or ''; likewise problem (its text), key (of the image) and log (the compiler's)\n"
    "driver_code  the driver's number where code is 'driver'\n"
    "lasting      True: the compiler rejected the source, so another try fails the same way\n"
    "remembered   True: an earlier compile failed, and is not retried for a while";

const char* code_text(quern_code code) {
  static constexpr const char* kNames[] = {"ok",        "bad_input", "unsupported", "no_compiler",
                                           "no_driver", "no_device", "compile",     "driver",
                                           "io",        "resources", "internal"};
  return static_cast<std::size_t>(code) < std::size(kNames) ? kNames[code] : "internal";
}

void set(PyObject* error, const char* name, Ref value) {
  if (value == nullptr) throw Raised();
  check(PyObject_SetAttrString(error, name, value.get()));
}

// Compilers' logs need not be UTF-8.
Ref string(const char* text) {
  return Ref(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::char_traits<char>::length(text)), "replace"));
}

[[noreturn]] void raise(const quern_error& from, bool of_cpu_tensors) {
  without_context = from.code == QUERN_NO_DEVICE || from.driver_code == kInvalidContext;
  const std::string hint = hint_of(from, of_cpu_tensors);
  const Ref message = string(message_with(from, hint).c_str());
  if (message == nullptr) throw Raised();
  const Ref error = owned(PyObject_CallFunctionObjArgs(error_type, message.get(), nullptr));
  set(error.get(), "code", string(code_text(from.code)));
  set(error.get(), "stage", string(from.stage));
  set(error.get(), "sentence", string((from.sentence + hint).c_str()));
  set(error.get(), "family", string(from.family));
  set(error.get(), "problem", string(from.problem));
  set(error.get(), "key", string(from.key));
  set(error.get(), "log", string(from.log));
  set(error.get(), "driver_code", Ref(PyLong_FromLong(from.driver_code)));
  set(error.get(), "lasting", Ref(PyBool_FromLong(from.lasting)));
  set(error.get(), "remembered", Ref(PyBool_FromLong(from.remembered)));
  PyErr_SetObject(error_type, error.get());
  throw Raised();
}

struct Free {
  void operator()(quern_error* error) const { quern_error_free(error); }
};

[[noreturn]] void raise_owned(quern_error* error, bool of_cpu_tensors) {
  const std::unique_ptr<quern_error, Free> owned_error(error);
  if (error == nullptr) {
    PyErr_NoMemory();
    throw Raised();
  }
  raise(*error, of_cpu_tensors);
}

}  // namespace

void add_error(PyObject* module) {
  if (error_type == nullptr)
    error_type = owned(PyErr_NewExceptionWithDoc("quern.Error", kDoc, nullptr, nullptr)).release();
  Py_IncRef(error_type);
  check(PyModule_AddObject(module, "Error", error_type));
}

void check(quern_code code, quern_error* const& error) {
  if (code != QUERN_OK) raise_owned(error, false);
}

void check_of_cpu(quern_code code, quern_error* const& error) {
  if (code != QUERN_OK) raise_owned(error, true);
}

bool is_without_context() { return without_context && PyErr_ExceptionMatches(error_type) != 0; }

}  // namespace quern::python
