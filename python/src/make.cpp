// New tensors, made by the package that an existing one is of.
#include <algorithm>
#include <cstring>

#include "tensor.h"

namespace quern::python {
namespace {

// quern's types in NumPy's names; null: NumPy has none. PyTorch's are these names, and ml_dtypes' for the others.
struct Name {
  const char* quern;
  const char* numpy;
  const char* ml_dtypes;  // its name in that package
  std::uint8_t code;      // DLPack's
  std::uint8_t bits;
};
constexpr Name kNames[] = {
    {"f64", "float64", nullptr, 2, 64},
    {"f32", "float32", nullptr, 2, 32},
    {"f16", "float16", nullptr, 2, 16},
    {"bf16", nullptr, "bfloat16", 4, 16},
    {"e4m3", nullptr, "float8_e4m3fn", 10, 8},
    {"e5m2", nullptr, "float8_e5m2", 12, 8},
    {"e8m0", nullptr, "float8_e8m0fnu", 14, 8},
    {"i64", "int64", nullptr, 0, 64},
    {"i32", "int32", nullptr, 0, 32},
    {"i16", "int16", nullptr, 0, 16},
    {"i8", "int8", nullptr, 0, 8},
    {"u8", "uint8", nullptr, 1, 8},
    {"c64", "complex64", nullptr, 5, 64},
    {"c128", "complex128", nullptr, 5, 128},
};

const Name& name_of(const char* dtype) {
  for (const Name& name : kNames) {
    if (std::strcmp(name.quern, dtype) == 0) return name;
  }
  raise(PyExc_TypeError, std::string("quern has no type ") + dtype);
}

void refuse(void* /*context*/, const char* /*kind*/, const char* message) {
  PyErr_SetString(PyExc_RuntimeError, message);
}

Ref make_by_table(const Tensor& like, const Shape& shape) {
  std::int64_t extents[kMaxDimensions];
  std::copy_n(shape.extents, shape.rank, extents);
  quern_tensor prototype{};
  prototype.device_type = like.view.device_type;
  prototype.device_id = like.view.device_id;
  prototype.ndim = shape.rank;
  set_dtype(prototype, shape.dtype);
  prototype.shape = extents;
  DlpackVersioned* managed = nullptr;
  check(like.table->allocate(&prototype, &managed, nullptr, &refuse));
  void* object = nullptr;
  check(like.table->to_object(managed, &object));
  return Ref(static_cast<PyObject*>(object));
}

Ref numbers_of(const std::int64_t* numbers, int count) {
  Ref tuple = owned(PyTuple_New(count));
  for (int i = 0; i < count; ++i)
    check(PyTuple_SetItem(tuple.get(), i, owned(PyLong_FromLongLong(numbers[i])).release()));
  return tuple;
}

// ---- PyTorch's tensors on a GPU ----

// What the code that torch.compile generates calls for an empty tensor of the current device: it takes half as long as
// torch.empty and as the exchange table.
struct TorchEmpty {
  const ExchangeTable* table = nullptr;  // of PyTorch's tensors; null: not seen yet
  PyObject* package = nullptr;
  PyObject* function = nullptr;  // null: this PyTorch has none
};

// Null for a table of another package.
const TorchEmpty* torch_of(const ExchangeTable* table) {
  static TorchEmpty known;
  static const ExchangeTable* other = nullptr;
  if (known.table == table) return &known;
  if (other == table) return nullptr;
  PyObject* const package = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  const Ref type(package == nullptr ? nullptr : PyObject_GetAttrString(package, "Tensor"));
  const bool is_torch = type != nullptr && exchange_table_of(reinterpret_cast<PyTypeObject*>(type.get())) == table;
  const Ref part(is_torch ? PyImport_ImportModule("torch._C._dynamo.guards") : nullptr);
  Ref function(part == nullptr ? nullptr : PyObject_GetAttrString(part.get(), "_empty_strided_cuda"));
  PyErr_Clear();
  if (is_torch)
    known = {table, copy(package).release(), function.release()};
  else
    other = table;
  return is_torch ? &known : nullptr;
}

Ref make_by_torch(const TorchEmpty& torch, const Shape& shape) {
  std::int64_t strides[kMaxDimensions];
  std::int64_t stride = 1;
  for (int d = shape.rank - 1; d >= 0; stride *= std::max<std::int64_t>(1, shape.extents[d--])) strides[d] = stride;
  const Name& name = name_of(shape.dtype);
  const Ref dtype = owned(PyObject_GetAttrString(torch.package, name.numpy != nullptr ? name.numpy : name.ml_dtypes));
  const Ref extents = numbers_of(shape.extents, shape.rank), packed = numbers_of(strides, shape.rank);
  return owned(PyObject_CallFunctionObjArgs(torch.function, extents.get(), packed.get(), dtype.get(), nullptr));
}

// ---- Arrays without an exchange table ----

// NumPy's or CuPy's: the package that the type is of.
Ref package_of(PyObject* like) {
  const Ref name = owned(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(like)), "__module__"));
  const std::string whole = text_of(name.get());
  return owned(PyImport_ImportModule(whole.substr(0, whole.find('.')).c_str()));
}

// That of `like` where it holds such elements; else NumPy's own; for types that NumPy lacks ml_dtypes', where the
// program has imported it, else bits.
Ref numpy_type(PyObject* like, const char* like_dtype, const Name& name) {
  if (like_dtype != nullptr && std::strcmp(like_dtype, name.quern) == 0)
    return owned(PyObject_GetAttrString(like, "dtype"));
  if (name.numpy != nullptr) return owned(PyUnicode_FromString(name.numpy));
  PyObject* const ml_dtypes = PyDict_GetItemString(PyImport_GetModuleDict(), "ml_dtypes");
  if (ml_dtypes != nullptr) return owned(PyObject_GetAttrString(ml_dtypes, name.ml_dtypes));
  return owned(PyUnicode_FromString(name.bits == 8 ? "uint8" : "uint16"));
}

}  // namespace

void set_dtype(quern_tensor& view, const char* dtype) {
  const Name& name = name_of(dtype);
  view.dtype_code = name.code;
  view.dtype_bits = name.bits;
  view.dtype_lanes = 1;
}

Ref make(PyObject* like, const Tensor& like_view, const char* like_dtype, const Shape& shape, const int* fill,
         bool short_way) {
  if (like_view.table != nullptr) {
    const TorchEmpty* const torch = torch_of(like_view.table);
    const bool by_torch =
        short_way && torch != nullptr && torch->function != nullptr && like_view.view.device_type == kCuda;
    Ref made = by_torch ? make_by_torch(*torch, shape) : make_by_table(like_view, shape);
    if (fill != nullptr) owned(PyObject_CallMethod(made.get(), "fill_", "i", *fill));
    return made;
  }
  const Ref package = package_of(like);
  const Ref empty = owned(PyObject_GetAttrString(package.get(), "empty"));
  const Ref extents = numbers_of(shape.extents, shape.rank);
  const Ref type = numpy_type(like, like_dtype, name_of(shape.dtype));
  Ref made = owned(PyObject_CallFunctionObjArgs(empty.get(), extents.get(), type.get(), nullptr));
  if (fill != nullptr) owned(PyObject_CallMethod(made.get(), "fill", "i", *fill));
  return made;
}

}  // namespace quern::python
