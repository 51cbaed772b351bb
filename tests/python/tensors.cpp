// Tensors of the tests' own, whose types have DLPack's exchange table, and capsules. They count what is called, and
// fail when told to. The structs are written from DLPack's specification, not taken from the code under test.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

struct Version {
  std::uint32_t major, minor;
};
struct View {
  void* data;
  std::int32_t device_type, device_id, rank;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct Old {
  View view;
  void* context;
  void (*deleter)(Old*);
};
struct Versioned {
  Version version;
  void* context;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  View view;
};
struct Table {
  Version version;
  Table* older;
  int (*allocate)(View*, Versioned**, void*, void (*)(void*, const char*, const char*));
  int (*from_object)(void*, Versioned**);
  int (*to_object)(Versioned*, void**);
  int (*view_object)(void*, View*);
  int (*current_stream)(std::int32_t, std::int32_t, void**);
};

constexpr int kMost = 32;  // dimensions

std::map<std::string, long>& counts() {
  static auto* const all = new std::map<std::string, long>;
  return *all;
}
std::string failing;          // the function that fails
void* stream_now = nullptr;   // what current_stream says
std::uint64_t flags_now = 0;  // of managed tensors
Version version_now = {1, 1};

// Counts a call; true: it is the one to fail.
bool enter(const char* function) {
  ++counts()[function];
  return failing == function;
}
int fail(const char* function) {
  PyErr_Format(PyExc_LookupError, "%s failed", function);
  return -1;
}

// ---- A type of tensors ----

struct Tensor {
  PyObject_HEAD View view;
  std::int64_t numbers[2 * kMost];
  PyObject* owner;     // of memory that is not from `allocate`
  Versioned* managed;  // of memory that is
};
PyTypeObject* tensor_type = nullptr;

// The deleter of what `allocate` made; `numbers` is overwritten, so that a later read shows.
struct Block {
  Versioned managed;
  std::int64_t numbers[2 * kMost];
};
void delete_block(Versioned* managed) {
  ++counts()["freed"];
  std::free(managed->view.data);
  auto* const block = reinterpret_cast<Block*>(managed);
  std::memset(block->numbers, 0x5a, sizeof block->numbers);
  delete block;
}

void copy_numbers(View& view, std::int64_t* numbers) {
  if (view.rank > kMost) std::abort();
  for (int d = 0; d < view.rank; ++d) {
    numbers[d] = view.shape[d];
    if (view.strides != nullptr) numbers[kMost + d] = view.strides[d];
  }
  view.shape = numbers;
  if (view.strides != nullptr) view.strides = numbers + kMost;
}

int allocate(View* prototype, Versioned** out, void* context, void (*refuse)(void*, const char*, const char*)) {
  if (enter("allocate")) {
    refuse(context, "MemoryError", "allocate failed");
    return -1;
  }
  auto* const block = new Block{};
  View& view = block->managed.view;
  view = *prototype;
  view.strides = nullptr;
  copy_numbers(view, block->numbers);
  std::size_t bytes = view.bits / 8 * view.lanes;
  for (int d = 0; d < view.rank; ++d) bytes *= static_cast<std::size_t>(view.shape[d]);
  view.data = std::malloc(bytes + 1);
  std::memset(view.data, 0xa5, bytes);
  view.byte_offset = 0;
  block->managed.version = {1, 1};
  block->managed.deleter = &delete_block;
  *out = &block->managed;
  return 0;
}

int to_object(Versioned* managed, void** out) {
  if (enter("to_object")) {
    managed->deleter(managed);
    return fail("to_object");
  }
  auto* const self = reinterpret_cast<Tensor*>(PyType_GenericAlloc(tensor_type, 0));
  if (self == nullptr) return -1;
  self->view = managed->view;
  copy_numbers(self->view, self->numbers);
  self->managed = managed;
  *out = self;
  return 0;
}

struct Borrowed {
  Versioned managed;
  std::int64_t numbers[2 * kMost];
  PyObject* object;
};
void delete_borrowed(Versioned* managed) {
  ++counts()["deleted"];
  auto* const self = reinterpret_cast<Borrowed*>(managed);
  Py_DECREF(self->object);
  std::memset(self->numbers, 0x5a, sizeof self->numbers);
  delete self;
}
int from_object(void* object, Versioned** out) {
  if (enter("from_object")) return fail("from_object");
  auto* const self = new Borrowed{};
  self->managed = {version_now, nullptr, &delete_borrowed, flags_now, static_cast<Tensor*>(object)->view};
  copy_numbers(self->managed.view, self->numbers);
  self->object = static_cast<PyObject*>(object);
  Py_INCREF(self->object);
  *out = &self->managed;
  return 0;
}

int view_object(void* object, View* out) {
  if (enter("view")) return fail("view");
  *out = static_cast<Tensor*>(object)->view;
  return 0;
}

int current_stream(std::int32_t /*type*/, std::int32_t /*id*/, void** out) {
  if (enter("current_stream")) return fail("current_stream");
  *out = stream_now;
  return 0;
}

Table viewing = {{1, 3}, nullptr, &allocate, &from_object, &to_object, &view_object, &current_stream};
Table managing = {{1, 3}, nullptr, &allocate, &from_object, &to_object, nullptr, &current_stream};
Table newer = {{2, 0}, &viewing, nullptr, nullptr, nullptr, nullptr, nullptr};
Table only_newer = {{2, 0}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};

// Tensor(address, code, bits, shape, strides, owner, device_type)
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject*) {
  unsigned long long address = 0;
  int code = 0, bits = 0, device = 1;
  PyObject *shape = nullptr, *strides = nullptr, *owner = nullptr;
  if (!PyArg_ParseTuple(args, "KiiO!OO|i", &address, &code, &bits, &PyTuple_Type, &shape, &strides, &owner, &device))
    return nullptr;
  auto* const self = reinterpret_cast<Tensor*>(PyType_GenericAlloc(type, 0));
  if (self == nullptr) return nullptr;
  View& view = self->view;
  view.data = reinterpret_cast<void*>(address);
  view.device_type = device;
  view.code = static_cast<std::uint8_t>(code);
  view.bits = static_cast<std::uint8_t>(bits);
  view.lanes = 1;
  view.rank = static_cast<std::int32_t>(PyTuple_Size(shape));
  view.shape = self->numbers;
  view.strides = strides == Py_None ? nullptr : self->numbers + kMost;
  for (int d = 0; d < view.rank && d < kMost; ++d) {
    view.shape[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
    if (view.strides != nullptr) view.strides[d] = PyLong_AsLongLong(PyTuple_GetItem(strides, d));
  }
  self->owner = owner;
  Py_INCREF(owner);
  return reinterpret_cast<PyObject*>(self);
}

void tensor_dealloc(PyObject* object) {
  auto* const self = reinterpret_cast<Tensor*>(object);
  if (self->managed != nullptr) self->managed->deleter(self->managed);
  Py_XDECREF(self->owner);
  PyTypeObject* const type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* tensor_fill(PyObject* object, PyObject* value) {
  if (enter("fill_")) return fail("fill_"), nullptr;
  const View& view = reinterpret_cast<Tensor*>(object)->view;
  std::size_t count = 1;
  for (int d = 0; d < view.rank; ++d) count *= static_cast<std::size_t>(view.shape[d]);
  const long number = PyLong_AsLong(value);
  for (std::size_t i = 0; i < count && view.bits == 32; ++i) {
    if (view.code == 2)
      static_cast<float*>(view.data)[i] = static_cast<float>(number);
    else
      static_cast<std::int32_t*>(view.data)[i] = static_cast<std::int32_t>(number);
  }
  Py_INCREF(object);
  return object;
}

PyObject* shape_of(PyObject* object, void*) {
  const View& view = reinterpret_cast<Tensor*>(object)->view;
  PyObject* const tuple = PyTuple_New(view.rank);
  for (int d = 0; d < view.rank; ++d) PyTuple_SetItem(tuple, d, PyLong_FromLongLong(view.shape[d]));
  return tuple;
}
PyObject* address_of(PyObject* object, void*) {
  return PyLong_FromVoidPtr(reinterpret_cast<Tensor*>(object)->view.data);
}
PyObject* dtype_of(PyObject* object, void*) {
  const View& view = reinterpret_cast<Tensor*>(object)->view;
  return Py_BuildValue("(ii)", view.code, view.bits);
}
PyObject* is_made(PyObject* object, void*) {
  return PyBool_FromLong(reinterpret_cast<Tensor*>(object)->managed != nullptr);
}

PyMethodDef tensor_methods[] = {{"fill_", &tensor_fill, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyGetSetDef tensor_attributes[] = {
    {"shape", &shape_of, nullptr, nullptr, nullptr},   {"address", &address_of, nullptr, nullptr, nullptr},
    {"element", &dtype_of, nullptr, nullptr, nullptr}, {"made", &is_made, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(&tensor_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&tensor_dealloc)},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_attributes},
    {0, nullptr},
};
PyType_Spec spec = {"tensors.Tensor", sizeof(Tensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

// ---- Capsules ----

struct BorrowedOld {
  Old managed;
  std::int64_t numbers[2 * kMost];
  PyObject* object;
};
void delete_old(Old* managed) {
  ++counts()["deleted"];
  auto* const self = reinterpret_cast<BorrowedOld*>(managed);
  Py_DECREF(self->object);
  std::memset(self->numbers, 0x5a, sizeof self->numbers);
  delete self;
}
void drop_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor") != 0) {
    auto* const managed = static_cast<Old*>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->deleter(managed);
  } else if (PyCapsule_IsValid(capsule, "dltensor_versioned") != 0) {
    auto* const managed = static_cast<Versioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    managed->deleter(managed);
  }
}

// capsule(tensor, versioned): of a tensor's memory.
PyObject* capsule(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  int versioned = 0;
  if (!PyArg_ParseTuple(args, "O!p", tensor_type, &object, &versioned)) return nullptr;
  if (versioned != 0) {
    Versioned* managed = nullptr;
    if (from_object(object, &managed) != 0) return nullptr;
    return PyCapsule_New(managed, "dltensor_versioned", &drop_capsule);
  }
  auto* const self = new BorrowedOld{};
  self->managed = {reinterpret_cast<Tensor*>(object)->view, nullptr, &delete_old};
  copy_numbers(self->managed.view, self->numbers);
  self->object = object;
  Py_INCREF(object);
  return PyCapsule_New(&self->managed, "dltensor", &drop_capsule);
}

// ---- The module ----

// take_counts(): the calls since the last time, by function.
PyObject* take_counts(PyObject*, PyObject*) {
  PyObject* const all = PyDict_New();
  for (const auto& [name, count] : counts()) {
    PyObject* const value = PyLong_FromLong(count);
    PyDict_SetItemString(all, name.c_str(), value);
    Py_DECREF(value);
  }
  counts().clear();
  return all;
}
// set(failing, stream, flags, major version of managed tensors)
PyObject* set(PyObject*, PyObject* args) {
  const char* function = nullptr;
  unsigned long long stream = 0, flags = 0;
  unsigned major = 0;
  if (!PyArg_ParseTuple(args, "sKKI", &function, &stream, &flags, &major)) return nullptr;
  failing = function;
  stream_now = reinterpret_cast<void*>(stream);
  flags_now = flags;
  version_now.major = major;
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"capsule", &capsule, METH_VARARGS, nullptr},
    {"take_counts", &take_counts, METH_NOARGS, nullptr},
    {"set", &set, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "tensors", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

void add_table(PyObject* module, const char* name, Table* table) {
  PyModule_AddObject(module, name, PyCapsule_New(table, "dlpack_exchange_api", nullptr));
}

}  // namespace

PyMODINIT_FUNC PyInit_tensors() {
  PyObject* const module = PyModule_Create(&definition);
  PyObject* const type = PyType_FromSpec(&spec);
  tensor_type = reinterpret_cast<PyTypeObject*>(type);
  PyModule_AddObject(module, "Tensor", type);
  add_table(module, "viewing", &viewing);
  add_table(module, "managing", &managing);
  add_table(module, "newer", &newer);
  add_table(module, "only_newer", &only_newer);
  PyObject* const table = PyObject_GetAttrString(module, "viewing");
  PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", table);
  return module;
}
