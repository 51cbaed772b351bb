// quern.Runtime, and the module's default one.
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "error.h"
#include "hints.h"
#include "objects.h"

namespace quern::python {
namespace {

PyTypeObject* runtime_type = nullptr;
RuntimeObject* the_default = nullptr;  // guarded by the interpreter lock

// The default runtime for threads without that lock. It lives as long as the process: threads may use it at the end.
struct SharedDefault {
  std::mutex mutex;
  std::shared_ptr<quern_runtime> runtime;
  std::atomic<const quern_runtime*> current{nullptr};
};
SharedDefault& shared_default() {
  static auto* const made = new SharedDefault;
  return *made;
}

void set_default(RuntimeObject* runtime) {
  the_default = runtime;
  SharedDefault& shared = shared_default();
  std::shared_ptr<quern_runtime> before = *runtime->owner;  // goes last, without the mutex
  const std::lock_guard<std::mutex> lock(shared.mutex);
  shared.runtime.swap(before);
  shared.current.store(shared.runtime.get(), std::memory_order_release);
}

RuntimeRef hold(RuntimeObject* runtime) {
  Py_IncRef(reinterpret_cast<PyObject*>(runtime));
  return RuntimeRef(runtime);
}

// ---- Options ----

const char* level_text(quern_log_level level) {
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  return kNames[level];
}

// Called by any thread of the library. The interpreter may be gone when the last images are written.
void log_to(void* context, quern_log_level level, const char* line) {
  if (Py_IsInitialized() == 0) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  const Ref result(PyObject_CallFunction(static_cast<PyObject*>(context), "ss", level_text(level), line));
  if (result == nullptr) PyErr_WriteUnraisable(static_cast<PyObject*>(context));
  PyGILState_Release(state);
}

// "cache_dir" -> "QUERN_CACHE_DIR"
std::string variable_of(const char* name) {
  std::string variable = "QUERN_";
  for (; *name != 0; ++name) variable += static_cast<char>(*name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name);
  return variable;
}

std::string value_text(PyObject* value) { return text_of(owned(PyObject_Str(value)).get()); }

// A list's entries are separated by colons.
std::string option_text(PyObject* value) {
  if (PyList_Check(value) == 0 && PyTuple_Check(value) == 0) return value_text(value);
  std::string all;
  for (Py_ssize_t i = 0, size = PySequence_Size(value); i < size; ++i)
    all += (i == 0 ? "" : ":") + value_text(owned(PySequence_GetItem(value, i)).get());
  return all;
}

class Settings {
 public:
  void add(const char* name, std::string value) {
    names_.push_back(variable_of(name));
    values_.push_back(std::move(value));
  }
  quern_runtime* create(PyObject* log) const {
    std::vector<quern_option> options;
    // Where pip puts NVRTC, also if the environment is used without being activated.
    const char* const prefix = text_of(PySys_GetObject("prefix"));
    if (std::getenv("VIRTUAL_ENV") == nullptr) options.push_back({"VIRTUAL_ENV", prefix});
    for (std::size_t i = 0; i < names_.size(); ++i) options.push_back({names_[i].c_str(), values_[i].c_str()});
    const quern_options all = {options.data(), options.size(), log == nullptr ? nullptr : &log_to, log};
    quern_runtime* made = nullptr;
    quern_error* error = nullptr;
    check(unlocked([&] { return quern_runtime_create(&all, &made, &error); }), error);
    note_first_use();
    return made;
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> values_;
};

// Keywords: on_log, and the options.
Settings read_options(PyObject* words, PyObject** log) {
  Settings settings;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (words != nullptr && PyDict_Next(words, &position, &key, &value) != 0) {
    const std::string name = text_of(key);
    if (name == "on_log") {
      if (value != Py_None && PyCallable_Check(value) == 0) raise(PyExc_TypeError, "on_log is not callable");
      if (value != Py_None) *log = value;
    } else if (value != Py_None) {
      settings.add(name.c_str(), option_text(value));
    }
  }
  return settings;
}

Ref new_runtime(const Settings& settings, PyObject* log) {
  using New = PyObject* (*)(PyTypeObject*, Py_ssize_t);
  const auto allocate = reinterpret_cast<New>(PyType_GetSlot(runtime_type, Py_tp_alloc));
  Ref object = owned(allocate(runtime_type, 0));
  auto* const self = reinterpret_cast<RuntimeObject*>(object.get());
  self->runtime = settings.create(log);
  self->owner = new std::shared_ptr<quern_runtime>(self->runtime, &quern_runtime_destroy);
  self->log = log;
  Py_XINCREF(log);
  return object;
}

PyObject* runtime_new(PyTypeObject*, PyObject* args, PyObject* words) {
  return guarded([&] {
    if (PyTuple_Size(args) != 0) raise(PyExc_TypeError, "Runtime takes keywords only, as in Runtime(device='host')");
    PyObject* log = nullptr;
    const Settings settings = read_options(words, &log);
    return new_runtime(settings, log);
  });
}

// Its threads may be logging, for which they need the interpreter lock.
void runtime_dealloc(PyObject* object) {
  auto* const self = reinterpret_cast<RuntimeObject*>(object);
  unlocked([&] {
    delete self->owner;
    return 0;
  });
  Py_XDECREF(self->log);
  PyTypeObject* const type = Py_TYPE(object);
  const auto release = reinterpret_cast<void (*)(void*)>(PyType_GetSlot(type, Py_tp_free));
  release(object);
  Py_DecRef(reinterpret_cast<PyObject*>(type));
}

// ---- Methods; those of the module take the default runtime ----

// A keyword or positional argument of a function with few of them.
const char* text_or_null(PyObject* object, const char* what) {
  return object == nullptr || object == Py_None ? nullptr : text_of(object, what);
}

Ref prepare_with(RuntimeObject* runtime, PyObject* args, PyObject* words) {
  static const char* const kNames[] = {"problem", "config", nullptr};
  PyObject *problem = nullptr, *config = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, words, "O|O:prepare", const_cast<char**>(kNames), &problem, &config) == 0)
    throw Raised();
  return prepare(runtime, problem_text(problem), text_or_null(config, "config"));
}

Ref prewarm_with(RuntimeObject* runtime, PyObject* args, PyObject* words) {
  static const char* const kNames[] = {"problem", "arch", "device_model", "config", nullptr};
  PyObject *problem = nullptr, *arch = nullptr, *model = nullptr, *config = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, words, "OO|OO:prewarm", const_cast<char**>(kNames), &problem, &arch, &model,
                                  &config) == 0)
    throw Raised();
  const std::string text = problem_text(problem);
  const char *const arch_text = text_of(arch, "arch"), *const model_text = text_or_null(model, "device_model"),
                    *const config_text = text_or_null(config, "config");
  size_t images = 0;
  quern_error* error = nullptr;
  check(unlocked([&] {
          return quern_prewarm(runtime->runtime, quern_text(text.c_str()), arch_text, model_text, config_text, &images,
                               &error);
        }),
        error);
  return owned(PyLong_FromSize_t(images));
}

