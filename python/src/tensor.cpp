#include "tensor.h"

#include <array>
#include <cstdlib>
#include <cstring>

namespace quern::python {
namespace {

// ---- The exchange table of a type ----

// The tables of the types seen last; the types are held, so that no other type gets their address.
struct KnownType {
  PyTypeObject* type;
  const ExchangeTable* table;
};
std::array<KnownType, 8> known_types;
std::size_t next_known = 0;

// Null if the object has no such attribute. Throws Raised for any other error.
Ref attribute_of(PyObject* object, const char* name) {
  Ref value(PyObject_GetAttrString(object, name));
  if (value != nullptr) return value;
  if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw Raised();
  PyErr_Clear();
  return value;
}

const ExchangeTable* find_table(PyTypeObject* type) {
  const Ref capsule = attribute_of(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  if (capsule == nullptr) return nullptr;
  const auto* table = static_cast<const ExchangeTable*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  if (table == nullptr) PyErr_Clear();
  while (table != nullptr && table->version.major > 1) table = table->older;
  return table;
}

void require_version(const DlpackVersioned& managed) {
  if (managed.version.major > 1) raise(PyExc_BufferError, "the tensor is of a version of DLPack after 1");
}

// The view owns the managed tensor: the producer may have copied the data, and then only this holds the copy.
template <class Managed>
void take(Managed* managed, Tensor& tensor) {
  tensor.view = managed->tensor;
  tensor.kept = Kept(managed, [](void* kept) {
    auto* const own = static_cast<Managed*>(kept);
    if (own->deleter != nullptr) own->deleter(own);
  });
  if (tensor.view.ndim > kMaxDimensions) raise(PyExc_ValueError, "a tensor has at most 16 dimensions here");
}

// ---- NumPy's and CUDA's array interfaces ----

// None if there is none.
Ref item(PyObject* dictionary, const char* key) {
  if (PyDict_Check(dictionary) == 0) raise(PyExc_TypeError, "an array interface is not a dict");
  PyObject* const value = PyDict_GetItemString(dictionary, key);
  return value == nullptr ? none() : copy(value);
}

std::int64_t integer(PyObject* object) {
  const long long value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred() != nullptr) throw Raised();
  return value;
}

// A borrowed reference. `what` is for the message.
PyObject* entry(PyObject* tuple, Py_ssize_t i, const char* what) {
  if (PyTuple_Check(tuple) == 0 || PyTuple_Size(tuple) <= i)
    raise(PyExc_TypeError, std::string(what) + " is not a tuple of enough entries");
  return PyTuple_GetItem(tuple, i);
}

int read_numbers(PyObject* tuple, std::int64_t* numbers, std::int64_t divisor, const char* name) {
  if (PyTuple_Check(tuple) == 0) raise(PyExc_TypeError, std::string(name) + " has an array interface without a shape");
  const Py_ssize_t size = PyTuple_Size(tuple);
  if (size > kMaxDimensions) raise(PyExc_ValueError, std::string(name) + " has more than 16 dimensions");
  for (Py_ssize_t i = 0; i < size; ++i) {
    const std::int64_t value = integer(PyTuple_GetItem(tuple, i));
    if (value % divisor != 0)
      raise(PyExc_ValueError, std::string(name) + " has a stride that is not a multiple of its element size");
    numbers[i] = value / divisor;
  }
  return static_cast<int>(size);
}

// "<f4" as DLPack's code and bits; types that NumPy does not know are bits without a type.
void read_element(const char* typestr, const char* name, quern_tensor& view) {
  static constexpr char kKinds[] = "iufVcb";
  static constexpr std::uint8_t kCodes[] = {0, 1, 2, 3, 5, 6};
  const char* const kind = std::strlen(typestr) < 3 ? nullptr : std::strchr(kKinds, typestr[1]);
  const int bytes = kind == nullptr ? 0 : static_cast<int>(std::strtol(typestr + 2, nullptr, 10));
  if (kind == nullptr || typestr[0] == '>' || bytes < 1 || bytes > 16)
    raise(PyExc_TypeError, std::string(name) + " has elements of type " + typestr + ", which quern does not read");
  view.dtype_code = kCodes[kind - kKinds];
  view.dtype_bits = static_cast<std::uint8_t>(8 * bytes);
  view.dtype_lanes = 1;
}

// What ml_dtypes names its types, which an array interface calls bits or floats of one byte.
void read_small_float(PyObject* object, quern_tensor& view) {
  struct Known {
    const char* name;
    std::uint8_t code;
  };
  static constexpr Known kKnown[] = {
      {"bfloat16", 4}, {"float8_e4m3fn", 10}, {"float8_e5m2", 12}, {"float8_e8m0fnu", 14}};
  if (view.dtype_bits > 16 || (view.dtype_code != 3 && !(view.dtype_code == 2 && view.dtype_bits == 8))) return;
  const Ref type = attribute_of(object, "dtype");
  const Ref name = type == nullptr ? nullptr : attribute_of(type.get(), "name");
  view.dtype_code = 3;
  for (const Known& known : kKnown) {
    if (name != nullptr && PyUnicode_Check(name.get()) != 0 && std::strcmp(text_of(name.get()), known.name) == 0)
      view.dtype_code = known.code;
  }
}

void read_interface(PyObject* interface, std::int32_t device, const char* name, Tensor& tensor) {
  quern_tensor& view = tensor.view;
  view.device_type = device;
  view.device_id = 0;
  view.byte_offset = 0;
  read_element(text_of(item(interface, "typestr").get()), name, view);
  view.ndim = read_numbers(item(interface, "shape").get(), tensor.numbers, 1, name);
  view.shape = tensor.numbers;
  view.strides = nullptr;
  if (const Ref strides = item(interface, "strides"); strides.get() != Py_None) {
    view.strides = tensor.numbers + kMaxDimensions;
    read_numbers(strides.get(), view.strides, view.dtype_bits / 8, name);
  }
  const Ref data = item(interface, "data");
  view.data = PyLong_AsVoidPtr(entry(data.get(), 0, "`data` of an array interface"));
  if (PyErr_Occurred() != nullptr) throw Raised();
  tensor.read_only = PyObject_IsTrue(entry(data.get(), 1, "`data` of an array interface")) != 0;
}

// Reads the attribute if the object has it.
bool read_attribute(PyObject* object, const char* attribute, std::int32_t device, const char* name, Tensor& tensor) {
  const Ref interface = attribute_of(object, attribute);
  if (interface == nullptr) return false;
  read_interface(interface.get(), device, name, tensor);
  read_small_float(object, tensor.view);
  return true;
}

// ---- __dlpack__ ----

// Without a copy and without waiting for a stream: work is enqueued on the caller's own.
Ref capsule_of(PyObject* method, bool versioned, std::int32_t device) {
  const Ref words = owned(PyDict_New());
  const Ref version = owned(Py_BuildValue("(ii)", 1, 0));
  const Ref no_wait = device == kCpu ? none() : owned(PyLong_FromLong(-1));
  if (versioned) check(PyDict_SetItemString(words.get(), "max_version", version.get()));
  if (versioned) check(PyDict_SetItemString(words.get(), "copy", Py_False));  // the object must own the memory
  check(PyDict_SetItemString(words.get(), "stream", no_wait.get()));
  const Ref empty = owned(PyTuple_New(0));
  return Ref(PyObject_Call(method, empty.get(), words.get()));
}

bool read_dlpack(PyObject* object, Tensor& tensor) {
  const Ref method = attribute_of(object, "__dlpack__");
  if (method == nullptr) return false;
  const Ref device = owned(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  const auto type = static_cast<std::int32_t>(integer(entry(device.get(), 0, "__dlpack_device__()")));
  Ref capsule = capsule_of(method.get(), true, type);
  if (capsule == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {  // of before DLPack 1
    PyErr_Clear();
    capsule = capsule_of(method.get(), false, type);
  }
  if (capsule == nullptr) throw Raised();
  if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned") != 0) {
    auto* const managed = static_cast<DlpackVersioned*>(PyCapsule_GetPointer(capsule.get(), "dltensor_versioned"));
    require_version(*managed);
    check(PyCapsule_SetName(capsule.get(), "used_dltensor_versioned"));
    tensor.read_only = (managed->flags & kDlpackReadOnly) != 0;
    take(managed, tensor);
    return true;
  }
  auto* const managed = static_cast<DlpackManaged*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
  if (managed == nullptr) throw Raised();
  check(PyCapsule_SetName(capsule.get(), "used_dltensor"));
  take(managed, tensor);
  return true;
}

// PyTorch's memory of a conjugate is the original's until somebody reads it.
void require_resolved(PyObject* object, const Tensor& tensor) {
  constexpr std::uint8_t kComplex = 5;
  if (tensor.view.dtype_code != kComplex) return;
  const Ref method = attribute_of(object, "is_conj");
  if (method == nullptr) return;
  if (owned(PyObject_CallFunctionObjArgs(method.get(), nullptr)).get() == Py_True)
    raise(PyExc_ValueError, "a tensor's conjugate is not computed yet; pass its resolve_conj()");
}

void read_table(PyObject* object, const ExchangeTable& table, Tensor& tensor) {
  if (table.view_object != nullptr) {
    check(table.view_object(object, &tensor.view));
    return;
  }
  DlpackVersioned* managed = nullptr;
  check(table.from_object(object, &managed));
  if (managed->version.major > 1) {
    if (managed->deleter != nullptr) managed->deleter(managed);
    raise(PyExc_BufferError, "the tensor is of a version of DLPack after 1");
  }
  tensor.read_only = (managed->flags & kDlpackReadOnly) != 0;
  take(managed, tensor);
}

std::string type_name(PyObject* object) {
  const Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
  if (name == nullptr) throw Raised();
  return text_of(name.get());
}

}  // namespace

const ExchangeTable* exchange_table_of(PyTypeObject* type) {
  for (const KnownType& known : known_types) {
    if (known.type == type) return known.table;
  }
  const ExchangeTable* const table = find_table(type);
  KnownType& slot = known_types[next_known++ % known_types.size()];
  Py_IncRef(reinterpret_cast<PyObject*>(type));
  Py_DecRef(reinterpret_cast<PyObject*>(slot.type));
  slot = {type, table};
  return table;
}

void view(PyObject* object, const char* name, Tensor& tensor) {
  tensor.table = exchange_table_of(Py_TYPE(object));
  tensor.read_only = false;
  if (tensor.table != nullptr) {
    read_table(object, *tensor.table, tensor);
    require_resolved(object, tensor);
    return;
  }
  if (read_attribute(object, "__array_interface__", kCpu, name, tensor) || read_dlpack(object, tensor) ||
      read_attribute(object, "__cuda_array_interface__", kCuda, name, tensor))
    return;
  raise(PyExc_TypeError, std::string(name) + " is a " + type_name(object) +
                             "; it takes a tensor: an object with __dlpack__, __cuda_array_interface__ or "
                             "__array_interface__, such as those of PyTorch, CuPy, JAX and NumPy");
}

quern_stream stream_of(PyObject* given, const Tensor* tensors, std::size_t count) {
  if (given != nullptr && given != Py_None) {
    Ref number = copy(given);
    if (PyLong_Check(given) == 0) {
      const Ref pair = owned(PyObject_CallMethod(given, "__cuda_stream__", nullptr));
      number = owned(PySequence_GetItem(pair.get(), 1));
    }
    void* const stream = PyLong_AsVoidPtr(number.get());
    if (PyErr_Occurred() != nullptr) throw Raised();
    return static_cast<quern_stream>(stream);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (tensors[i].table == nullptr) continue;
    void* stream = nullptr;
    check(tensors[i].table->current_stream(tensors[i].view.device_type, tensors[i].view.device_id, &stream));
    return static_cast<quern_stream>(stream);
  }
  return nullptr;
}

}  // namespace quern::python