Ref statistics_of(RuntimeObject* runtime) {
  quern_counter counters[128];
  const size_t count = unlocked([&] { return quern_runtime_statistics(runtime->runtime, counters, 128); });
  Ref result = owned(PyDict_New());
  for (size_t i = 0; i < count && i < 128; ++i)
    check(PyDict_SetItemString(result.get(), counters[i].name, owned(PyFloat_FromDouble(counters[i].value)).get()));
  return result;
}

template <quern_code (*F)(quern_runtime*, quern_error**)>
Ref call(RuntimeObject* runtime) {
  quern_error* error = nullptr;
  check(unlocked([&] { return F(runtime->runtime, &error); }), error);
  return none();
}

// A method of Runtime, and a function of the module for the default runtime.
template <Ref (*F)(RuntimeObject*, PyObject*, PyObject*)>
PyObject* of_runtime(PyObject* self, PyObject* args, PyObject* words) {
  return guarded([&] { return F(reinterpret_cast<RuntimeObject*>(self), args, words); });
}
template <Ref (*F)(RuntimeObject*, PyObject*, PyObject*)>
PyObject* of_default(PyObject*, PyObject* args, PyObject* words) {
  return guarded([&] { return F(default_runtime().get(), args, words); });
}
template <Ref (*F)(RuntimeObject*)>
PyObject* of_runtime(PyObject* self, PyObject*) {
  return guarded([&] { return F(reinterpret_cast<RuntimeObject*>(self)); });
}
template <Ref (*F)(RuntimeObject*)>
PyObject* of_default(PyObject*, PyObject*) {
  return guarded([&] { return F(default_runtime().get()); });
}

template <class F>
PyCFunction as_method(F function) {
  return reinterpret_cast<PyCFunction>(function);
}

constexpr const char* kPrepareDoc =
    "prepare($self, /, problem, config=None)\n--\n\n"
    "The quern.Plan of a problem: a text, 'gather width=7168', or a problem such as quern.Gather(width=7168).\n\n"
    "Compiles what is not in the cache. config changes the default config, 'threads=128'.";
constexpr const char* kPrewarmDoc =
    "prewarm($self, /, problem, arch, device_model=None, config=None)\n--\n\n"
    "Compiles every image that a problem may need on arch ('sm_90a') into the cache; returns their number.\n\n"
    "Needs no driver and no GPU.";
constexpr const char* kStatisticsDoc =
    "statistics($self, /)\n--\n\nThe counters since the runtime was made, as a dict: {'compiles.count': 2.0, ...}.";
constexpr const char* kFlushDoc = "flush($self, /)\n--\n\nWaits until compiled images are on disk.";
constexpr const char* kTrimDoc =
    "trim($self, /)\n--\n\nFrees what is only kept for the next prepare. Launched work must have finished.";

PyMethodDef runtime_methods[] = {
    {"prepare", as_method(&of_runtime<&prepare_with>), METH_VARARGS | METH_KEYWORDS, kPrepareDoc},
    {"prewarm", as_method(&of_runtime<&prewarm_with>), METH_VARARGS | METH_KEYWORDS, kPrewarmDoc},
    {"statistics", as_method(static_cast<PyCFunction>(&of_runtime<&statistics_of>)), METH_NOARGS, kStatisticsDoc},
    {"flush", as_method(static_cast<PyCFunction>(&of_runtime<&call<&quern_runtime_flush>>)), METH_NOARGS, kFlushDoc},
    {"trim", as_method(static_cast<PyCFunction>(&of_runtime<&call<&quern_runtime_trim>>)), METH_NOARGS, kTrimDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* set_device(PyObject*, PyObject* device) {
  return guarded([&] {
    Settings settings;
    settings.add("device", text_of(device, "device"));
    Ref made = new_runtime(settings, nullptr);  // refuses an unknown device
    const RuntimeRef before(the_default);       // goes last: other threads run while it ends
    set_default(reinterpret_cast<RuntimeObject*>(made.release()));
    return none();
  });
}

PyObject* flush_default(PyObject*, PyObject*) {
  return guarded([&] { return the_default == nullptr ? none() : call<&quern_runtime_flush>(default_runtime().get()); });
}

PyMethodDef module_methods[] = {
    {"prepare", as_method(&of_default<&prepare_with>), METH_VARARGS | METH_KEYWORDS, kPrepareDoc},
    {"prewarm", as_method(&of_default<&prewarm_with>), METH_VARARGS | METH_KEYWORDS, kPrewarmDoc},
    {"statistics", as_method(static_cast<PyCFunction>(&of_default<&statistics_of>)), METH_NOARGS, kStatisticsDoc},
    {"flush", &flush_default, METH_NOARGS, kFlushDoc},
    {"trim", as_method(static_cast<PyCFunction>(&of_default<&call<&quern_runtime_trim>>)), METH_NOARGS, kTrimDoc},
    {"set_device", &set_device, METH_O,
     "set_device($module, device, /)\n--\n\n"
     "Where the module's own functions run from now on: 'cuda', or 'host', the CPU, for tests."},
    {nullptr, nullptr, 0, nullptr},
};

constexpr const char* kDoc =
    "Runtime(*, device=None, on_log=None, **options)\n--\n\n"
    "Turns problems into plans. The module's functions use a default one.\n\n"
    "device   'cuda' (default) or 'host', the CPU, for tests\n"
    "on_log   a function of a level ('info') and a line, instead of stderr\n"
    "options  named as the environment variables without QUERN_: cache_dir='/var/cache', log='info',\n"
    "         cache_layers=['app.pack']; `python -m quern help` and docs/design.md list them";

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(&runtime_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&runtime_dealloc)},
    {Py_tp_methods, runtime_methods},
    {Py_tp_doc, const_cast<char*>(kDoc)},
    {0, nullptr},
};
PyType_Spec spec = {"quern.Runtime", sizeof(RuntimeObject), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

RuntimeRef default_runtime() {
  if (the_default == nullptr) {
    Settings settings;
    Ref made = new_runtime(settings, nullptr);  // other threads run meanwhile, and may have made one too
    if (the_default == nullptr) set_default(reinterpret_cast<RuntimeObject*>(made.release()));
  }
  return hold(the_default);
}

const quern_runtime* current_default_runtime() { return shared_default().current.load(std::memory_order_acquire); }

// By a thread that may lack the interpreter lock.
static void make_default() {
  std::string refusal;
  const PyGILState_STATE state = PyGILState_Ensure();
  try {
    default_runtime();
  } catch (const Raised&) {
    PyErr_WriteUnraisable(nullptr);
    refusal = "quern could not make its runtime";
  } catch (const std::exception& error) {
    refusal = error.what();
  }
  PyGILState_Release(state);
  if (!refusal.empty()) throw std::runtime_error(refusal);
}

std::shared_ptr<quern_runtime> shared_default_runtime() {
  SharedDefault& shared = shared_default();
  if (current_default_runtime() == nullptr) make_default();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  return shared.runtime;
}

RuntimeRef as_runtime(PyObject* object) {
  if (object == Py_None) return default_runtime();
  if (PyObject_IsInstance(object, reinterpret_cast<PyObject*>(runtime_type)) != 1)
    raise(PyExc_TypeError, "runtime takes a quern.Runtime");
  return hold(reinterpret_cast<RuntimeObject*>(object));
}

bool is_on_host(const RuntimeObject* runtime) { return quern_runtime_on_host(runtime->runtime) != 0; }

std::string problem_text(PyObject* problem) { return value_text(problem); }

void add_runtime(PyObject* module) {
  runtime_type = reinterpret_cast<PyTypeObject*>(owned(PyType_FromSpec(&spec)).release());
  check(PyModule_AddObject(module, "Runtime", copy(reinterpret_cast<PyObject*>(runtime_type)).release()));
  check(PyModule_AddFunctions(module, module_methods));
  // Images that are still being written when the program ends.
  const Ref atexit = owned(PyImport_ImportModule("atexit"));
  const Ref flush = owned(PyObject_GetAttrString(module, "flush"));
  owned(PyObject_CallMethod(atexit.get(), "register", "O", flush.get()));
}

}  // namespace quern::python
